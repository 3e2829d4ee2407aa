"""What hits are ranked by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from search.errors import InputError, TextTooLong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.encoding.inputs import Role
    from search.records.hits import Hit
    from search.records.tokens import TokenVectors

Mode = Literal["hybrid", "dense", "lexical", "rrf"]
MODES: tuple[Mode, ...] = get_args(Mode)

WEIGHT = 0.75  # of the cosine in a hybrid score; chosen with benchmarks/quality.py, see its README

POOL = 30  # best passages that a reranker looks at, at least

RRF_K = 60  # Cormack, Clarke and Büttcher 2009


@dataclass(frozen=True)
class Ranking:
    """How scores are made; make one with `Ranking.of`.

    Attributes:
        mode: "hybrid", `score = weight * cosine + (1 - weight) * lexical`, where lexical is the BM25 of the
            passage divided by the highest BM25 that any passage of the index has for the query. "dense": the
            cosine alone. "lexical": the word part alone, passages without any word of the query left out.
            "rrf": reciprocal rank fusion, 1 / (60 + rank by meaning), and 1 / (60 + rank by words) for a
            passage that has a word of the query.
        weight: what the cosine counts, in [0, 1]; 0 for "rrf", where only ranks count.
        phrases: what stands in double quotes is looked for word by word in this order, as one term.
        rerank: "late" to look at the best passages again by late interaction (late.py), the name of a
            cross-encoder to let it judge them (cross.py), "" for neither.
    """

    mode: Mode
    weight: float
    phrases: bool = False
    rerank: str = ""

    @classmethod
    def of(
        cls,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
        rerank: str | None = None,
    ) -> Ranking:
        """
        Raises:
            InputError: there is no such mode, or the weight is not in [0, 1] or not for this mode.
        """
        if mode not in MODES:
            raise InputError(f"there is no mode '{mode}'. Choose one of: {', '.join(MODES)}.")
        if weight is not None and mode != "hybrid":
            raise InputError(f"a weight belongs to the mode 'hybrid', not to '{mode}'.")
        if weight is not None and not 0 <= weight <= 1:
            raise InputError(
                f"the weight is {weight}; it must be between 0 (words only) and 1 (meaning only)."
            )
        fixed = {"dense": 1.0, "lexical": 0.0, "rrf": 0.0}
        counts = fixed.get(mode, WEIGHT if weight is None else float(weight))
        return cls(mode, counts, phrases, rerank or "")

    @classmethod
    def of_hit(cls, hit: Hit) -> Ranking:
        """What a hit was ranked by."""
        return cls(hit.mode, hit.weight, hit.phrases, hit.rerank)  # type: ignore[arg-type]

    @property
    def by_meaning(self) -> bool:
        """Whether embeddings are compared."""
        return self.mode == "rrf" or self.weight > 0

    @property
    def by_words(self) -> bool:
        """Whether words are looked for."""
        return self.mode == "rrf" or self.weight < 1


@dataclass(frozen=True, eq=False)
class Part:
    """One of several parts of a query; see `search.ranking.question`.

    Attributes:
        name: the text, or what the part is.
        factor: what its cosine counts in the query's.
        embedding: (d,) unit length.
        text, context, role: what was encoded, and as what; "" where it is not to be taken apart.
    """

    name: str
    factor: float
    embedding: NDArray[np.float32]
    text: str = ""
    context: str = ""
    role: Role = "query"


@dataclass(frozen=True, eq=False)
class Asked:
    """A query as it is searched for.

    Attributes:
        embedding: (d,) unit length; None where the ranking does not need it.
        tokens: the vectors of its tokens at the last layer; None where the ranking does not need them.
        parts: of a query that has several.
    """

    text: str
    embedding: NDArray[np.float32] | None
    tokens: TokenVectors | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Scored:
    """A passage's score and what it was made of, as in a `Hit`."""

    passage: int
    score: float
    cosine: float | None
    lexical: float | None
    ranks: tuple[int | None, int | None] | None = None
    reranked: float | None = None
    before: int | None = None


@contextmanager
def query_fits(what: str = "query") -> Iterator[None]:
    """Tell somebody whose query is too long to shorten it: unlike a text, it is never cut."""
    try:
        yield
    except TextTooLong as error:
        raise InputError(
            f"the {what} has {error.n_tokens} tokens and the model reads {error.max_tokens}. Shorten it."
        ) from None


def check_query(text: str, k: int = 1, per_document: int = 0) -> None:
    """Raise InputError for a question that cannot be asked."""
    if not text.strip():
        raise InputError("the query is empty. Say in your own words what you are looking for.")
    if k < 1:
        raise InputError(f"k is {k}, but at least 1 hit must be asked for.")
    if per_document < 0:
        raise InputError(f"per_document is {per_document}; use 0 for no limit.")
