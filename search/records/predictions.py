"""What models say of texts: words for masked places, next sentences, labels, entities and parts of speech, answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.records.contents import Location
from search.records.documents import Mention
from search.records.evaluations import ClassReport, Estimate
from search.records.hits import Hit
from search.records.options import TagTask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.tokens import Token, Word


_LEAST = 5e-324  # the smallest probability that has a logarithm


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

    @property
    def loss(self) -> float:
        """-ln of the probability: what training would lower if this entry were the right one."""
        return 0.0 - math.log(max(self.probability, _LEAST))


@dataclass(frozen=True)
class Mask:
    """One masked place.

    Attributes:
        start, end: span of the mask in the text as it was given.
        label: the word that was given as the right one, as the model guesses it; None where none was given.
        guesses: the k most likely entries, the best first.
    """

    start: int
    end: int
    label: Guess | None
    guesses: tuple[Guess, ...]


@dataclass(frozen=True)
class Filled:
    """A text with masks, and the words that a masked-language model puts there.

    Attributes:
        masks: in the order of the text. All are masked at once, and each is guessed by itself.
        vocabulary: number of entries that the softmax is taken over.
        model: its name.
    """

    text: str
    masks: tuple[Mask, ...]
    vocabulary: int
    model: str

    @property
    def loss(self) -> float | None:
        """Mean loss of the labels: -ln of their probabilities; None without labels.

        BERT's pre-training lowers it: transformers' `loss` where `labels` holds these words.
        """
        losses = [mask.label.loss for mask in self.masks if mask.label]
        return sum(losses) / len(losses) if losses else None


@dataclass(frozen=True)
class NextSentence:
    """Whether a text follows another.

    Attributes:
        probability: in [0, 1], that `second` follows `first`: the softmax of `logits`.
        logits: "is next" (label 0) and "is not next" (label 1).
        model: its name.
        label: the label that was given; None without one.
        loss: -ln of the probability of the label, as training lowers it; None without one.
    """

    first: str
    second: str
    probability: float
    logits: tuple[float, float]
    model: str
    label: Literal["is-next", "not-next"] | None = None
    loss: float | None = None


@dataclass(frozen=True)
class LabelledText:
    """One text and what a classifier says of it.

    Attributes:
        label: the class with the highest probability, `score`.
        scores: the probability of every class, in the order of `Labelling.classes`.
        windows: how many inputs the text was read in; 1 where it fits the model.
    """

    text: str
    label: str
    score: float
    scores: tuple[float, ...]
    windows: int = 1


@dataclass(frozen=True)
class Labelling:
    """Texts and their labels.

    Attributes:
        classifier: name of the checkpoint, or of the head.
        model, pooling: of the embeddings that a head reads; the checkpoint and "" without a head.
        classes: c names.
    """

    classifier: str
    model: str
    pooling: str
    classes: tuple[str, ...]
    texts: tuple[LabelledText, ...]


@dataclass(frozen=True)
class LabelledIndex:
    """What labelling an index did.

    Attributes:
        index: its folder.
        name: of the field that filters can use; its score is in the field `name`_score.
        classifier: the checkpoint or the head.
        passages: in the index.
        labelled: in this run; `before` had been labelled already.
        counts: label -> passages of the whole index that have it.
    """

    index: str
    name: str
    classifier: str
    classes: tuple[str, ...]
    passages: int
    labelled: int
    before: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Example:
    """A labelled example to train on: a text, or a document of an index.

    Attributes:
        text: the text; None where `path` names what is meant.
        path: of a document of the index; each of its passages is an example.
        line: where it stands in a file, 0 for none.
    """

    label: str
    text: str | None = None
    path: str | None = None
    line: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelReport(ClassReport):
    """How good a linear head is on examples that it was not trained on.

    Attributes:
        model, pooling: of the embeddings.
        examples: n; in `groups` that were never parted between training and test.
        folds, seed: of the cross-validation.
        c: inverse strength of the L2 regularisation, as scikit-learn has it.
        accuracy, macro_f1: over all examples, each judged by a head that had not seen it.
    """

    model: str
    pooling: str
    examples: int
    groups: int
    folds: int
    seed: int
    c: float
    accuracy: Estimate
    macro_f1: Estimate


@dataclass(frozen=True, eq=False)
class LabelTraining:
    """What training a linear head found.

    Attributes:
        name: of the label.
        source: where the examples come from, "" for none.
        report: how good it is.
        notes: sentences about what has to be known to read the figures.
    """

    name: str
    source: str
    report: LabelReport
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LabelExplanation:
    """The logits of a text, taken apart into what each token adds.

    Attributes:
        text, tokens, words: n tokens, special ones included; words are merged tokens.
        classes: c names.
        logits: (c,) as they were computed from the embedding; `probabilities` their softmax.
        contributions: (n, c) what each token adds to the logit of each class.
        intercepts: (c,) what a class has before anything is read.
        label: the class with the highest logit.
    """

    text: str
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    classes: tuple[str, ...]
    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    label: str
    head: str
    model: str
    pooling: str

    @property
    def residual(self) -> NDArray[np.float64]:
        """(c,) the logits less all their addends: rounding, when everything is right."""
        return self.logits - self.contributions.sum(axis=0) - self.intercepts

    @property
    def by_word(self) -> NDArray[np.float64]:
        """(words, c) sums of the tokens' addends."""
        import numpy as np

        return np.array([self.contributions[slice(*word.tokens)].sum(axis=0) for word in self.words])


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text with its class.

    Attributes:
        start, end: half-open span in the text.
        label: the class that the checkpoint names, "B-PER" for instance: that of the word's first token.
        score: its probability, in (0, 1].
        tokens: the word's tokens, as the vocabulary writes them.
    """

    text: str
    start: int
    end: int
    label: str
    score: float
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Tagged:
    """A text with its words' classes, and what follows of them.

    Attributes:
        labels: all classes of the checkpoint.
        mentions: entities, or for "pos" each word that has a part of speech, in order; spans are those of the text.
    """

    model: str
    task: TagTask
    text: str
    labels: tuple[str, ...]
    words: tuple[TaggedWord, ...]
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class FieldCount:
    """What the annotations of an index hold in one field.

    Attributes:
        mentions: spans, of all passages.
        frequent: the most frequent values with their mentions, the most frequent first.
    """

    field: str
    mentions: int
    frequent: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TagReport:
    """What one run of tagging did, and what the annotations hold afterwards.

    Attributes:
        name: of the annotations in the index, that of the task.
        fields: of all passages, those of earlier runs too.
        tagged: passages that this run looked at; `annotated` have annotations now, of `passages`.
    """

    index: str
    name: str
    task: TagTask
    model: str
    fields: tuple[FieldCount, ...]
    tagged: int
    annotated: int
    passages: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Location):
    """One span of a document that answers a question; in HTML, PDF and the like its lines are those of its passage.

    Attributes:
        rank: 1 for the best; 0 for a span that scores too little to be an answer.
        passage: the text that was read, of which `passage_start` is the offset in the document.
        hit: the passage as the index returned it; None where a text was given.
        start_logit, end_logit: of the first and the last token.
        null_score: start and end logit of [CLS] in the same window: the score of "no answer".
    """

    rank: int
    passage: str
    passage_start: int
    hit: Hit | None
    start_logit: float
    end_logit: float
    null_score: float

    @property
    def margin(self) -> float:
        """`start_logit + end_logit - null_score`: the logarithm of how much likelier the span is than no answer.

        A softmax over the window divides both by the same sum, which cancels; so margins of different windows and
        passages can be compared, and the bare scores cannot.
        """
        return self.start_logit + self.end_logit - self.null_score

    @property
    def score(self) -> float:
        """What answers are ranked by: the probability of the span against no answer, `1 / (1 + exp(-margin))`."""
        return 1 / (1 + math.exp(-max(self.margin, -700.0)))


@dataclass(frozen=True, eq=False)
class Answers:
    """What a reader says to a question.

    Attributes:
        model: the reader.
        answers: best first; empty for no answer.
        nearest: without an answer, the best of the spans that scored too little; None where no passage was read.
        more: how many further answers there are, which were not asked for.
        passages, windows: that were read.
    """

    question: str
    model: str
    answers: tuple[Answer, ...]
    nearest: Answer | None
    more: int
    passages: int
    windows: int
