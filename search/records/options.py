"""The options that several public functions take, each declared once.

    def query(self, text, k=10, **options: Unpack[QueryOptions])

says what `query` takes; what the options mean stands with `search.Index`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from search.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from search.records.predictions import TagTask
    from search.records.reports import Progress


HITS_OF_A_DOCUMENT = 3  # so that one document does not fill the first page

Layer: TypeAlias = int | Literal["middle", "last"]


class RankingOptions(TypedDict, total=False):
    """How scores are made."""

    mode: str
    weight: float | None
    phrases: bool
    without: Sequence[str] | None


class RerankOptions(RankingOptions, total=False):
    """How scores are made, and what looks at the best passages again."""

    rerank: str | None


class SelectionOptions(TypedDict, total=False):
    """Which part of a ranking is shown."""

    per_document: int
    group: bool
    offset: int
    min_score: float | None
    all_copies: bool


class FilterOptions(TypedDict, total=False):
    """Which passages are ranked."""

    where: str | None
    since: str | None


class SimilarOptions(SelectionOptions, FilterOptions, total=False):
    """Which part of a ranking is shown, of the passages that pass a filter."""


class CandidateOptions(RankingOptions, FilterOptions, total=False):
    """How scores are made, of the passages that pass a filter."""


class MatrixOptions(TypedDict, total=False):
    """Whether hits come with their explanations, and at which layers these compare tokens."""

    explain: bool
    layer: Layer | Sequence[Layer] | None


class QueryOptions(RerankOptions, SimilarOptions, MatrixOptions, total=False):
    """All that a query takes."""


class EncoderOptions(TypedDict, total=False):
    """How embeddings are made."""

    model: str | None
    pooling: str | None
    layer: int | str | None
    dim: int | None
    max_tokens: int | None
    precision: str | None


class SourceOptions(TypedDict, total=False):
    """Which files of a folder are indexed, and what is kept of them."""

    include: Sequence[str] | None
    exclude: Sequence[str] | None
    text_field: str | None
    title_field: str | None
    token_vectors: bool | None


class BuildOptions(EncoderOptions, SourceOptions, total=False):
    """What an index is made with."""


class StoreOptions(TypedDict, total=False):
    """The server that passages are streamed to."""

    store: str | None
    store_index: str | None


class AnnotateOptions(TypedDict, total=False):
    """How passages are read by a task head, and what becomes of the annotations."""

    name: str | None
    replace: bool
    device: str | None
    progress: Callable[[Progress], None] | None


class TagOptions(AnnotateOptions, total=False):
    """How entities and parts of speech are found."""

    task: TagTask


class HeadOptions(TypedDict, total=False):
    """How a task head is trained; see `search.bert.train_classifier`."""

    model: str | None
    dev: str | Path | None
    dev_share: float
    freeze: int | str | None
    class_weights: str | None
    patience: int
    precision: str
    epochs: int
    batch_size: int
    lr: float | None
    warmup: float
    device: str | None
    seed: int
    resume: bool
    offline: bool
    progress: Callable[[Progress], None] | None


def parts_of(given: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """Options, cut into those of each kind.

    Raises:
        TypeError: one is of no kind, as Python says it of a function's own keywords.
    """
    for name in given:
        if not any(name in kind.__annotations__ for kind in kinds):
            known = ", ".join(name for kind in kinds for name in kind.__annotations__)
            raise TypeError(f"there is no option '{name}'; there are {known}")
    return [{name: value for name, value in given.items() if name in kind.__annotations__} for kind in kinds]


def require_matrices(explain: bool, layer: object) -> None:
    """
    Raises:
        InputError: a query names a layer, and no matrices are made.
    """
    if layer is not None and not explain:
        raise InputError("layer is of the matrices that explain=True makes: give both, or leave it out.")
