"""A linear head over frozen embeddings: a row of weights and an intercept for each class.

    logits = W x + b,   probabilities = softmax(logits),   x an embedding of unit length

It is kept as numbers, never as code: head.safetensors holds W and b, head.json the classes, the fingerprint of the
encoder and how the head was trained. Applying it needs NumPy alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder, Fingerprint
from search.errors import FingerprintMismatch, HeadMismatch, IndexDamaged, InputError
from search.files import write_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT, VERSION = "seewhy linear head", 1
DESCRIPTION, WEIGHTS = "head.json", "head.safetensors"


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A trained head; get one from `train_labels` or `load_linear_head`.

    Attributes:
        name: what it labels, "sentiment".
        classes: c names.
        coefficients: (c, d) float64.
        intercepts: (c,) float64.
        fingerprint: of the encoder, without the settings that passages were cut with.
        trained: how it was trained, and its figures, as JSON has them.
    """

    name: str
    classes: tuple[str, ...]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    fingerprint: Fingerprint
    trained: Mapping[str, Any]

    def logits(self, embeddings: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n, d) embeddings of unit length -> (n, c) logits."""
        return embeddings.astype(np.float64) @ self.coefficients.T + self.intercepts

    def probabilities(self, embeddings: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n, d) embeddings -> (n, c) probabilities; each row sums to 1."""
        return softmax(self.logits(embeddings))

    @cached_property
    def sha256(self) -> str:
        """What tells this head from another: of its numbers, classes and fingerprint."""
        made_of = json.dumps([self.classes, self._fingerprint()], sort_keys=True)
        numbers = self.coefficients.astype("<f8").tobytes() + self.intercepts.astype("<f8").tobytes()
        return hashlib.sha256(made_of.encode("utf-8", "surrogatepass") + numbers).hexdigest()

    def require_fits(self, fingerprint: Fingerprint, what: str) -> None:
        """
        Args:
            fingerprint: of the embeddings that the head is to read.
            what: whose they are, "the index in '...'".

        Raises:
            HeadMismatch: they were made in another way than those that it was trained on.
        """
        found = self.fingerprint.differences(replace(fingerprint, passages=""))
        if found:
            raise HeadMismatch(self.name, what, found)

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write the two files into a folder, which is made if it is not there.

        Args:
            replace: put it in place of a head that the folder holds.

        Raises:
            InputError: the folder holds a head, or the files cannot be written.
        """
        from safetensors.numpy import save

        place = Path(folder).expanduser()
        if not replace:
            check_no_head(place)
        arrays = {"coefficients": self.coefficients, "intercepts": self.intercepts}
        weights = save({name: np.ascontiguousarray(array, "<f8") for name, array in arrays.items()})
        described = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "classes": list(self.classes),
            "fingerprint": self._fingerprint(),
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
            "trained": dict(self.trained),
        }
        text = json.dumps(described, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name, content in ((WEIGHTS, weights), (DESCRIPTION, text.encode("ascii"))):
                write_whole(place / name, content)
        except OSError as error:
            raise InputError(
                f"'{place}' cannot be written: {error.strerror or error}. Name another folder."
            ) from None
        return place

    def _fingerprint(self) -> dict[str, str]:
        return self.fingerprint.as_dict()


def check_no_head(folder: Path) -> None:
    """
    Raises:
        InputError: the folder holds a head, which would be lost.
    """
    if (folder / DESCRIPTION).exists():
        raise InputError(
            f"'{folder}' holds a head, and nothing is overwritten. Name another folder, or ask for it to be replaced."
        )


def load_linear_head(folder: str | Path) -> LinearHead:
    """The head in a folder.

    Raises:
        InputError: there is none, it was written by a later version, or its files are damaged.
    """
    place = Path(folder).expanduser()
    try:
        described = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
        weights = (place / WEIGHTS).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"there is no head in '{folder}': a head is a folder with {DESCRIPTION} and {WEIGHTS}. "
            "Train one with: seewhy label train EXAMPLES.csv --out FOLDER"
        ) from None
    except OSError as error:
        raise InputError(f"'{folder}' cannot be read: {error.strerror or error}. Check the name.") from None
    except (ValueError, RecursionError):
        raise _damaged(folder, f"{DESCRIPTION} is no JSON") from None
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise _damaged(folder, f"{DESCRIPTION} does not describe a head")
    if described.get("version") != VERSION:
        raise InputError(
            f"the head in '{folder}' has version {described.get('version')!r:.20} and this version of seewhy reads "
            f"{VERSION}. Update seewhy, or train it again with: seewhy label train EXAMPLES.csv"
        )
    if hashlib.sha256(weights).hexdigest() != described.get("weights_sha256"):
        raise _damaged(folder, f"{WEIGHTS} is not the file that {DESCRIPTION} was written with")
    return _built(folder, described, weights)


def encoder_of(head: LinearHead, *, offline: bool = False, engine: str = "auto") -> Encoder:
    """The encoder that a head was trained for.

    Raises:
        ModelError: it cannot be found.
        HeadMismatch: the model of that name is another one by now.
    """
    try:
        return Encoder.of(head.fingerprint, offline=offline, engine=engine)
    except FingerprintMismatch as error:
        raise HeadMismatch(head.name, "the model that is found now", error.differences) from None


def _built(folder: str | Path, described: dict[str, Any], weights: bytes) -> LinearHead:
    from safetensors.numpy import load

    try:
        arrays = load(weights)
        if wrong := _wrong_description(described):
            raise _damaged(folder, f"{wrong} in {DESCRIPTION} is not what it has to be")
        head = LinearHead(
            name=described["name"],
            classes=tuple(described["classes"]),
            coefficients=arrays["coefficients"].astype(np.float64),
            intercepts=arrays["intercepts"].astype(np.float64),
            fingerprint=Fingerprint.from_dict(described["fingerprint"]),
            trained=described["trained"],
        )
        shape = (len(head.classes), int(head.fingerprint.dimension))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexDamaged) as error:
        raise _damaged(folder, f"something is missing ({error!s:.60})") from None
    except Exception as error:  # safetensors has an error of its own, which is no child of these
        raise _damaged(folder, f"{WEIGHTS} cannot be read ({error!s:.60})") from None
    if head.coefficients.shape != shape or head.intercepts.shape != shape[:1]:
        raise _damaged(folder, f"{WEIGHTS} has other shapes than {DESCRIPTION} says")
    if not (np.isfinite(head.coefficients).all() and np.isfinite(head.intercepts).all()):
        raise _damaged(folder, f"{WEIGHTS} holds numbers that are none")
    return head


def _wrong_description(described: Mapping[str, Any]) -> str:
    """What is no name, no list of two or more classes, no object; "" where all is well."""
    name, classes, trained = (described[key] for key in ("name", "classes", "trained"))
    if not (isinstance(name, str) and name.strip()):
        return "name"
    if not (isinstance(classes, list) and all(isinstance(one, str) for one in classes)):
        return "classes"
    if len(set(classes)) < max(len(classes), 2):
        return "classes"
    return "" if isinstance(trained, dict) else "trained"


def _damaged(folder: str | Path, what: str) -> InputError:
    return InputError(
        f"the head in '{folder}' is damaged: {what}. Train it again with: seewhy label train EXAMPLES.csv"
    )


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, c) -> (n, c) probabilities; no overflow however large the logits are."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
