"""Semantic search with explained scores.

Where a query goes: searcher.py -> ranking/question.py -> ranking/rank.py -> ranking/fusion.py -> store/snapshot.py.
Where a file goes: indexing/update.py -> run.py -> read.py, corpus/reader.py -> cut.py, store/writer.py -> tables.py.
Where a score is explained: explaining/explainer.py -> explaining/explanation.py -> records/explanations.py.
What users see is drawn in render/; what they type is declared in records/options.py.
Where to start: index.py, the public `Index`, a table of contents; searcher.py is what answers.

Each folder is one stage, and imports only those before it:

    errors.py    tree of errors; files.py: atomic writing; plugins.py: tables of optional parts
    records/     records that stages exchange; options, each declared once
    languages.py  languages of texts, and the function words of each
    statistics.py  means, intervals and tests of evaluations
    corpus/      folder -> documents -> passages
    encoding/    text -> token vectors and embeddings
    store/       embeddings and metadata on disk, and queries on them: SQLite, segments
    indexing/    folder and index -> updated index
    ranking/     question -> ranked hits
    explaining/  hit -> explanation of its score
    texts.py     the public `similarity`, `compare` and `explain`, for texts without an index
    searcher.py  an open index, and all that answers questions about it
    index.py     the public `Index`; indexes.py: `Indexes`, several indexes searched together
    export.py    an index as a file for FAISS, NumPy or Parquet
    evaluating/  judged queries -> metrics with intervals; its evaluation.py has the public `evaluate`
    render/      hits, explanations, matrices -> terminal, JSON, CSV, PNG, HTML
    serving/     the page and the HTTP API of `seewhy serve`
    cli/         the command `seewhy`
    integrations/  adapters for other frameworks, each imported only when used
    lab/         the laboratory, public as `search.bert`: inside BERT, task heads, training; plugins.py hangs it in

    import search

    index = search.Index.build("notes/")
    hits = index.query("how do I rotate the keys?", k=10)
    why = index.explain("how do I rotate the keys?", hits[0])
    why.score, why.residual, why.contributions.sum()

Importing this package loads no heavy dependency (torch, faiss): public names are loaded on first use.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from search.records.notebook_mixin import NotebookMixin

if TYPE_CHECKING:
    from search.encoding import Encoder as Encoder
    from search.encoding import Fingerprint as Fingerprint
    from search.errors import FingerprintMismatch as FingerprintMismatch
    from search.errors import IndexDamaged as IndexDamaged
    from search.errors import IndexLocked as IndexLocked
    from search.errors import IndexNotFound as IndexNotFound
    from search.errors import IndexOutdated as IndexOutdated
    from search.errors import InputError as InputError
    from search.errors import ModelError as ModelError
    from search.errors import OptionalDependency as OptionalDependency
    from search.errors import ReadError as ReadError
    from search.errors import SearchError as SearchError
    from search.errors import StorageFull as StorageFull
    from search.errors import TextTooLong as TextTooLong
    from search.evaluating.evaluation import evaluate as evaluate
    from search.index import Index as Index
    from search.indexes import Indexes as Indexes
    from search.ranking.question import Question as Question
    from search.records.comparisons import Contrast as Contrast
    from search.records.comparisons import WhyNot as WhyNot
    from search.records.counterfactuals import Counterfactual as Counterfactual
    from search.records.evaluations import Evaluation as Evaluation
    from search.records.explanations import Explanation as Explanation
    from search.records.hits import Hit as Hit
    from search.records.memory_document import Document as Document
    from search.records.reports import Changes as Changes
    from search.records.reports import CheckReport as CheckReport
    from search.records.reports import DocumentChanges as DocumentChanges
    from search.records.reports import Progress as Progress
    from search.records.reports import Report as Report
    from search.records.reports import Status as Status
    from search.records.reports import Upserted as Upserted
    from search.records.tokens import Token as Token
    from search.texts import compare as compare
    from search.texts import explain as explain
    from search.texts import similarity as similarity

_HOLDS = {
    "index": "Index",
    "evaluating.evaluation": "evaluate",
    "indexes": "Indexes",
    "texts": "compare explain similarity",
    "ranking.question": "Question",
    "encoding": "Encoder Fingerprint",
    "errors": "FingerprintMismatch IndexDamaged IndexLocked IndexNotFound IndexOutdated InputError ModelError "
    "OptionalDependency ReadError SearchError StorageFull TextTooLong",
    "records.comparisons": "Contrast WhyNot",
    "records.counterfactuals": "Counterfactual",
    "records.evaluations": "Evaluation",
    "records.explanations": "Explanation",
    "records.reports": "Changes CheckReport DocumentChanges Progress Report Status Upserted",
    "records.memory_document": "Document",
    "records.hits": "Hit",
    "records.tokens": "Token",
}
_HOME = {name: f"search.{module}" for module, names in _HOLDS.items() for name in names.split()}

NotebookMixin.drawer = partial(import_module, "search.render.notebook")
__version__ = "0.2.0"
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name == "bert":  # the whole package is public: search.bert.inspect(text)
        return import_module("search.bert")
    if name not in _HOME:
        raise AttributeError(f"module 'search' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "bert"})
