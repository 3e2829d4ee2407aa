"""Semantic search that shows its working.

The pipeline, one folder a stage; each knows only those before it:

    corpus/      folder -> documents -> passages
    encoding/    text -> token vectors and embeddings
    index/       embeddings and metadata -> something searchable on disk
    query/       question -> ranked hits
    explaining/  hit -> why
    bert/        a look inside: tokens, the embedding layer, attention; and the task heads
    render/      hits, explanations, matrices -> terminal, JSON, CSV, PNG, HTML
    statistics.py  means, intervals, paired tests
    pairs.py     the public `similarity` and `explain`, of texts without an index
    asking.py    what an index answers; applying.py, what task heads find in it
    building.py  what an index is made with
    library.py   the public `Index`, built of all these
    evaluating/  judged queries -> figures with intervals; evaluation.py, the public `evaluate`
    training/    examples or passages -> a fine-tuned encoder; public as search.bert.train and adapt
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
    from search.evaluation import evaluate
    from search.library import Index
    from search.pairs import explain, similarity
    from search.query.question import Question
    from search.records.checks import CheckReport, Finding, RepairReport
    from search.records.comparisons import Contrast, WhyNot
    from search.records.evaluations import Evaluation
    from search.records.explanations import Audit, Explanation
    from search.records.hits import Hit
    from search.records.reports import Changes, Progress, Report, Status
    from search.records.results import Cluster, Surroundings
    from search.records.tokens import Token, TokenVectors

_HOLDS = {
    "library": "Index",
    "evaluation": "evaluate",
    "pairs": "explain similarity",
    "query.question": "Question",
    "encoding": "Encoder Fingerprint",
    "errors": "FingerprintMismatch IndexDamaged IndexLocked IndexNotFound IndexOutdated InputError ModelError "
    "OptionalDependency ReadError SearchError TextTooLong",
    "records.checks": "CheckReport Finding RepairReport",
    "records.comparisons": "Contrast WhyNot",
    "records.evaluations": "Evaluation",
    "records.explanations": "Audit Explanation",
    "records.hits": "Hit",
    "records.reports": "Changes Progress Report Status",
    "records.results": "Cluster Surroundings",
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
