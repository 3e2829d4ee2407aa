"""Views into a BERT-like model: tokens, vectors of every layer, attention, words in context, vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.errors import InputError
from search.lab.records.lab_record import LabRecord, TableRecord
from search.records.notebook_mixin import Html

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from pandas import DataFrame

    from search.records.tokens import Matrix, Vector


@dataclass(frozen=True)
class InputToken:
    """One token of the model's input.

    Attributes:
        text: the vocabulary entry, "##ing" for the continuation of a word.
        id: its row in the vocabulary.
        start, end: character offsets into the first or second text; 0, 0 for special tokens.
        source: 0 for the first text, 1 for the second, None for special tokens.
        segment: 0 or 1, the row of the segment embedding; always 0 in models without segments.
        attended: attention mask of the token: always 1, because a single input has no padding (see `PaddedBatch`).
        special: True if the tokenizer added the token ([CLS], [SEP]), so that it is not part of any text.
        word: number of the word it belongs to, within its text; None for special tokens.
        unknown: True if the token replaces text that the vocabulary cannot spell.
    """

    text: str
    id: int
    start: int
    end: int
    source: int | None
    segment: int
    attended: int
    special: bool
    word: int | None
    unknown: bool


@dataclass(frozen=True)
class InputWord:
    """A word of a text and its tokens.

    Attributes:
        text: as written; `start` and `end` are its character offsets in the text that `source` names.
        tokens: positions among the tokens of the whole input.
        unknown: True if at least one token replaces text that the vocabulary cannot spell.
    """

    text: str
    start: int
    end: int
    source: int
    tokens: tuple[int, ...]
    unknown: bool

    @property
    def split(self) -> bool:
        """True if the word is not in the vocabulary and is spelled by several tokens."""
        return len(self.tokens) > 1


@dataclass(frozen=True, repr=False)
class Tokenization(LabRecord):
    """Tokens and words of a text or a pair; `vocabulary` is the number of entries in the vocabulary."""

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    words: tuple[InputWord, ...]
    vocabulary: int


@dataclass(frozen=True)
class ModelShape:
    """Kind and sizes of a checkpoint; `in_matrices` counts the parameters in tensors of two dimensions."""

    name: str
    kind: str
    layers: int
    heads: int
    dimension: int
    vocabulary: int
    positions: int
    segments: int
    max_tokens: int
    parameters: int
    in_matrices: int
    tensors: int


@dataclass(frozen=True, eq=False)
class EmbeddingLayer:
    """Parts of layer 0: the vectors of each token before it is mixed with other tokens.

    Attributes:
        position_ids: rows of the position table.
        parts: name -> (n, h) float64, in the order of the computation: rows of the tables "word", "position" and
            perhaps "segment", their "sum" and its "LayerNorm".
        difference: largest difference between the last part and the model's own output (relative for values above 1),
            which is a rounding error.
    """

    position_ids: tuple[int, ...]
    parts: Mapping[str, Vector]
    difference: float


@dataclass(frozen=True, eq=False, repr=False)
class Attention(LabRecord):
    """Attention weights of one input. Layers and heads are counted from 1, as in Clark et al. 2019.

    A notebook and a terminal show the mean over the heads of the last layer.

    Attributes:
        weights: (layers, heads, n, n) float32 in [0, 1]; weights[l - 1, h - 1, i, j] is the weight of token j for
            token i in head h of layer l. Each row [i] sums to 1.
        model: name of the model.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    weights: NDArray[np.float32]
    model: str

    @property
    def layers(self) -> int:
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        return int(self.weights.shape[1])

    def matrix(self, layer: int, head: int | None = None) -> Matrix:
        """Return the (n, n) weights of one head, or the mean over all heads of a layer; rows sum to 1.

        Args:
            layer, head: from 1; None for the mean over the heads.

        Raises:
            InputError: the model has no such layer or head.
        """
        self._require("layer", layer, self.layers)
        if head is None:
            return self.weights[layer - 1].mean(axis=0, dtype="float64")
        self._require("head", head, self.heads)
        return self.weights[layer - 1, head - 1]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        layer: int | None = None,
        head: int | None = None,
        limit: float | None = None,
    ) -> Axes:
        """Plot the matrix of a layer, the last by default, as a heat map.

        Args:
            layer, head: as for `matrix`.
            limit: weight of the darkest colour; None takes the largest weight. Plots side by side need the same limit.

        Raises:
            InputError: the model has no such layer or head.
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax, layer=layer, head=head, limit=limit)

    def to_pandas(self, *, layer: int | None = None, head: int | None = None) -> DataFrame:
        """Return the matrix of a layer as a table with labels such as "13:##ot"; arguments and errors as for `plot`."""
        return self._tabulated(layer=layer, head=head)

    def head_view(self, layer: int | None = None, head: int | None = None) -> Html:
        """Return the interactive page of all heads for a notebook: two columns of tokens with lines between them."""
        return Html(self.drawer().head_view(self, layer, head))

    def title(self, layer: int, head: int | None = None) -> str:
        """Return the title of a plot of one head, or of the mean of a layer."""
        return f"Attention in layer {layer}, {f'head {head}' if head else f'mean of {self.heads} heads'}"

    def _require(self, name: str, number: int, most: int) -> None:
        if not 1 <= number <= most:
            raise InputError(f"'{self.model}' has no {name} {number}. Choose from 1 to {most}.")


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(LabRecord):
    """Embeddings, hidden states and attention of a model for one text or pair of n tokens.

    Attributes:
        embedding: parts of the embedding layer.
        states: (layers + 1, n, d) float32 hidden states; states[0] is the embedding layer's output.
        attention: attention weights of all heads.
        pooler: (d,) output of BERT's layer over [CLS], tanh(W [CLS] + b); None if the model has none.
        no_pooler: reason why there is no pooler; "" if there is one.
        pooler_difference: largest difference between `pooler` and the formula in float64, which is a rounding error.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    words: tuple[InputWord, ...]
    model: ModelShape
    embedding: EmbeddingLayer
    states: Matrix
    attention: Attention
    pooler: Matrix | None
    pooler_difference: float | None = None
    no_pooler: str = ""

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All arrays by name, ready for `numpy.savez`."""
        import numpy as np

        arrays = {
            "input_ids": np.array([token.id for token in self.tokens]),
            "token_type_ids": np.array([token.segment for token in self.tokens]),
            **{f"embedding_{name}": rows for name, rows in self.embedding.parts.items()},
            "hidden_states": self.states,
            "attentions": self.attention.weights,
        }
        return arrays if self.pooler is None else arrays | {"pooler_output": self.pooler}


@dataclass(frozen=True, eq=False, repr=False)
class PaddedBatch(LabRecord):
    """Several texts as one input: b rows of t tokens, of which the shorter ones end in padding.

    Attributes:
        tokens: b rows of t vocabulary entries, such as "[PAD]".
        ids, mask: (b, t) token IDs, and the attention mask: 1 for a token, 0 for padding.
        difference: largest difference between a token's vector at the last layer in the batch, and without the others.
        unmasked: (b,) cosine of each text's mean of token vectors alone, with its mean if the mask is ignored.
        model: name of the model.
    """

    texts: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    difference: float
    unmasked: Vector
    model: str


@dataclass(frozen=True, eq=False, repr=False)
class Positions(LabRecord):
    """Vectors of the first n positions: those that a model has learned, and the sinusoids of the first Transformer.

    Attributes:
        learned: (n, d) rows of the model's position table.
        formula: (n, d) sin(i / 10000^(2k/d)) in dimension 2k and the cosine of the same in 2k + 1, for position i
            (Vaswani et al. 2017, 3.5).
        model: name of the model.
    """

    learned: Vector
    formula: Vector
    model: str

    @property
    def cosines(self) -> tuple[Vector, Vector]:
        """Two (n, n) matrices: cosines of each position with each other, learned and by the formula."""
        import numpy as np

        units = (
            rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (self.learned, self.formula)
        )
        learned, formula = (unit @ unit.T for unit in units)
        return learned, formula

    def plot(
        self,
        ax: Axes | None = None,
        *,
        source: Literal["learned", "formula"] = "learned",
        matrix: Literal["cosines", "vectors"] = "cosines",
    ) -> Axes:
        """Plot the cosines of positions, or their vectors, as a heat map.

        Args:
            source: the vectors that the model has learned, or those of the formula.
            matrix: (n, n) cosines of each position with each other, or the (n, d) vectors.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        return self._plotted(ax, source=source, matrix=matrix)

    def to_pandas(
        self,
        *,
        source: Literal["learned", "formula"] = "learned",
        matrix: Literal["cosines", "vectors"] = "cosines",
    ) -> DataFrame:
        """Return the cosines of positions, or their vectors, as a table; arguments as for `plot`; needs pandas."""
        return self._tabulated(source=source, matrix=matrix)


@dataclass(frozen=True, eq=False, repr=False)
class HeadAtWork(LabRecord):
    """Computation of one attention head for one token, step by step, in float64; h is the width of a head.

    Attributes:
        layer, head: numbers of the layer and the head, from 1.
        token: position, among n tokens, of the token whose query vector is used.
        query: (h,) query vector of that token.
        keys, values: (n, h) key and value vectors of all tokens.
        products: (n,) query . key.
        scaled: (n,) products / sqrt(h).
        weights: (n,) softmax of `scaled`; they sum to 1.
        output: (h,) weighted sum of the value vectors.
        difference: largest difference between these weights and the model's own, which is a rounding error.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    model: str
    layer: int
    head: int
    token: int
    query: Vector
    keys: Vector
    values: Vector
    products: Vector
    scaled: Vector
    weights: Vector
    output: Vector
    difference: float


@dataclass(frozen=True, eq=False, repr=False)
class ContextualCosines(LabRecord):
    """Cosines between the vectors of a word in several contexts, layer by layer.

    Attributes:
        words: c words, one per context; they may differ.
        texts: c contexts, one for each word.
        spans: character span of each word in its context.
        pieces: tokens of each word; the word's vector is the mean of their vectors.
        against: further texts, `a` in number, each encoded on its own; a text's vector is the mean of its token
            vectors, without special tokens.
        between: (layers + 1, c, c) cosines of each word with each other word.
        others: (layers + 1, c, a) cosines of each word with each text of `against`.
        model: name of the model.
    """

    words: tuple[str, ...]
    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    pieces: tuple[tuple[str, ...], ...]
    against: tuple[str, ...]
    between: Vector
    others: Vector
    model: str

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the cosines, pairs by layers, as a heat map; needs matplotlib."""
        return self._plotted(ax)

    def to_pandas(self) -> DataFrame:
        """Return a table with a row for each layer and a column for each pair; needs pandas."""
        return self._tabulated()


@dataclass(frozen=True, eq=False, repr=False)
class EqualRows(LabRecord):
    """Cosines of the tokens of two texts at equal positions, from the embedding tables to the last layer.

    Attributes:
        tokens: tokens of both texts, special tokens included; the first m positions exist in both.
        cosines: part -> (m,) cosines; parts are "word", "position", perhaps "segment", then "layer 0", ...
        model: name of the model.
    """

    texts: tuple[str, str]
    tokens: tuple[tuple[InputToken, ...], tuple[InputToken, ...]]
    cosines: Mapping[str, Vector]
    model: str


@dataclass(frozen=True)
class Entry:
    """An entry of a vocabulary.

    Attributes:
        id: row in the table of word embeddings.
        piece: the entry itself: "##ing" continues a word, "Ġlove" begins one in RoBERTa's bytes.
        word: the entry as text.
        special: True if the entry represents no text, such as [CLS].
    """

    id: int
    piece: str
    word: str
    special: bool


@dataclass(frozen=True, repr=False)
class Vocabulary(LabRecord):
    """Size and kinds of a tokenizer's entries.

    Attributes:
        model: name of the model.
        kind: tokenization algorithm: "WordPiece", "BPE", "Unigram" or "WordLevel".
        entries: number of entries.
        special: the entries that represent no text.
        continuing: number of entries that continue a word ("##ing"); None if the vocabulary marks beginnings of words
            instead.
        characters: number of entries of a single character.
    """

    model: str
    kind: str
    entries: int
    special: tuple[Entry, ...]
    continuing: int | None
    characters: int


@dataclass(frozen=True, repr=False)
class Decoding(TableRecord):
    """Vocabulary entries decoded to text.

    Attributes:
        text: decoded text with special tokens; case and characters that the tokenizer drops are not restored.
    """

    model: str
    entries: tuple[Entry, ...]
    text: str
