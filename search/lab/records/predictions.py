"""Predictions of models: masked words, next sentences, labels, entities and parts of speech, answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from search.errors import InputError
from search.lab.records.lab_record import LabRecord
from search.lab.records.training import ClassReport, HeldOut
from search.records.contents import Location
from search.records.documents import Mention
from search.records.evaluations import Estimate
from search.records.hits import Hit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from pandas import DataFrame

    from search.records.tokens import Token, Vector, Word


TagTask: TypeAlias = Literal["ner", "pos"]
AnswerUnit: TypeAlias = Literal["token", "answer"]

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


@dataclass(frozen=True, repr=False)
class LabelledIndex(LabRecord):
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


@dataclass(frozen=True, eq=False, repr=False)
class LabelTraining(LabRecord):
    """Report of training a linear head.

    `.plot()` draws the confusion matrix: a row for each true class, a column for each predicted one.

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


@dataclass(frozen=True, eq=False, repr=False)
class LabelExplanation(LabRecord):
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
class TaggedPiece:
    """A token of a word with the class that the head predicts for the token itself.

    Attributes:
        text: the token, as the vocabulary writes it: "##hdi" for instance.
        start, end: half-open span in the text.
        label: the token's own class, which counts for the word only if the token is its first one.
        score: probability of the class, in (0, 1].
    """

    text: str
    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text with its class.

    Attributes:
        start, end: half-open span in the text.
        label: class of the word's first token, as the checkpoint names it: "B-PER" for instance.
        score: probability of the class, in (0, 1].
        pieces: the word's tokens, each with its own class.
    """

    text: str
    start: int
    end: int
    label: str
    score: float
    pieces: tuple[TaggedPiece, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The word's tokens, as the vocabulary writes them."""
        return tuple(piece.text for piece in self.pieces)


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


@dataclass(frozen=True, repr=False)
class TagReport(LabRecord):
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


@dataclass(frozen=True, eq=False)
class ReaderWindow:
    """An input of a reader, `[CLS] question [SEP] passage [SEP]`, with the logits of its t tokens.

    Attributes:
        tokens: t vocabulary entries.
        spans: half-open span of each token in the passage; None for special tokens and the question's tokens.
        start_logits, end_logits: (t,) float64 logits: does the answer begin, or end, at this token?
    """

    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int] | None, ...]
    start_logits: Vector
    end_logits: Vector

    @property
    def candidates(self) -> list[int]:
        """Positions that the softmax is taken over: [CLS], which means "no answer", and the passage's tokens."""
        return [0, *(i for i, span in enumerate(self.spans) if span is not None)]

    @property
    def start_probabilities(self) -> Vector:
        """(t,) softmax of the start logits over `candidates`, in [0, 1]; 0 for other tokens."""
        return self._probabilities(self.start_logits)

    @property
    def end_probabilities(self) -> Vector:
        """(t,) softmax of the end logits over `candidates`, in [0, 1]; 0 for other tokens."""
        return self._probabilities(self.end_logits)

    def _probabilities(self, logits: Vector) -> Vector:
        import numpy as np

        candidates, probabilities = self.candidates, np.zeros(len(logits))
        powers = np.exp(logits[candidates] - logits[candidates].max())
        probabilities[candidates] = powers / powers.sum()
        return probabilities


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
        window: the input in which the span was found, with the logits of all its tokens.
        first, last: positions of the first and the last token of the span in `window`.
    """

    rank: int
    passage: str
    passage_start: int
    hit: Hit | None
    start_logit: float
    end_logit: float
    null_score: float
    probability: float
    window: ReaderWindow
    first: int
    last: int

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

    @property
    def spans(self) -> tuple[Answer, ...]:
        """The answers; without any, the span that is nearest to being one, if there is a passage."""
        return self.answers or ((self.nearest,) if self.nearest else ())

    def span(self, rank: int = 1) -> Answer:
        """Return the answer of a rank; without any answer, rank 1 is the nearest span.

        Raises:
            InputError: there is no such rank, or no passage was read.
        """
        if not self.spans:
            raise InputError(
                "no passage was read, so there is no answer. Check the index and the filter."
            )
        if not 1 <= rank <= len(self.spans):
            raise InputError(f"there is no answer of rank {rank}: there are {len(self.spans)}.")
        return self.spans[rank - 1]

    def plot(self, ax: Axes | None = None, *, by: AnswerUnit = "token", rank: int = 1) -> Axes:
        """Plot where an answer begins and ends, as two rows of bars over the tokens of its passage.

        The bars are the probabilities of the first and of the last token; the span is marked. Of a long window, the 60
        tokens around the span are drawn.

        Args:
            by: "answer" draws the score of each answer instead.
            rank: the answer to draw; without any answer, 1 is the nearest span.

        Raises:
            InputError: unknown `by`, or there is no such rank.
            OptionalDependency: matplotlib is not installed.
        """
        _require_choice(by)
        return self._plotted(ax, by=by, rank=rank)

    def to_pandas(self, *, by: AnswerUnit = "token", rank: int = 1) -> DataFrame:
        """Return a table with a row for each token of an answer's window, with its logits and probabilities.

        Args:
            by, rank: as for `plot`; with "answer", the table has a row for each answer.

        Raises:
            InputError: unknown `by`, or there is no such rank.
            OptionalDependency: pandas is not installed.
        """
        _require_choice(by)
        return self._tabulated(by=by, rank=rank)


def _require_choice(by: str) -> None:
    if by not in get_args(AnswerUnit):
        raise InputError(f"by is {by!r}. Choose one of: {', '.join(map(repr, get_args(AnswerUnit)))}.")
