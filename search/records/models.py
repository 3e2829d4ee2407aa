"""What a model is before it reads anything: its sizes, tensors, modules, and the entries of its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
class Tensor:
    """One parameter of a model, as its file names it.

    Attributes:
        name: such as "encoder.layer.0.attention.self.query.weight".
        shape: its lengths; a matrix of `Linear` has (outputs, inputs).
        dtype: of its numbers as they are computed with, "float32".
        layer: from 1; None for what is no part of a layer, or shared by all.
        values: the numbers themselves.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    layer: int | None
    values: NDArray[np.floating[Any]]

    @property
    def parameters(self) -> int:
        return self.values.size


@dataclass(frozen=True, eq=False)
class Parameters:
    """Every parameter of a model, once, in the order of the model.

    Attributes:
        model: its name.
    """

    model: str
    tensors: tuple[Tensor, ...]

    @property
    def parameters(self) -> int:
        return sum(tensor.parameters for tensor in self.tensors)

    @property
    def arrays(self) -> dict[str, NDArray[np.floating[Any]]]:
        """The numbers by name, as `numpy.savez` takes them."""
        return {tensor.name: tensor.values for tensor in self.tensors}


@dataclass(frozen=True)
class Module:
    """A part of a model, and the parts it has; those without parameters, such as Dropout, too.

    Attributes:
        name: within the part it belongs to, "" for the whole model.
        kind: its class, "BertLayer".
        settings: what PyTorch prints of them, "in_features=384, out_features=1536, bias=True".
        parameters: numbers in it and in all of its parts.
    """

    name: str
    kind: str
    settings: str
    parameters: int
    modules: tuple[Module, ...]


@dataclass(frozen=True)
class Entry:
    """An entry of a vocabulary.

    Attributes:
        id: its row in the table of word embeddings.
        piece: as it stands in the vocabulary: "##ing" goes on with a word, "Ġlove" begins one in RoBERTa's bytes.
        word: as it reads in a text.
        special: it stands for no text, as [CLS].
    """

    id: int
    piece: str
    word: str
    special: bool


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer's entries are.

    Attributes:
        model: name of the model.
        kind: how words are spelled with them: "WordPiece", "BPE", "Unigram", "WordLevel".
        entries: how many there are.
        special: those that stand for no text.
        continuing: how many go on with a word ("##ing"); None where entries that begin a word are marked instead.
        characters: how many are a single character.
        longest: the longest entry that is not special; None if all are.
    """

    model: str
    kind: str
    entries: int
    special: tuple[Entry, ...]
    continuing: int | None
    characters: int
    longest: Entry | None


@dataclass(frozen=True)
class Decoded:
    """Numbers of entries, and the text that they read as.

    Attributes:
        text: with special tokens; what a tokenizer puts into lower case or leaves out does not come back.
    """

    model: str
    entries: tuple[Entry, ...]
    text: str


@dataclass(frozen=True)
class Neighbours:
    """The entries whose input embeddings are most like a word's.

    Attributes:
        spelled: the entries of the word; of several the mean of the vectors is taken.
        entries: best first, without those of the word; `cosines` are theirs.
    """

    model: str
    word: str
    spelled: tuple[Entry, ...]
    entries: tuple[Entry, ...]
    cosines: tuple[float, ...]
