"""What a look inside a BERT-like model finds: tokens, vectors, checks, counts, attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.tokens import Matrix


@dataclass(frozen=True)
class InputToken:
    """One token as it goes into the model.

    Attributes:
        text: the vocabulary entry, "##ing" for the continuation of a word.
        id: its row in the vocabulary.
        start, end: character offsets into the first or second text; 0, 0 for special tokens.
        source: 0 for the first text, 1 for the second, None for special tokens.
        segment: 0 or 1, the row of the segment embedding; always 0 in models without segments.
        attended: 1, what the attention mask says; 0 would be padding, which a single input never has.
        special: added by the tokenizer ([CLS], [SEP]), not part of any text.
        word: number of the word it belongs to, within its text; None for special tokens.
        unknown: it stands for something that the vocabulary cannot spell.
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
    """A word of a text and the tokens that it became.

    Attributes:
        text: as it is written; `start` and `end` are its character offsets in the text that `source` names.
        tokens: positions among the tokens of the whole input.
        unknown: at least one of them stands for something that the vocabulary cannot spell.
    """

    text: str
    start: int
    end: int
    source: int
    tokens: tuple[int, ...]
    unknown: bool

    @property
    def split(self) -> bool:
        """It is no entry of the vocabulary, and was spelled with several."""
        return len(self.tokens) > 1


@dataclass(frozen=True)
class Tokenization:
    """What a tokenizer makes of a text or a pair.

    Attributes:
        texts: one text or two.
        vocabulary: how many entries there are.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    words: tuple[InputWord, ...]
    vocabulary: int


@dataclass(frozen=True, eq=False)
class EmbeddingLayer:
    """Layer 0 taken apart: what each token brings before any other token has been read.

    All are computed here, in float64, from rows of the model's tables; only `output` is the model's.

    Attributes:
        words, positions: (n, h) rows of the word and of the position table.
        segments: (n, h) rows of the segment table; None for models without segments.
        position_ids: which rows of the position table.
        normalized: (n, h) LayerNorm of the sum.
        projected: (n, d) `normalized` brought to the width of the layers; None where h = d (ELECTRA and ALBERT
            may have narrower embeddings).
        output: (n, d) float32, what the model itself hands to its first layer.
    """

    words: NDArray[np.float64]
    positions: NDArray[np.float64]
    segments: NDArray[np.float64] | None
    position_ids: tuple[int, ...]
    normalized: NDArray[np.float64]
    projected: NDArray[np.float64] | None
    output: Matrix

    @property
    def total(self) -> NDArray[np.float64]:
        """(n, h) the sum of the two or three vectors."""
        found = self.words + self.positions
        return found if self.segments is None else found + self.segments

    @property
    def difference(self) -> float:
        """The largest difference from the model's own output: rounding, when everything is right.

        Of values beyond 1 it is taken as a share, as float32 has so many digits and no more.
        """
        import numpy as np

        own = self.normalized if self.projected is None else self.projected
        return float((np.abs(own - self.output) / np.maximum(np.abs(self.output), 1)).max())


@dataclass(frozen=True, eq=False)
class Pooler:
    """BERT's layer over [CLS], tanh(W [CLS] + b).

    Attributes:
        output: (d,) float32, the model's own.
        computed: (d,) the formula in float64, from the last hidden state of [CLS] and the layer's weights.
    """

    output: Matrix
    computed: NDArray[np.float64]

    @property
    def difference(self) -> float:
        """The largest difference of the two: rounding, when everything is right."""
        return float(abs(self.computed - self.output).max())


@dataclass(frozen=True)
class ParameterPart:
    """Parameters of one part of a model.

    Attributes:
        name: such as "word embeddings", "attention", "feed-forward", "pooler".
        layer: from 1; None for what is no part of a layer, or shared by all.
        tensors: how many named tensors it has.
        parameters: numbers in them.
        in_matrices: those in tensors of two dimensions; the others are biases and norms.
        shape: of its only tensor, () where it has several.
    """

    name: str
    layer: int | None
    tensors: int
    parameters: int
    in_matrices: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ModelShape:
    """What a checkpoint is: its kind and its sizes."""

    name: str
    kind: str
    layers: int
    heads: int
    dimension: int
    vocabulary: int
    positions: int
    segments: int
    max_tokens: int
    parts: tuple[ParameterPart, ...]

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.parts)

    @property
    def in_matrices(self) -> int:
        return sum(part.in_matrices for part in self.parts)

    @property
    def tensors(self) -> int:
        return sum(part.tensors for part in self.parts)


@dataclass(frozen=True, eq=False)
class Inspection:
    """A look inside a model while it reads one text or a pair.

    Attributes:
        texts, tokens, words: as of `Tokenization`; n tokens.
        model: what was looked into.
        embedding: the embedding layer taken apart.
        states: (layers + 1, n, d) float32 hidden states; states[0] is the embedding layer's output.
        pooler: None where the model has none; `no_pooler` then says why.
    """

    texts: tuple[str, ...]
    tokens: tuple[InputToken, ...]
    words: tuple[InputWord, ...]
    model: ModelShape
    embedding: EmbeddingLayer
    states: Matrix
    pooler: Pooler | None
    no_pooler: str = ""

    @property
    def cls(self) -> Matrix:
        """(layers + 1, d) the first token's vector in every layer: [CLS] in BERT, <s> in RoBERTa."""
        return self.states[:, 0]


@dataclass(frozen=True, eq=False)
class ContextualCosines:
    """One word in several contexts: how alike its vectors are there, layer by layer.

    Attributes:
        word: as it was asked for.
        texts: c contexts; `found` are the character spans of the word in them, `counts` how often it occurs
            there (the first is taken).
        pieces: the word's tokens in each context; its vector is the mean of theirs.
        against: a texts, each read by itself; its vector is the mean of its tokens that are not special.
        between: (layers + 1, c, c) cosines of the word with itself in two contexts.
        others: (layers + 1, c, a) cosines of the word in a context with each of `against`.
        model: name of the model.
    """

    word: str
    texts: tuple[str, ...]
    found: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    against: tuple[str, ...]
    between: NDArray[np.float64]
    others: NDArray[np.float64]
    model: str


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention weights of one input. Layers and heads are counted from 1, as in Clark et al. 2019.

    Attributes:
        texts: one text or two.
        tokens: n tokens, special tokens included.
        weights: (layers, heads, n, n) float32 in [0, 1]; weights[l - 1, h - 1, i, j] is the share with which token i
            reads token j in head h of layer l. Each row [i] sums to 1.
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

    @property
    def row_error(self) -> float:
        """The largest distance of a row's sum from 1: rounding, when everything is right."""
        import numpy as np

        return float(abs(self.weights.sum(axis=-1, dtype=np.float64) - 1).max())

    def matrix(self, layer: int, head: int | None = None) -> Matrix:
        """(n, n) of one head, or the mean of all heads of the layer; rows sum to 1.

        Raises:
            IndexError: the model has no such layer or head.
        """
        import numpy as np

        _check("layer", layer, self.layers)
        if head is None:
            return self.weights[layer - 1].mean(axis=0, dtype=np.float64)
        _check("head", head, self.heads)
        return self.weights[layer - 1, head - 1]

    def rollout(self, layer: int | None = None) -> NDArray[np.float64]:
        """(n, n) attention rollout up to a layer, the last one by default; rows sum to 1.

        The mean of the heads of each layer is averaged with the identity, for the residual connection, and the
        layers are multiplied (Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers"): cell (i, j) is
        how much of token j's embedding is in position i after the layer, if attention were all that moves it.

        Raises:
            IndexError: the model has no such layer.
        """
        import numpy as np

        last = self.layers if layer is None else layer
        _check("layer", last, self.layers)
        identity = np.eye(len(self.tokens))
        found = identity
        for number in range(1, last + 1):
            found = (0.5 * self.matrix(number) + 0.5 * identity) @ found
        return found


@dataclass(frozen=True)
class View:
    """A part of the attention: every head of every layer where nothing is said.

    Attributes:
        layer, head: one head; a layer without a head is the mean of its heads.
        rollout: instead, what rollout makes of the layers up to `layer`, all by default.
    """

    layer: int | None = None
    head: int | None = None
    rollout: bool = False

    def title(self, attention: Attention) -> str:
        """What a picture of it shows."""
        if self.rollout:
            return f"Attention rollout, layers 1 to {self.layer or attention.layers}"
        if self.layer is None:
            return f"Attention of {attention.layers} layers with {attention.heads} heads each"
        if self.head is None:
            return f"Attention in layer {self.layer}, mean of {attention.heads} heads"
        return f"Attention in layer {self.layer}, head {self.head}"

    def matrix(self, attention: Attention) -> Matrix | None:
        """(n, n) weights; None for those of every head."""
        if self.rollout:
            return attention.rollout(self.layer)
        return None if self.layer is None else attention.matrix(self.layer, self.head)


EVERY_HEAD = View()


def _check(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise IndexError(f"there is no {name} {number}: give one from 1 to {most}")
