"""Probes: linear classifiers on the frozen vectors of each layer of a model, `probe`.

A text is represented by the mean of its token vectors, special tokens included; a word by the vector of its first token
(as in Devlin et al. 2018, "BERT", 5.3). The classifier is scikit-learn's `LogisticRegression` (multinomial, L2, C = 1)
on standardised vectors: each dimension has mean 0 and deviation 1 in the folds that it learns from. The model itself is
not trained.

An accuracy means little by itself, because a classifier of hundreds of dimensions can learn much that the model does
not know. It is therefore measured again for a control task (Hewitt & Liang 2019, "Designing and Interpreting Probes
with Control Tasks"): each word form gets a random label, drawn with the frequencies of the true ones, which can only be
memorised. The difference is the selectivity. Labels of texts are shuffled instead: a text occurs only once, so that
nothing can be memorised, and the control shows what chance gives.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.formats import TABLES, read_rows
from search.lab.evaluating.formats import read_conll
from search.lab.evaluating.metrics import share
from search.lab.records.probes import LayerProbes, LayerScore, ProbeTask
from search.records.reports import Progress
from search.statistics import estimated

_TEXTS_AT_ONCE = 256
_CONTROLS: dict[str, Literal["types", "shuffled"]] = {"word": "types", "text": "shuffled"}


@dataclass(frozen=True)
class ProbeText:
    """A text with a label, or with a label for each of its words.

    Attributes:
        labels: the label of the text, or those of its words.
        spans: half-open spans (start, end) of the words; () for a label of the whole text.
        group: name of its group; texts of a group are in the same fold.
    """

    text: str
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()
    group: str = ""

    @property
    def words(self) -> list[str]:
        """Text of each labelled word in lower case; the whole text if it has one label."""
        return [self.text[start:end].lower() for start, end in self.spans] or [self.text]


@dataclass(frozen=True, eq=False)
class _Examples:
    """n labelled examples of a task, with their vectors.

    Attributes:
        vectors: (L + 1, n, d) float32.
        truth: (n,) numbers of the classes.
        groups: (n,) numbers of the groups.
        words: word form of each example.
    """

    vectors: NDArray[np.float32]
    truth: NDArray[np.int64]
    classes: tuple[str, ...]
    groups: NDArray[np.int64]
    words: Sequence[str]
    left_out: int


def probe(
    data: str | Path | Sequence[str | Path],
    *,
    model: str | Encoder = DEFAULT_MODEL,
    folds: int = 5,
    most: int = 5000,
    seed: int = 0,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> LayerProbes:
    """Measure what a linear classifier reads from each layer of a model.

    Args:
        data: one or several files. A CSV, TSV or JSONL file has the columns text and label, and may have a column
            group: texts with the same value are in the same fold. Any other file is in CoNLL format: a word and its
            label on each line, an empty line after each sentence; the words of a sentence are in the same fold.
        model: name or folder of a model, or a loaded encoder; its prompts are not used.
        folds: number of folds of the cross-validation, at least 2.
        most: maximum number of examples of a file, texts or words; of more, a random sample of groups is drawn.
        seed: seed of folds, control labels, samples and intervals.
        offline: never download from the hub.
        progress: called after each fold.

    Returns:
        For each file and each layer from 0 to L the accuracy, and that of the control task, with 95 % intervals (a
        bootstrap of groups); beside them the accuracy of the most frequent label.

    Raises:
        InputError: a file cannot be read, or has not two labels that occur in at least `folds` groups each; or an
            option is too small.
        TextTooLong: a text has more tokens than the model reads.
        ModelError: the model cannot be found or used.
    """
    if folds < 2 or most < 1 or seed < 0:
        raise InputError(
            f"folds is {folds}, most is {most}, seed is {seed}; they must be at least 2, 1 and 0."
        )
    paths = [Path(path) for path in ([data] if isinstance(data, str | Path) else data)]
    if not paths:
        raise InputError("there is no file to learn from. Give at least one.")
    sets = [_sampled(read_labelled(path), most, seed) for path in paths]
    for path, texts in zip(paths, sets, strict=True):
        _check_labels(path, texts, folds)
    encoder = model if isinstance(model, Encoder) else Encoder(model, offline=offline)
    steps = len(paths) * (encoder.n_layers + 1) * folds
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(Progress("training probes", done, steps))

    tasks = []
    for path, texts in zip(paths, sets, strict=True):
        tasks.append(_task(path.name, texts, encoder, folds, seed, count))
    return LayerProbes(encoder.model, folds, seed, tuple(tasks))


def read_labelled(path: Path) -> list[ProbeText]:
    """Read labelled texts from a table, or sentences with labelled words from a file in CoNLL format.

    Raises:
        InputError: the file cannot be read, is empty, or a text or label is missing.
    """
    if path.suffix.lower() not in TABLES:
        sentences = read_conll(path, entities=False)
        return [
            ProbeText(sentence.text, sentence.labels, tuple(sentence.spans), str(number))
            for number, sentence in enumerate(sentences)
        ]
    rows = read_rows(path, ("text", "label"))
    if not rows:
        raise InputError(f"'{path}' has no rows after the header.")
    texts = [(row.text("text").strip(), row.text("label").strip(), row) for row in rows]
    return [
        ProbeText(text, (label,), group=row.text("group", "").strip() or text)
        for text, label, row in texts
    ]


def layer_vectors(
    encoder: Encoder, texts: Sequence[ProbeText]
) -> Iterator[list[NDArray[np.float32] | None]]:
    """Yield the vectors of the examples of each text: (L + 1, d) arrays; None for a word that has no token.

    A word has the vector of its first token, a text the mean of all its token vectors.
    """
    layers = range(encoder.n_layers + 1)
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        some = texts[start : start + _TEXTS_AT_ONCE]
        encoded = encoder.tokens([text.text for text in some], layers=layers)
        for text, read in zip(some, encoded, strict=True):
            states: NDArray[np.float32] = np.stack([read.layers[layer] for layer in layers])
            if not text.spans:
                yield [states.mean(axis=1)]
                continue
            first: list[NDArray[np.float32] | None] = []
            for begin, end in text.spans:
                inside = (
                    i
                    for i, token in enumerate(read.tokens)
                    if not token.special and token.start < end and token.end > begin
                )
                position = next(inside, None)
                first.append(None if position is None else states[:, position])
            yield first


def _sampled(texts: list[ProbeText], most: int, seed: int) -> list[ProbeText]:
    """Return all texts, or those of randomly drawn groups with at most `most` labels, in their order."""
    if sum(len(text.labels) for text in texts) <= most:
        return texts
    sizes = Counter[str]()
    for text in texts:
        sizes[text.group] += len(text.labels)
    names = list(sizes)
    order = np.random.default_rng(seed).permutation(len(names))
    totals = np.cumsum([sizes[names[i]] for i in order])
    chosen = {names[i] for i in order[: max(1, int((totals <= most).sum()))]}
    return [text for text in texts if text.group in chosen]


def _check_labels(path: Path, texts: Sequence[ProbeText], folds: int) -> None:
    """Raise InputError unless at least two labels occur in `folds` groups each."""
    groups = defaultdict[str, set[str]](set)
    for text in texts:
        for label in text.labels:
            groups[label].add(text.group)
    if len(groups) < 2:
        raise InputError(f"'{path}' has only the label '{next(iter(groups))}'. A probe needs two labels.")
    frequent = [label for label, names in groups.items() if len(names) >= folds]
    if len(frequent) < 2:
        label, names = sorted(groups.items(), key=lambda pair: -len(pair[1]))[1]
        units = "sentences" if texts[0].spans else "texts or groups"
        raise InputError(
            f"'{path}' is too small: the label '{label}' occurs in {len(names)} {units}, but {folds} are needed. "
            "Add examples, or use fewer folds."
        )


def _task(
    name: str,
    texts: Sequence[ProbeText],
    encoder: Encoder,
    folds: int,
    seed: int,
    count: Callable[[], None],
) -> ProbeTask:
    """Probe all layers for the labels of one file."""
    from sklearn.model_selection import StratifiedGroupKFold

    examples = _examples(encoder, texts)
    unit: Literal["text", "word"] = "word" if texts[0].spans else "text"
    n, truth, groups = len(examples.truth), examples.truth, examples.groups
    division = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare label occurs in fewer groups than there are folds
        splits = list(division.split(np.zeros(n), truth, groups))
    control = _control(examples, unit, np.random.default_rng(seed))
    right = []
    for vectors in examples.vectors:
        both = np.empty((2, n), dtype=bool)
        for train, held_out in splits:
            for row, labels in zip(both, (truth, control), strict=True):
                predicted = _predicted(vectors[train], labels[train], vectors[held_out])
                row[held_out] = predicted == labels[held_out]
            count()
        right.append(both)
    many = np.bincount(truth, minlength=len(examples.classes))
    return ProbeTask(
        name=name,
        unit=unit,
        examples=n,
        groups=int(groups.max()) + 1,
        classes=examples.classes,
        majority=examples.classes[int(many.argmax())],
        majority_accuracy=float(many.max() / n),
        by_word=_by_word(examples, splits) if unit == "word" else None,
        control=_CONTROLS[unit],
        layers=_scores(np.array(right), groups, seed),
        left_out=examples.left_out,
    )


def _examples(encoder: Encoder, texts: Sequence[ProbeText]) -> _Examples:
    """Return the labelled examples of all texts, without words that have no token."""
    vectors, labels, groups, words = [], [], [], []
    left_out = 0
    for text, of_text in zip(texts, layer_vectors(encoder, texts), strict=True):
        for label, word, vector in zip(text.labels, text.words, of_text, strict=True):
            if vector is None:
                left_out += 1
                continue
            vectors.append(vector)
            labels.append(label)
            groups.append(text.group)
            words.append(word)
    classes, truth = np.unique(labels, return_inverse=True)
    numbers = np.unique(groups, return_inverse=True)[1]
    return _Examples(np.stack(vectors, axis=1), truth, tuple(map(str, classes)), numbers, words, left_out)


def _control(
    examples: _Examples, unit: Literal["text", "word"], chance: np.random.Generator
) -> NDArray[np.int64]:
    """Return the (n,) labels of the control task: random by word form, or shuffled among texts."""
    if unit == "text":
        return chance.permutation(examples.truth)
    forms, numbers = np.unique(examples.words, return_inverse=True)
    return chance.choice(examples.truth, size=len(forms))[numbers]


def _predicted(
    train: NDArray[np.float32], labels: NDArray[np.int64], held_out: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Return the labels that a classifier predicts for held-out vectors, after learning from the others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # A dependency of scikit-learn.
    from threadpoolctl import threadpool_limits

    if len(np.unique(labels)) == 1:
        return np.full(len(held_out), labels[0])
    classifier: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with threadpool_limits(1):  # one thread is faster for small matrices
        classifier.fit(train, labels)
        predicted: NDArray[np.int64] = classifier.predict(held_out)
    return predicted


def _by_word(examples: _Examples, splits: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> float:
    """Return the accuracy of the label that a word form has most often in the other folds."""
    right = 0
    for train, held_out in splits:
        counts = defaultdict[str, Counter[int]](Counter)
        for row in train.tolist():
            counts[examples.words[row]][int(examples.truth[row])] += 1
        majority = int(np.bincount(examples.truth[train]).argmax())
        for row in held_out.tolist():
            of_word = counts.get(examples.words[row])
            label = of_word.most_common(1)[0][0] if of_word else majority
            right += label == examples.truth[row]
    return right / len(examples.truth)


def _scores(right: NDArray[np.bool_], groups: NDArray[np.int64], seed: int) -> tuple[LayerScore, ...]:
    """Return the scores of all layers.

    Args:
        right: (L + 1, 2, n) True where the label, and that of the control task, was predicted.
    """
    totals = np.bincount(groups)
    hits = np.array([[np.bincount(groups, weights=row) for row in layer] for layer in right])
    best = hits[int(hits[:, 0].sum(axis=1).argmax()), 0]
    return tuple(
        LayerScore(
            layer=layer,
            accuracy=estimated(share, of_labels, totals, seed=seed),
            control=estimated(share, of_control, totals, seed=seed),
            behind=estimated(share, best - of_labels, totals, seed=seed),
        )
        for layer, (of_labels, of_control) in enumerate(hits)
    )
