"""Options that several public functions share, each declared once: name, type, default, help, range, flags.

A method takes them as keyword arguments, which mypy checks:

    def query(self, text, k=10, **options: Unpack[QueryOptions])

The options of the command, the parameters of the HTTP API, the schemas of the MCP tools and the docstrings are
generated from the same declarations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypedDict,
    get_args,
)

from search.records.filter_text import Filter
from search.records.tokens import Layer


@dataclass(frozen=True)
class Option:
    """Default, help text and range of an option.

    Attributes:
        flags: flags on the command line; () for "--" and the name with hyphens.
        metavar, panel: name of the value, and heading of the section, in the command's help.
        ge, le: minimum and maximum value.
    """

    default: Any
    help: str
    metavar: str | None = None
    panel: str | None = None
    flags: tuple[str, ...] = ()
    ge: float | None = None
    le: float | None = None


Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]
Pooling: TypeAlias = Literal["mean", "cls", "pooler", "max", "mean_sqrt_len", "weightedmean", "lasttoken"]
EngineName: TypeAlias = Literal["auto", "openvino", "torch"]
Precision: TypeAlias = Literal["fp32", "bf16", "fp16"]
MODES: tuple[Mode, ...] = get_args(Mode)

# Default weight of the cosine in a hybrid score; chosen with benchmarks/quality.py, see its README.
WEIGHT = 0.75
# Default weight for a query in a language that the default model does not read; chosen with benchmarks/asked.py.
FOREIGN_WEIGHT = 0.5
# Language of text in pictures: whatever the models in RapidOCR's package read.
MULTI = "multi"
# Weight of late interaction in a reranked score; chosen with benchmarks/quality.py on Cranfield, CACM, TIME and XQuAD.
LATE_SHARE = 0.5


class ModeOptions(TypedDict, total=False):
    """Option for the mode of the ranking."""

    mode: Annotated[
        Mode,
        Option("hybrid", "Rank by meaning (dense), keywords (lexical), or both.", flags=("--mode", "-m")),
    ]


class RankingOptions(ModeOptions, total=False):
    """Options that define the score of a passage, without reranking."""

    weight: Annotated[
        float | None,
        Option(
            None,
            "Weight of the meaning in a hybrid score. Default: 0.75; 0.5 for a language the default model cannot read.",
            "W",
            "Ranking",
            ge=0,
            le=1,
        ),
    ]
    without: Annotated[
        Sequence[str] | None,
        Option(None, "Leave this word of the query out of the score.", "WORD", "Ranking"),
    ]


class RerankOptions(RankingOptions, total=False):
    """Options that define scores, and reranking of the best passages."""

    rerank: Annotated[
        str | None,
        Option(None, "Rerank the best 30: late interaction or a cross-encoder.", "late|MODEL"),
    ]


class FilterOptions(TypedDict, total=False):
    """Options that filter the passages to rank."""

    where: Annotated[
        Filter | None,
        Option(
            None,
            "Only passages that match: path:docs/** and not kind=code",
            "FILTER",
            flags=("--where", "-w"),
        ),
    ]
    since: Annotated[
        str | None,
        Option(
            None,
            "Only documents since: 2024-05-01, 7d (their date, else the file's).",
            "TIME",
            "Which hits",
        ),
    ]
    until: Annotated[
        str | None,
        Option(
            None, "Only documents until: 2024-06-30 (their date, else the file's).", "TIME", "Which hits"
        ),
    ]


class CandidateOptions(RankingOptions, FilterOptions, total=False):
    """Options that filter passages and define their scores, without reranking."""


class CountOptions(TypedDict, total=False):
    """Option for the number of hits."""

    k: Annotated[int, Option(10, "Number of hits.", "N", flags=("--top-k", "-k"), ge=1)]


class LimitOptions(TypedDict, total=False):
    """Option for the maximum number of hits from one document."""

    per_document: Annotated[
        int, Option(3, "At most N hits of one document; 0 for no limit.", "N", "Which hits", ge=0)
    ]


class OccurrenceOptions(LimitOptions, FilterOptions, total=False):
    """Options that filter passages, and limit the occurrences of a word in one document."""


class ListOptions(CountOptions, LimitOptions, total=False):
    """Options for the number of hits, in total and per document."""


class RankOptions(CandidateOptions, LimitOptions, total=False):
    """Options that affect the rank of a passage, without reranking."""


class HitOptions(RerankOptions, FilterOptions, ListOptions, total=False):
    """Options that affect the rank of a hit, with reranking."""


class SortOptions(TypedDict, total=False):
    """Options that set the order of the listed hits."""

    sort: Annotated[
        str,
        Option(
            "score",
            "List the k hits by score, by date (newest first), or by a field: year, -year (highest first).",
            "FIELD",
            "Which hits",
        ),
    ]


class SelectionOptions(LimitOptions, SortOptions, total=False):
    """Options that select the listed hits from a ranking."""

    group: Annotated[
        bool, Option(False, "List k documents, each with its best passages.", panel="Which hits")
    ]
    offset: Annotated[int, Option(0, "Skip the first N hits; ranks stay.", "N", "Which hits", ge=0)]
    min_score: Annotated[float | None, Option(None, "Omit hits with a lower score.", "S", "Which hits")]
    diversity: Annotated[
        float,
        Option(
            0.0,
            "Prefer hits that are unlike those above them: 0 (off) to 1.",
            "D",
            panel="Which hits",
            ge=0,
            le=1,
        ),
    ]
    all_copies: Annotated[
        bool, Option(False, "List every copy and near-copy of a text.", panel="Which hits")
    ]
    pending: Annotated[
        int,
        Option(
            100,
            "In an index that is not complete: encode up to N more passages for this query.",
            "N",
            "Which hits",
            ge=0,
        ),
    ]


class HitsOptions(CountOptions, SelectionOptions, total=False):
    """Options for the number of hits and their selection."""


class LinkOptions(TypedDict, total=False):
    """Option for notes that link to each other."""

    unlinked: Annotated[
        bool,
        Option(
            False,
            "Leave out documents that it links to or that link to it, and text of a template.",
            panel="Which hits",
        ),
    ]


class SimilarOptions(SelectionOptions, FilterOptions, LinkOptions, total=False):
    """Options that filter passages and select the listed hits."""


class LayerOptions(TypedDict, total=False):
    """Option for the layer of an explanation's matrices."""

    layer: Annotated[
        Layer | None,
        Option(
            None,
            "Layer of both matrices. Default: cosines of the middle layer, contributions of layer 0 (words as typed).",
            "N|middle|last|mean:N",
            "Matrix",
        ),
    ]


class CounterfactualOptions(TypedDict, total=False):
    """Option to search for changes that move a passage out of the hits, or among them."""

    counterfactual: Annotated[
        bool,
        Option(
            False,
            "Also find the fewest words or sentences without which it is none of the first k hits, or a word that "
            "makes it one; encodes up to 200 texts.",
        ),
    ]


class ExplainOptions(RankingOptions, LayerOptions, total=False):
    """Options for an explanation."""


class MatrixOptions(LayerOptions, total=False):
    """Options to explain each hit."""

    explain: Annotated[
        bool, Option(False, "Explain each hit: tokens, similarity and contribution matrix.")
    ]


class QueryOptions(RerankOptions, SelectionOptions, FilterOptions, MatrixOptions, total=False):
    """All options for a query except the number of hits."""


class ModelOptions(TypedDict, total=False):
    """Options for the model and the pooling of the encoder."""

    model: Annotated[
        str | None,
        Option(None, "Encoder. Default: the index's, else all-MiniLM-L6-v2.", "NAME|FOLDER", "Model"),
    ]
    pooling: Annotated[
        str | None,
        Option(
            None,
            "How token vectors become an embedding. mean: of all tokens, as most models were trained. cls: [CLS] "
            "alone, for models trained so, such as BGE. pooler: BERT's tanh layer over [CLS], to compare, or for "
            "fine-tuned classifiers. max: the largest of each dimension. mean_sqrt_len: the sum divided by the root "
            "of the number of tokens. weightedmean: the n-th token counts n times. lasttoken: the last alone, for "
            "models such as Qwen3-Embedding. Default: the model's own.",
            panel="Model",
        ),
    ]


class VectorOptions(TypedDict, total=False):
    """Options for the layer, dimension and precision of embeddings."""

    layer: Annotated[
        int | str | None,
        Option(
            None, "Layer to pool: -1 is the last; mean:4, sum:4 or concat:4 of the last 4.", panel="Model"
        ),
    ]
    dim: Annotated[int | None, Option(None, "Keep the first N dimensions.", "N", "Model", ge=1)]
    precision: Annotated[
        str | None, Option(None, "fp32, bf16 or fp16. Default: the index's.", panel="Model")
    ]


class PromptOptions(TypedDict, total=False):
    """Options for the texts that an encoder reads before every query and every document."""

    query_prompt: Annotated[
        str | None,
        Option(
            None,
            "Put before every query, as the model was trained: 'query: '. '' for none. Default: the model's own.",
            "TEXT",
            "Model",
        ),
    ]
    document_prompt: Annotated[
        str | None,
        Option(
            None,
            "Put before every passage: 'passage: '. '' for none. Default: the model's own.",
            "TEXT",
            "Model",
        ),
    ]


class EncoderOptions(ModelOptions, VectorOptions, PromptOptions, total=False):
    """All options that determine embeddings."""

    max_tokens: Annotated[
        int | None, Option(None, "Maximum tokens of a text. Default: the model's own.", ge=1)
    ]


class FileOptions(TypedDict, total=False):
    """Options that select the files of a folder to index, and their text and title fields."""

    include: Annotated[
        Sequence[str] | None, Option(None, "Index only matching files, even generated ones.", "GLOB")
    ]
    exclude: Annotated[Sequence[str] | None, Option(None, "Skip matching files.", "GLOB")]
    text_field: Annotated[str | None, Option(None, "Column or key that holds the text.", "NAME", "Files")]
    title_field: Annotated[
        str | None, Option(None, "Column or key that holds the title.", "NAME", "Files")
    ]


class PictureOptions(TypedDict, total=False):
    """Options to read text in pictures."""

    ocr: Annotated[
        bool | None,
        Option(
            None,
            "Read scanned pages of PDF files, and images (extra ocr).",
            flags=("--ocr/--no-ocr",),
        ),
    ]
    ocr_language: Annotated[
        str | None,
        Option(
            None,
            "Other script or language: cyrillic, arabic, korean, ... Default: multi (Latin, Chinese, Japanese).",
            "NAME",
            "Files",
        ),
    ]


class TokenVectorOptions(TypedDict, total=False):
    """Option to store token vectors in addition to the embeddings of passages."""

    token_vectors: Annotated[
        bool | None,
        Option(
            None,
            "Store the vectors of all tokens, for similar --word, and to speed up --rerank late.",
            flags=("--token-vectors/--no-token-vectors",),
        ),
    ]


class SourceOptions(FileOptions, PictureOptions, TokenVectorOptions, total=False):
    """Options that select the files of a folder to index, read pictures, and store token vectors."""


class BuildOptions(EncoderOptions, SourceOptions, total=False):
    """Options that an index is built with."""


class StoreOptions(TypedDict, total=False):
    """Options for the server that passages are streamed to."""

    store: Annotated[
        str | None,
        Option(
            None,
            "Store the passages on this server; none: store them locally again.",
            "milvus://HOST:PORT/NAME",
            "Server",
        ),
    ]
    store_index: Annotated[
        str | None,
        Option(None, "Index type: FLAT (exact), HNSW, IVF_FLAT or DISKANN.", "KIND", "Server"),
    ]
