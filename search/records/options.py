"""The options that several public functions take, each declared once: name, type, default, help, range, flags.

    def query(self, text, k=10, **options: Unpack[QueryOptions])

is checked by mypy. The command's options, the parameters of the HTTP API, the schemas of the MCP tools and the
docstrings are made from the same declarations.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import cleandoc
from itertools import chain
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
)

from search.errors import InputError
from search.records.tokens import Layer

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from search.records.reports import Progress


@dataclass(frozen=True)
class Option:
    """An option beside its name and type.

    Attributes:
        flags: on the command line; by default the name with hyphens. `metavar`, `panel`: in its help.
        ge, le: the least and the highest value.
    """

    default: Any
    help: str
    metavar: str | None = None
    panel: str | None = None
    flags: tuple[str, ...] = ()
    ge: float | None = None
    le: float | None = None


TagTask: TypeAlias = Literal["ner", "pos"]
Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]
MODES: tuple[Mode, ...] = get_args(Mode)

WEIGHT = 0.75  # of the cosine in a hybrid score; chosen with benchmarks/quality.py, see its README


class ModeOptions(TypedDict, total=False):
    """What scores are made of."""

    mode: Annotated[
        Mode,
        Option("hybrid", "Rank by meaning (dense), keywords (lexical), or both.", flags=("--mode", "-m")),
    ]


class RankingOptions(ModeOptions, total=False):
    """How scores are made."""

    weight: Annotated[
        float | None,
        Option(
            None, "Weight of the meaning in a hybrid score. Default: 0.75.", "W", "Ranking", ge=0, le=1
        ),
    ]
    phrases: Annotated[
        bool, Option(False, 'Match words in "double quotes" as one term.', panel="Ranking")
    ]
    without: Annotated[
        Sequence[str] | None, Option(None, "Ignore this word in keyword matching.", "WORD", "Ranking")
    ]


class RerankOptions(RankingOptions, total=False):
    """How scores are made, and how the best passages are reranked."""

    rerank: Annotated[
        str | None,
        Option(None, "Rerank the best 30, by late interaction or a cross-encoder.", "late|MODEL"),
    ]


class FilterOptions(TypedDict, total=False):
    """Which passages are ranked."""

    where: Annotated[
        str | None,
        Option(
            None,
            "Only passages like this: path:docs/** and not kind=code",
            "FILTER",
            flags=("--where", "-w"),
        ),
    ]
    since: Annotated[
        str | None,
        Option(None, "Only files changed since: 2024-05-01, 12h, 7d, 2w, 3months.", "TIME", "Which hits"),
    ]


class CandidateOptions(RankingOptions, FilterOptions, total=False):
    """How scores are made, of the passages that pass a filter."""


class CountOptions(TypedDict, total=False):
    """How many hits come back."""

    k: Annotated[int, Option(10, "Number of hits.", "N", flags=("--top-k", "-k"), ge=1)]


class LimitOptions(TypedDict, total=False):
    """How many hits one document may have."""

    per_document: Annotated[
        int, Option(3, "At most N hits of one document; 0 for no limit.", "N", "Which hits", ge=0)
    ]


class ListOptions(CountOptions, LimitOptions, total=False):
    """How long a list of hits is."""


class RankOptions(CandidateOptions, LimitOptions, total=False):
    """What the rank of a passage depends on, unless passages are reranked."""


class HitOptions(RerankOptions, FilterOptions, ListOptions, total=False):
    """What the rank of a hit depends on."""


class SelectionOptions(LimitOptions, total=False):
    """Which part of a ranking is shown."""

    group: Annotated[
        bool, Option(False, "List k documents, each with its best passages.", panel="Which hits")
    ]
    offset: Annotated[int, Option(0, "Skip the first N hits; ranks stay.", "N", "Which hits", ge=0)]
    min_score: Annotated[float | None, Option(None, "Leave out hits that score less.", "S", "Which hits")]
    all_copies: Annotated[bool, Option(False, "List every copy of a text.", panel="Which hits")]


class HitsOptions(CountOptions, SelectionOptions, total=False):
    """Which part of a ranking is shown, with its length."""


class SimilarOptions(SelectionOptions, FilterOptions, total=False):
    """Which part of a ranking is shown, of the passages that pass a filter."""


class LayerOptions(TypedDict, total=False):
    """At which layer an explanation compares tokens."""

    layer: Annotated[
        Layer | None,
        Option(
            None, "Layer whose token vectors are compared. Default: middle.", "N|middle|last", "Matrix"
        ),
    ]


class ExplainOptions(RankingOptions, LayerOptions, total=False):
    """What an explanation takes."""


class MatrixOptions(LayerOptions, total=False):
    """Whether hits come with their explanations, and at which layer these compare tokens."""

    explain: Annotated[bool, Option(False, "Explain each hit: tokens, both matrices, every addend.")]


class QueryOptions(RerankOptions, SimilarOptions, MatrixOptions, total=False):
    """All that a query takes."""


class ModelOptions(TypedDict, total=False):
    """Which encoder."""

    model: Annotated[
        str | None,
        Option(None, "The encoder. Default: the index's, else all-MiniLM-L6-v2.", "NAME|FOLDER", "Model"),
    ]
    pooling: Annotated[
        str | None,
        Option(None, "mean, cls, pooler, max or mean_sqrt_len. Default: the model's own.", panel="Model"),
    ]


class VectorOptions(TypedDict, total=False):
    """How passages are encoded."""

    layer: Annotated[
        int | str | None,
        Option(None, "Layer that is pooled: -1 the last, mean:4 the mean of 4.", panel="Model"),
    ]
    dim: Annotated[int | None, Option(None, "Keep the first N dimensions.", "N", "Model", ge=1)]
    precision: Annotated[
        str | None, Option(None, "fp32, bf16 or fp16. Default: the index's.", panel="Model")
    ]


class EncoderOptions(ModelOptions, VectorOptions, total=False):
    """How embeddings are made."""

    max_tokens: Annotated[
        int | None, Option(None, "Most tokens of a text. Default: the model's own.", ge=1)
    ]


class FileOptions(TypedDict, total=False):
    """Which files of a folder are indexed, and which of their fields."""

    include: Annotated[Sequence[str] | None, Option(None, "Index only files like this.", "GLOB")]
    exclude: Annotated[Sequence[str] | None, Option(None, "Leave out files like this.", "GLOB")]
    text_field: Annotated[str | None, Option(None, "Column or key that holds the text.", "NAME", "Files")]
    title_field: Annotated[
        str | None, Option(None, "Column or key that holds the title.", "NAME", "Files")
    ]


class TokenVectorOptions(TypedDict, total=False):
    """What is kept of passages besides their embeddings."""

    token_vectors: Annotated[
        bool | None,
        Option(
            None,
            "Keep the vectors of all tokens, for a quick --rerank late.",
            flags=("--token-vectors/--no-token-vectors",),
        ),
    ]


class SourceOptions(FileOptions, TokenVectorOptions, total=False):
    """Which files of a folder are indexed, and what is kept of them."""


class BuildOptions(EncoderOptions, SourceOptions, total=False):
    """What an index is made with."""


class StoreOptions(TypedDict, total=False):
    """The server that passages are streamed to."""

    store: Annotated[
        str | None,
        Option(
            None,
            "Stream the passages there; none: keep them here again.",
            "milvus://HOST:PORT/NAME",
            "Server",
        ),
    ]
    store_index: Annotated[
        str | None,
        Option(None, "FLAT, which misses nothing, HNSW, IVF_FLAT or DISKANN.", "KIND", "Server"),
    ]


class AnnotateOptions(TypedDict, total=False):
    """How passages are read by a task head, and what becomes of the annotations."""

    replace: bool
    progress: "Callable[[Progress], None] | None"


class TagOptions(AnnotateOptions, total=False):
    """How entities and parts of speech are found."""

    task: TagTask


class TrainOptions(TypedDict, total=False):
    """How the encoder, or a task head on it, is trained.

    model: the checkpoint to train; None takes the default encoder. A head that it has for the very classes is taken on.
    dev: a file to measure with; what is in both is not learned from. None holds out a tenth of the data. Another tenth
        is held out to choose the best checkpoint by, and to stop.
    freeze: nothing is learned in the embeddings and the first so many layers; "all" freezes the encoder.
    precision: of the steps' arithmetic, "fp32" or "bf16"; weights and figures are of fp32.
    lr: the highest learning rate; it rises over the first tenth of the steps and falls to 0 from there on.
    resume: go on from the last checkpoint of a run that was stopped, if there is one.
    """

    model: str | None
    dev: "str | Path | None"
    freeze: int | str | None
    precision: str
    epochs: int | None
    batch_size: int
    lr: float | None
    seed: int
    resume: bool
    offline: bool
    progress: "Callable[[Progress], None] | None"


T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def declared(kind: type) -> dict[str, tuple[Any, Option]]:
    """Name -> (type, option), in the order of declaration."""
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in kind.__annotations__.items()}


@cache
def defaults(kind: type) -> dict[str, Any]:
    return {name: option.default for name, (_, option) in declared(kind).items()}


def changed(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """The options of a kind that are not as by default."""
    return {
        name: options[name]
        for name, value in defaults(kind).items()
        if options[name] not in (value, [], ())
    }


def documented(kind: type) -> Callable[[Function], Function]:
    """Append the options of a kind to the docstring of a function that takes them."""

    def document(function: Function) -> Function:
        lines = (f"    {name}: {option.help}" for name, (_, option) in declared(kind).items())
        function.__doc__ = "\n".join((cleandoc(function.__doc__ or ""), "", "Options:", *lines))
        return function

    return document


def part_of(options: Mapping[str, Any], kind: type[T]) -> T:
    """Those of the options that are of a kind."""
    names = list(filter(kind.__annotations__.__contains__, options))
    return dict(zip(names, map(options.__getitem__, names), strict=True))  # type: ignore[return-value]


def parts_of(options: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """Options, split by kind.

    Raises:
        TypeError: one is of no kind, as Python says it of a function's own keywords.
    """
    known = dict.fromkeys(chain(*map(attrgetter("__annotations__"), kinds)))
    if unknown := options.keys() - known.keys():
        raise TypeError(f"there is no option '{min(unknown)}'; there are {', '.join(known)}")
    return list(map(partial(part_of, options), kinds))


def complete(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """All options of a kind, by default those that are declared.

    Raises:
        TypeError: there is no such option.
        InputError: a value is no choice, no number or out of range.
    """
    parts_of(options, kind)
    for name, value in options.items():
        type_, option = declared(kind)[name]
        if value is not None or option.default is not None:
            _require_valid(name, value, type_, option)
    return {**defaults(kind), **options}


def _require_valid(name: str, value: Any, type_: Any, option: Option) -> None:
    if get_origin(type_) is Literal and value not in get_args(type_):
        raise InputError(f"there is no {name} '{value}'. Choose one of: {', '.join(get_args(type_))}.")
    if isinstance(value, float) and math.isnan(value):
        raise InputError(f"{name} is not a number.")
    if option.le is not None and value > option.le:
        raise InputError(f"{name} is {value}; it must be at most {option.le:g}.")
    if option.ge is not None and value < option.ge:
        raise InputError(f"{name} is {value}; it must be at least {option.ge:g}.")


@dataclass(frozen=True)
class Ranking:
    """How scores are made; make one with `Ranking.of`.

    Attributes:
        mode: "hybrid", `score = weight * cosine + (1 - weight) * lexical`, where lexical is the BM25 of the
            passage divided by what the three most telling words of the query could reach, or by the highest that any
            passage of the index has if that is more. "dense": the
            cosine alone. "lexical": the word part alone, passages without any word of the query left out.
        weight: what the cosine counts, in [0, 1].
        phrases: what stands in double quotes is looked for word by word in this order, as one term.
        rerank: "late" to look at the best passages again by late interaction, the name of a cross-encoder to let it
            judge them (ranking/rerank.py), "" for neither.
        without: words of the query that do not count as words: their addends are left out of the word part, which is
            divided by what it is divided by with them. The meaning stays that of the whole query.
    """

    mode: Mode
    weight: float
    phrases: bool
    rerank: str
    without: tuple[str, ...]

    @classmethod
    def of(cls, **options: "Unpack[RerankOptions]") -> "Ranking":
        """
        Raises:
            InputError: a value is no choice or out of range, a weight belongs to another mode, or words are to be left
                out where none counts.
        """
        own = complete(options, RerankOptions)
        mode, weight, without = own["mode"], own["weight"], own["without"]
        if weight is not None and mode != "hybrid":
            raise InputError(f"a weight belongs to the mode 'hybrid', not to '{mode}'.")
        if without and mode == "dense":
            raise InputError(
                "no word counts in the mode 'dense', so none can be left out. Choose another mode."
            )
        fixed = {"dense": 1.0, "lexical": 0.0}
        own["weight"] = fixed.get(mode, WEIGHT if weight is None else float(weight))
        own["without"] = (without,) if isinstance(without, str) else tuple(without or ())
        return cls(**{**own, "rerank": own["rerank"] or ""})

    @property
    def by_meaning(self) -> bool:
        """Whether embeddings are compared."""
        return self.weight > 0
