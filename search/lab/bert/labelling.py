"""Label texts with a checkpoint's own classes, or with a linear head over an encoder's embeddings.

A checkpoint gives the probabilities of its mutually exclusive classes, by softmax. A text that is too long for it is
read in overlapping windows; the text's logits are the mean over the windows, weighted by their numbers of tokens.

A linear head over frozen embeddings has a row of weights and an intercept for each class:

    logits = W x + b,   probabilities = softmax(logits),   x an embedding of unit length

A head is stored as numbers, never as code. The file head.safetensors contains W and b; its metadata contains the
classes, the fingerprint of the encoder and how the head was trained. Applying a head needs only NumPy.

A logit is explained by traced contributions (`search.explaining.traced`): x is a sum of a vector V_i for each token and
an offset b_x, so

    logit_c = sum_i  W_c . V_i  +  W_c . b_x  +  b_c
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder, Fingerprint
from search.encoding.tokenizer import strings
from search.errors import (
    FingerprintMismatch,
    InputError,
    ModelError,
    first_line,
)
from search.explaining.tracers import tracer
from search.files import write_whole
from search.lab.bert.checkpoint import Head, load_head, softmax
from search.lab.bert.tokenizing import check_text
from search.lab.records.predictions import LabelExplanation, LabelledText, Labelling
from search.records.options import EngineName
from search.records.reports import Progress
from search.records.tokens import merged

FILE, FORMAT = "head.safetensors", "seewhy linear head 2"


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A trained head, from `train_labels` or `load_linear_head`.

    Attributes:
        name: the attribute that the head predicts, such as "sentiment".
        classes: names of the c classes.
        coefficients: (c, d) float64.
        intercepts: (c,) float64.
        fingerprint: fingerprint of the encoder, without passage settings.
        trained: training data, settings and metrics, as values that JSON can represent.
    """

    name: str
    classes: tuple[str, ...]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    fingerprint: Fingerprint
    trained: Mapping[str, Any]

    def logits(self, embeddings: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the (n, c) logits of (n, d) embeddings of unit length."""
        return embeddings.astype(np.float64) @ self.coefficients.T + self.intercepts

    def probabilities(self, embeddings: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the (n, c) probabilities of (n, d) embeddings; each row sums to 1."""
        return softmax(self.logits(embeddings))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the coefficients, intercepts, classes and fingerprint."""
        made_of = json.dumps([self.classes, asdict(self.fingerprint)], sort_keys=True)
        numbers = self.coefficients.astype("<f8").tobytes() + self.intercepts.astype("<f8").tobytes()
        return hashlib.sha256(made_of.encode("utf-8", "surrogatepass") + numbers).hexdigest()

    def require_fits(self, fingerprint: Fingerprint, source: str) -> None:
        """Check that the head was trained on embeddings with this fingerprint.

        Args:
            source: origin of the embeddings, for the message, such as "the index".

        Raises:
            FingerprintMismatch: the head was trained on other embeddings.
        """
        differences = self.fingerprint.differences(replace(fingerprint, passages=""))
        if differences:
            raise _unfit(self.name, source, differences)

    def save(self, folder: str | Path) -> Path:
        """Write the head into a folder, which is created if needed.

        Raises:
            InputError: the folder already contains a head, or the file cannot be written.
        """
        from safetensors.numpy import save

        place = Path(folder).expanduser()
        check_no_head(place)
        described = {
            "name": self.name,
            "classes": list(self.classes),
            "fingerprint": asdict(self.fingerprint),
            "trained": dict(self.trained),
        }
        numbers = {"coefficients": self.coefficients, "intercepts": self.intercepts}
        arrays = {name: np.ascontiguousarray(array, "<f8") for name, array in numbers.items()}
        content = save(arrays, {"format": FORMAT, "head": json.dumps(described, allow_nan=False)})
        try:
            place.mkdir(parents=True, exist_ok=True)
            write_whole(place / FILE, content)
        except OSError as error:
            raise InputError(f"'{place}' cannot be written: {error.strerror or error}.") from None
        return place


def check_no_head(folder: Path) -> None:
    """Raise InputError if a folder already contains a head, so that none is overwritten."""
    if (folder / FILE).exists():
        raise InputError(f"'{folder}' already contains a head. Give another folder, or delete that one.")


def load_linear_head(folder: str | Path) -> LinearHead:
    """Load the head in a folder.

    Raises:
        InputError: the folder contains no head, or one that is damaged or was written by another version of seewhy.
    """
    from safetensors import SafetensorError, safe_open

    train = "Train one with: seewhy lab label train EXAMPLES.csv --out FOLDER"
    file = Path(folder).expanduser() / FILE
    if not file.is_file():
        raise InputError(f"no {FILE} in '{folder}'. {train}")
    try:
        with safe_open(file, "numpy") as opened:
            metadata = opened.metadata() or {}
            numbers = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        if metadata.get("format") != FORMAT:
            raise InputError(f"'{file}' was written by another version of seewhy. {train}")
        described = json.loads(metadata["head"])
        return LinearHead(
            name=described["name"],
            classes=tuple(described["classes"]),
            coefficients=numbers["coefficients"],
            intercepts=numbers["intercepts"],
            fingerprint=Fingerprint(**described["fingerprint"]),
            trained=described["trained"],
        )
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{file}' is damaged: {first_line(error)}. {train}") from None


def encoder_of(head: LinearHead, *, offline: bool = False, engine: EngineName = "auto") -> Encoder:
    """Return the encoder that a head was trained for.

    Raises:
        ModelError: the encoder cannot be found.
        FingerprintMismatch: the model has changed since the head was trained.
    """
    try:
        return Encoder.of(head.fingerprint, offline=offline, engine=engine)
    except FingerprintMismatch as error:
        raise _unfit(head.name, "the installed model has", error.differences) from None


def _unfit(head: str, other: str, differences: list[tuple[str, str, str]]) -> FingerprintMismatch:
    problem = f"the head '{head}' does not fit these embeddings"
    remedy = "Train a head for them with: seewhy lab label train EXAMPLES.csv --out FOLDER"
    return FingerprintMismatch(differences, "the head has", other, problem, remedy)


def explain_label(
    text: str,
    head: LinearHead | str | Path,
    *,
    encoder: Encoder | None = None,
    offline: bool = False,
    engine: EngineName = "auto",
) -> LabelExplanation:
    """Return the contribution of each token of a text to a head's logits.

    Args:
        encoder: the encoder that the head was trained for, if it is already loaded; None loads it.

    Raises:
        InputError: the text is empty or too long.
        FingerprintMismatch: the head was not trained on embeddings of `encoder`.
    """
    check_text(text)
    head = head if isinstance(head, LinearHead) else load_linear_head(head)
    if encoder is None:
        encoder = encoder_of(head, offline=offline, engine=engine)
    head.require_fits(encoder.fingerprint, "the encoder")
    (read,) = encoder.inputs([text], role="document")
    logits = head.logits(encoder.encode([text], role="document"))[0]
    (products,) = tracer(encoder).trace([read]).products(head.coefficients[None])
    return LabelExplanation(
        text=text,
        tokens=read.tokens,
        words=merged(read.tokens, {"text": text}),
        classes=head.classes,
        logits=logits,
        probabilities=softmax(logits),
        contributions=products[:, 0, :-1].T,
        offsets=products[:, 0, -1],
        intercepts=head.intercepts,
        label=head.classes[int(logits.argmax())],
        head=head.name,
        model=encoder.model,
        pooling=encoder.pooling,
    )


_TEXTS_A_BATCH = 64


def label(
    texts: Sequence[str],
    *,
    model: str | None = None,
    head: LinearHead | str | Path | None = None,
    offline: bool = False,
    engine: EngineName = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Labelling:
    """Predict the labels of texts.

    Args:
        model: a checkpoint for text classification, by name or folder; texts may have any length.
        head: instead of `model`, a head trained with `train_labels`, or its folder. Its encoder is loaded, and every
            text must fit the encoder.
        engine: engine that runs a head's encoder.

    Raises:
        InputError: a text is empty, or too long for a head's encoder; the folder contains no head; or not exactly one
            of `model` and `head` is given.
        ModelError: the checkpoint cannot be found or loaded, or has no head for classes of texts.
    """
    texts = strings(texts)
    for number, text in enumerate(texts, 1):
        check_text(text, f"text {number}")
    if (model is None) == (head is None):
        raise InputError("give either a model or a head.")
    if head is not None:
        return _by_linear_head(texts, head, offline, engine)
    assert model is not None
    checkpoint = load_head("label", model, offline)
    classifier = Classifier(checkpoint)
    labels: list[LabelledText] = []
    for start in range(0, len(texts), _TEXTS_A_BATCH):
        labels += classifier(texts[start : start + _TEXTS_A_BATCH])
        if progress:
            progress(Progress("labelling", len(labels), len(texts), passages=len(labels)))
    name, classes = classifier.name, classifier.classes
    return Labelling(name, name, "", classes, tuple(labels), checkpoint.held_out)


def _by_linear_head(
    texts: list[str], head: LinearHead | str | Path, offline: bool, engine: EngineName
) -> Labelling:
    head = head if isinstance(head, LinearHead) else load_linear_head(head)
    fingerprint = head.fingerprint
    encoder = encoder_of(head, offline=offline, engine=engine)
    probabilities = head.probabilities(encoder.encode(texts, role="document"))
    labels = tuple(
        labelled(text, row, head.classes) for text, row in zip(texts, probabilities, strict=True)
    )
    return Labelling(head.name, fingerprint.model, fingerprint.pooling, head.classes, labels)


def labelled(
    text: str, probabilities: NDArray[np.float64], classes: Sequence[str], windows: int = 1
) -> LabelledText:
    """Return the record of a text with its most likely class; `probabilities` has shape (c,)."""
    best = int(probabilities.argmax())
    scores = tuple(map(float, probabilities))
    return LabelledText(text, classes[best], scores[best], scores, windows)


class Classifier:
    """A checkpoint that assigns one of several classes to each text.

    Raises:
        ModelError: the checkpoint's head predicts a number, or several labels per text.
    """

    def __init__(self, head: Head) -> None:
        self._head, self.name = head, head.name
        self.classes = head.labels
        problem = getattr(head.model.config, "problem_type", None)
        if problem in ("regression", "multi_label_classification") or len(head.labels) < 2:
            raise ModelError(f"'{head.name}' does not assign one of several classes to a text.")

    def __call__(self, texts: Sequence[str]) -> list[LabelledText]:
        """Return the labels of the texts, in order; long texts are read in windows."""
        windows = [self._head.windows(text) for text in texts]
        outputs = self._head.run([window for some in windows for window in some])
        labels = []
        for text, some in zip(texts, windows, strict=True):
            logits = np.stack([next(outputs)["logits"] for _ in some]).astype(np.float64)
            tokens = [len(window.ids) - sum(window.special_tokens_mask) for window in some]
            mean = np.average(logits, axis=0, weights=np.maximum(tokens, 1))
            labels.append(labelled(text, softmax(mean), self.classes, len(some)))
        return labels
