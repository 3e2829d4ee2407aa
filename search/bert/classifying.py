"""Labels of texts: by a checkpoint's own classes, or by a linear head over an encoder's embeddings.

A checkpoint whose classes exclude each other gives probabilities by softmax, one that was trained for several labels
at once (`problem_type: multi_label_classification`) by sigmoid. A text that does not fit is read in windows that
overlap; its logits are the mean of theirs, each counted by its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.bert.heads import Head, load_head, sigmoid, softmax
from search.bert.linear_head import LinearHead, encoder_of, load_linear_head
from search.bert.tokenizing import check_text
from search.encoding.tokenizer import strings
from search.errors import InputError, ModelError
from search.records.predictions import LabelledText, Labelling
from search.records.reports import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIKELY = 0.5  # of classes that do not exclude each other, those from here on are a text's labels
_AT_ONCE = 64


def label(
    texts: Sequence[str],
    *,
    model: str | None = None,
    head: LinearHead | str | Path | None = None,
    offline: bool = False,
    engine: str = "auto",
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Labelling:
    """The labels of texts.

    Args:
        model: a checkpoint that was trained to classify texts, by name or folder; texts of any length.
        head: instead, a head that was trained with `train_labels`, or its folder; its encoder is found by itself. A
            text has to fit the encoder.
        engine: of the encoder that a head needs.
        device: of the checkpoint.

    Raises:
        InputError: an empty text, one that is too long for a head's encoder, no head in the folder, or not one of
            `model` and `head`.
        ModelError: the checkpoint cannot be found or loaded, or has no head for classes of texts.
    """
    texts = strings(texts)
    for number, text in enumerate(texts, 1):
        check_text(text, f"text number {number}")
    if (model is None) == (head is None):
        raise InputError("name a checkpoint or a head that is to label, and only one of them.")
    if head is not None:
        return _by_linear_head(texts, head, offline, engine)
    assert model is not None
    classifier = Classifier(load_head("label", model, offline, device))
    found: list[LabelledText] = []
    for start in range(0, len(texts), _AT_ONCE):
        found += classifier(texts[start : start + _AT_ONCE])
        if progress:
            progress(Progress("labelling", len(found), len(texts), passages=len(found)))
    return Labelling(
        classifier.name, classifier.name, "", classifier.classes, classifier.exclusive, tuple(found)
    )


def _by_linear_head(texts: list[str], head: LinearHead | str | Path, offline: bool, engine: str) -> Labelling:
    head = head if isinstance(head, LinearHead) else load_linear_head(head)
    made = head.fingerprint
    encoder = encoder_of(head, offline=offline, engine=engine)
    probabilities = head.probabilities(encoder.encode(texts, role="document"))
    found = tuple(labelled(text, row, head.classes) for text, row in zip(texts, probabilities, strict=True))
    return Labelling(head.name, made.model, made.pooling, head.classes, True, found)


def labelled(
    text: str,
    probabilities: NDArray[np.float64],
    classes: Sequence[str],
    *,
    exclusive: bool = True,
    windows: int = 1,
) -> LabelledText:
    """A text with its (c,) probabilities as a record."""
    order = np.argsort(-probabilities, kind="stable")
    best = int(order[0])
    chosen = [best] if exclusive else [int(i) for i in order if probabilities[i] >= LIKELY]
    return LabelledText(
        text=text,
        label=classes[best],
        score=float(probabilities[best]),
        labels=tuple(classes[i] for i in chosen),
        scores=tuple(map(float, probabilities)),
        windows=windows,
    )


class Classifier:
    """A checkpoint with a head for classes of texts.

    Raises:
        ModelError: its head gives a number instead of classes.
    """

    def __init__(self, head: Head) -> None:
        self._head = head
        problem = getattr(head.model.config, "problem_type", None)
        self.exclusive = problem != "multi_label_classification"
        self.classes = head.labels
        if problem == "regression" or (self.exclusive and len(head.labels) < 2):
            raise ModelError(
                f"'{head.name}' gives one number for a text, not classes. Name a checkpoint that was trained for "
                "classes."
            )
        if len(set(head.labels)) < len(head.labels):
            raise ModelError(
                f"'{head.name}' has two classes of one name, which cannot be told apart. Mend `id2label` in its "
                "config.json."
            )

    @property
    def name(self) -> str:
        return self._head.name

    @property
    def sha256(self) -> str:
        """Of the checkpoint's weights."""
        return self._head.files.weights_sha256

    def __call__(self, texts: Sequence[str]) -> list[LabelledText]:
        """The texts' labels, in order; those that do not fit are read in windows."""
        windows = [self._head.windows(text) for text in texts]
        outputs = self._head.run([one for some in windows for one in some])
        found = []
        for text, some in zip(texts, windows, strict=True):
            logits = np.stack([next(outputs)["logits"] for _ in some]).astype(np.float64)
            tokens = [len(one.ids) - sum(one.special_tokens_mask) for one in some]
            mean = np.average(logits, axis=0, weights=np.maximum(tokens, 1))
            probabilities = softmax(mean) if self.exclusive else sigmoid(mean)
            found.append(
                labelled(text, probabilities, self.classes, exclusive=self.exclusive, windows=len(some))
            )
        return found
