"""What BERT's two pre-training heads say: words for masked places, and whether a text follows another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """One entry of the vocabulary as what stands at a masked place.

    Attributes:
        word: as it reads in a text.
        piece: the entry itself: "##ing" goes on with the word before it in WordPiece, "Ġlove" begins one in
            RoBERTa's bytes.
        id: its number in the vocabulary.
        rank: 1 for the most likely of all entries.
        probability: in [0, 1], the softmax over all entries; those of all entries sum to 1.
        logit: what the softmax was taken of.
    """

    word: str
    piece: str
    id: int
    rank: int
    probability: float
    logit: float


@dataclass(frozen=True)
class Mask:
    """One masked place.

    Attributes:
        start, end: its span in the text as it was given: of the mask that was typed, or of the hidden word.
        hidden: the word that stands there, as the model guesses it; None where a mask was typed.
        guesses: the k most likely entries, the best first.
        among: the candidates that were asked about, the most likely first.
    """

    start: int
    end: int
    hidden: Guess | None
    guesses: tuple[Guess, ...]
    among: tuple[Guess, ...] = ()

    @property
    def best(self) -> Guess:
        """The most likely candidate; of all entries where none were asked about."""
        return (self.among or self.guesses)[0]


@dataclass(frozen=True)
class Filled:
    """A text with masks, and what a masked-language model puts there.

    Attributes:
        text: as it was given.
        filled: with the best guess at each place: the first of `among` where candidates were asked about.
        masks: in the order of the text. All are masked at once, and each is guessed by itself.
        word: whose occurrences were hidden; "" if none was.
        mask_token: the model's own, such as "[MASK]" or "<mask>".
        vocabulary: how many entries the softmax is taken over.
        model: its name.
    """

    text: str
    filled: str
    masks: tuple[Mask, ...]
    word: str
    mask_token: str
    vocabulary: int
    model: str


@dataclass(frozen=True)
class NextSentence:
    """Whether a text follows another, and in the other order.

    Attributes:
        probability: in [0, 1], that `second` follows `first`: the softmax of `logits`.
        logits: "is next" (label 0) and "is not next" (label 1).
        reverse_probability, reverse_logits: that `first` follows `second`.
        model: its name.
    """

    first: str
    second: str
    probability: float
    logits: tuple[float, float]
    reverse_probability: float
    reverse_logits: tuple[float, float]
    model: str
