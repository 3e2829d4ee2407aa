"""Predictions of models: masked words, next sentences, labels, entities and parts of speech, answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from search.lab.records.lab_record import LabRecord
from search.lab.records.training import ClassReport, HeldOut
from search.records.contents import Location
from search.records.documents import Mention
from search.records.evaluations import Estimate
from search.records.hits import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.tokens import Token, Word


TagTask: TypeAlias = Literal["ner", "pos"]

_SMALLEST = 5e-324  # the smallest probability that has a logarithm


@dataclass(frozen=True)
class Guess:
    """Vocabulary entry predicted for a mask.

    Attributes:
        word: the entry as text.
        piece: the entry itself: "##ing" continues a word in WordPiece, "Ġlove" begins one in RoBERTa's bytes.
        id: row in the vocabulary.
        rank: 1 for the most likely of all entries.
        probability: softmax over the logits of all entries, in [0, 1].
        logit: input of the softmax.
    """

    word: str
    piece: str
    id: int
    rank: int
    probability: float
    logit: float

    @property
    def loss(self) -> float:
        """-ln of the probability: the training loss if this entry were the correct one."""
        return 0.0 - math.log(max(self.probability, _SMALLEST))


@dataclass(frozen=True)
class Mask:
    """One mask of a text, with its predictions.

    Attributes:
        start, end: half-open span of the mask in the input text.
        label: the correct word as a guess, with its rank and probability; None if the correct word is unknown.
        guesses: the k most likely entries, best first.
    """

    start: int
    end: int
    label: Guess | None
    guesses: tuple[Guess, ...]


@dataclass(frozen=True, repr=False)
class MaskPredictions(LabRecord):
    """A text with masks, and the predictions of a masked-language model.

    Attributes:
        masks: masks in the order of the text, each predicted while the others stay masked.
        vocabulary: number of entries of the vocabulary.
        model: name of the model.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    text: str
    masks: tuple[Mask, ...]
    vocabulary: int
    model: str
    held_out: HeldOut | None = None

    @property
    def loss(self) -> float | None:
        """Mean loss of the labels, -ln of their probabilities; None without labels.

        It is the loss of BERT's pre-training; transformers computes the same value for the same labels.
        """
        losses = [mask.label.loss for mask in self.masks if mask.label]
        return sum(losses) / len(losses) if losses else None


@dataclass(frozen=True, repr=False)
class NextSentence(LabRecord):
    """Prediction for two texts: does the second follow the first?

    Attributes:
        probability: probability in [0, 1] that `second` follows `first`: the softmax of `logits`.
        logits: logits of "is next" (label 0) and "is not next" (label 1).
        model: name of the model.
        label: the correct label; None if unknown.
        loss: training loss, -ln of the probability of the label; None without a label.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    first: str
    second: str
    probability: float
    logits: tuple[float, float]
    model: str
    label: Literal["is-next", "not-next"] | None = None
    loss: float | None = None
    held_out: HeldOut | None = None


@dataclass(frozen=True)
class LabelledText:
    """A text with its predicted class.

    Attributes:
        label: the class with the highest probability; `score` is that probability, in [0, 1].
        scores: probability of every class, in the order of `Labelling.classes`.
        windows: number of inputs that the text was split into; 1 if it fits the model.
    """

    text: str
    label: str
    score: float
    scores: tuple[float, ...]
    windows: int = 1


@dataclass(frozen=True, repr=False)
class Labelling(LabRecord):
    """Texts with their predicted classes.

    Attributes:
        classifier: name of the checkpoint, or of the head.
        model, pooling: model and pooling of the embeddings that a head uses; without a head, the checkpoint and "".
        classes: c names.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    classifier: str
    model: str
    pooling: str
    classes: tuple[str, ...]
    texts: tuple[LabelledText, ...]
    held_out: HeldOut | None = None


@dataclass(frozen=True)
class LabelledIndex:
    """Report of labelling the passages of an index.

    Attributes:
        index: folder of the index.
        name: name of the field, for filters; the field `name`_score has the probability of the label.
        classifier: name of the checkpoint or of the head.
        passages: number of passages in the index.
        labelled: number of passages labelled by this run.
        before: number of passages labelled by earlier runs.
        counts: label -> number of passages in the index that have it.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    index: str
    name: str
    classifier: str
    classes: tuple[str, ...]
    passages: int
    labelled: int
    before: int
    counts: Mapping[str, int]
    held_out: HeldOut | None = None


@dataclass(frozen=True)
class Example:
    """A labelled training example: a text, or a document of an index.

    Attributes:
        text: the text; None if `path` names a document.
        path: path of a document of the index; each of its passages is an example.
        line: 1-based line in the file of examples; 0 if it comes from no file.
    """

    label: str
    text: str | None = None
    path: str | None = None
    line: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelReport(ClassReport):
    """Cross-validated quality of a linear head.

    Attributes:
        model, pooling: model and pooling of the embeddings.
        examples: number of examples.
        groups: number of groups of examples; in each fold, a group is entirely in the training set or in the test set.
        folds, seed: number of folds and seed of the cross-validation.
        c: inverse strength of the L2 regularisation, `C` of scikit-learn.
        accuracy, macro_f1: metrics over all examples, each predicted by a head that was not trained on it.
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
    """Report of training a linear head.

    Attributes:
        name: name of the label.
        source: file of the examples, "" for none.
        report: cross-validated quality.
        notes: sentences that are needed to interpret the figures.
    """

    name: str
    source: str
    report: LabelReport
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LabelExplanation:
    """Decomposition of the logits of a text into contributions of its tokens.

    Attributes:
        text: the explained text.
        tokens: its n tokens, special tokens included.
        words: its words, merged from tokens.
        classes: names of the c classes.
        logits: (c,) logits of the embedding.
        probabilities: (c,) softmax of the logits.
        contributions: (n, c) contribution of each token, as typed, to the logit of each class.
        offsets: (c,) what the encoder adds to any text.
        intercepts: (c,) bias of each class.
        label: the class with the highest logit.
        head, model, pooling: the linear head, and the model and pooling of its embeddings.
    """

    text: str
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    classes: tuple[str, ...]
    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    contributions: NDArray[np.float64]
    offsets: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    label: str
    head: str
    model: str
    pooling: str

    @property
    def residual(self) -> NDArray[np.float64]:
        """(c,) logits minus the sums of their addends: rounding errors."""
        return self.logits - self.contributions.sum(axis=0) - self.offsets - self.intercepts

    @property
    def by_word(self) -> NDArray[np.float64]:
        """(words, c) contribution of each word: sums over its tokens."""
        import numpy as np

        return np.array([self.contributions[slice(*word.tokens)].sum(axis=0) for word in self.words])


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text with its class.

    Attributes:
        start, end: half-open span in the text.
        label: class of the word's first token, as the checkpoint names it: "B-PER" for instance.
        score: probability of the class, in (0, 1].
        tokens: the word's tokens, as the vocabulary writes them.
    """

    text: str
    start: int
    end: int
    label: str
    score: float
    tokens: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Tagging(LabRecord):
    """A text with the classes of its words, and the mentions derived from them.

    Attributes:
        labels: all classes of the checkpoint.
        mentions: entities, or for "pos" each word with a part of speech, in order; spans are offsets in `text`.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    model: str
    task: TagTask
    text: str
    labels: tuple[str, ...]
    words: tuple[TaggedWord, ...]
    mentions: tuple[Mention, ...]
    held_out: HeldOut | None = None


@dataclass(frozen=True)
class FieldCount:
    """Statistics of one annotation field of an index.

    Attributes:
        mentions: number of spans in all passages.
        frequent: (value, number of mentions) of the most frequent values, most frequent first.
    """

    field: str
    mentions: int
    frequent: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TagReport:
    """Report of a tagging run, with statistics of the annotations afterwards.

    Attributes:
        index: folder of the index.
        name: name of the annotations in the index: the task.
        fields: statistics over all passages, also of earlier runs.
        tagged: number of passages read by this run.
        annotated: number of passages that have annotations now.
        passages: number of passages in the index.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    index: str
    name: str
    task: TagTask
    model: str
    fields: tuple[FieldCount, ...]
    tagged: int
    annotated: int
    passages: int
    held_out: HeldOut | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Location):
    """Span of a document that answers a question; in converted formats (HTML, PDF) its lines are those of the passage.

    Attributes:
        rank: 1 for the best answer; 0 for a span that scores too low to be an answer.
        passage: text that the span was extracted from.
        passage_start: offset of that text in the document.
        hit: the hit of that passage; None for a text without an index.
        start_logit, end_logit: logits of the first and the last token.
        null_score: sum of the start and end logits of [CLS] in the same window: the score of "no answer".
        probability: p(start) p(end), each a softmax over [CLS] and the passage's tokens in the window; such products of
            different windows cannot be compared.
    """

    rank: int
    passage: str
    passage_start: int
    hit: Hit | None
    start_logit: float
    end_logit: float
    null_score: float
    probability: float

    @property
    def margin(self) -> float:
        """`start_logit + end_logit - null_score`: log of the odds of the span against no answer.

        Both probabilities come from the same softmax, so its normalisation cancels. Margins of different windows and
        passages can therefore be compared, unlike sums of logits.
        """
        return self.start_logit + self.end_logit - self.null_score

    @property
    def score(self) -> float:
        """Probability of the span against no answer, `1 / (1 + exp(-margin))`; answers are ranked by it."""
        return 1 / (1 + math.exp(-max(self.margin, -700.0)))


@dataclass(frozen=True, eq=False, repr=False)
class Answers(LabRecord):
    """Answers of a reader to a question.

    Attributes:
        model: name of the reader.
        answers: best first; empty for no answer.
        nearest: without an answer, the best span that scored too low; None if no passage was read.
        more: number of further answers beyond the requested ones.
        passages, windows: numbers of passages and windows that were read.
        held_out: how often the head was right when it was trained; None if its checkpoint does not say.
    """

    question: str
    model: str
    answers: tuple[Answer, ...]
    nearest: Answer | None
    more: int
    passages: int
    windows: int
    held_out: HeldOut | None = None
