"""What a look inside a BERT-like model finds: tokens, vectors, checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records.displayed import Displayed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pandas import DataFrame

    from search.records.models import ModelShape
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


@dataclass(frozen=True, eq=False)
class Inspection(Displayed):
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

    def to_pandas(self) -> DataFrame:
        """A row for each token.

        Raises:
            OptionalDependency: pandas is not installed.
        """
        return self._tabulated()

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All vectors by name, as `numpy.savez` takes them."""
        import numpy as np

        layer = self.embedding
        found = {
            "input_ids": np.array([token.id for token in self.tokens]),
            "token_type_ids": np.array([token.segment for token in self.tokens]),
            "word_embeddings": layer.words,
            "position_embeddings": layer.positions,
            "token_type_embeddings": layer.segments,
            "embeddings_normalized": layer.normalized,
            "embeddings_projected": layer.projected,
            "hidden_states": self.states,
            "pooler_output": self.pooler.output if self.pooler else None,
        }
        return {name: array for name, array in found.items() if array is not None}

    @property
    def cls(self) -> Matrix:
        """(layers + 1, d) the first token's vector in every layer: [CLS] in BERT, <s> in RoBERTa."""
        return self.states[:, 0]
