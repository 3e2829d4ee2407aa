"""Semantic search that shows its working.

The pipeline, one folder a stage; each knows only those before it:

    records/     what one stage hands to the next
    corpus/      folder -> documents -> passages
    encoding/    text -> token vectors and embeddings
    store/       embeddings and metadata on disk, and all that is asked of them: SQLite, FAISS
    indexing/    a folder and an index -> the index as the folder is now
    ranking/     question -> ranked hits
    explaining/  hit -> why
    bert/        a look inside: tokens, the embedding layer, attention; and the task heads
    annotating/  what task heads say of all passages of an index
    evaluating/  judged queries -> figures with intervals; its evaluation.py has the public `evaluate`
    training/    examples -> a fine-tuned encoder; public as search.bert.train
    render/      hits, explanations, matrices -> terminal, JSON, CSV, PNG, HTML
    texts.py     the public `similarity` and `explain`, of texts without an index
    index.py     the public `Index`, built of all these
    cli/         the command `seewhy`

    import search

    index = search.Index.build("notes/")
    hits = index.query("how do I rotate the keys?", k=10)
    why = index.explain("how do I rotate the keys?", hits[0])
    why.score, why.residual, why.contributions.sum()

Importing this package loads none of its heavy dependencies; names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search.encoding import Encoder, Fingerprint
    from search.errors import (
        FingerprintMismatch,
        IndexDamaged,
        IndexLocked,
        IndexNotFound,
        IndexOutdated,
        InputError,
        ModelError,
        OptionalDependency,
        ReadError,
        SearchError,
        TextTooLong,
    )
    from search.evaluating.evaluation import evaluate
    from search.index import Index
    from search.ranking.question import Question
    from search.records.comparisons import Contrast, WhyNot
    from search.records.evaluations import Evaluation
    from search.records.explanations import Audit, Explanation
    from search.records.hits import Cluster, Hit, Surroundings
    from search.records.reports import Changes, CheckReport, Finding, Progress, RepairReport, Report, Status
    from search.records.tokens import Token, TokenVectors
    from search.texts import explain, similarity

_HOLDS = {
    "index": "Index",
    "evaluating.evaluation": "evaluate",
    "texts": "explain similarity",
    "ranking.question": "Question",
    "encoding": "Encoder Fingerprint",
    "errors": "FingerprintMismatch IndexDamaged IndexLocked IndexNotFound IndexOutdated InputError ModelError "
    "OptionalDependency ReadError SearchError TextTooLong",
    "records.comparisons": "Contrast WhyNot",
    "records.evaluations": "Evaluation",
    "records.explanations": "Audit Explanation",
    "records.reports": "Changes CheckReport Finding Progress RepairReport Report Status",
    "records.hits": "Cluster Hit Surroundings",
    "records.tokens": "Token TokenVectors",
}
_HOME = {name: f"search.{module}" for module, names in _HOLDS.items() for name in names.split()}

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Changes",
    "CheckReport",
    "Cluster",
    "Contrast",
    "Encoder",
    "Evaluation",
    "Explanation",
    "Finding",
    "Fingerprint",
    "FingerprintMismatch",
    "Hit",
    "Index",
    "IndexDamaged",
    "IndexLocked",
    "IndexNotFound",
    "IndexOutdated",
    "InputError",
    "ModelError",
    "OptionalDependency",
    "Progress",
    "Question",
    "ReadError",
    "RepairReport",
    "Report",
    "SearchError",
    "Status",
    "Surroundings",
    "TextTooLong",
    "Token",
    "TokenVectors",
    "WhyNot",
    "evaluate",
    "explain",
    "similarity",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name == "bert":  # a stage that is public as a whole: search.bert.inspect(text)
        return import_module("search.bert")
    if name not in _HOME:
        raise AttributeError(f"module 'search' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
