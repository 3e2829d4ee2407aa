"""Embeddings that a program gives to an index, as tuples of float32 numbers.

They are kept as they come; the index scales them to length 1.
"""

from __future__ import annotations

import base64
from numbers import Real
from typing import TYPE_CHECKING, Any

from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def is_embedding(value: Any) -> bool:
    """Return True for a list or array of numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(number, Real) and not isinstance(number, bool) for number in value)


def own_embedding(value: ArrayLike, owner: str) -> tuple[float, ...]:
    """Return an embedding as float32 numbers.

    Args:
        owner: what it is the embedding of, for a message.

    Raises:
        InputError: it is not a list of finite numbers, or all of them are 0.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # infinite numbers are refused below
            numbers = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0, dtype=np.float32)
    if numbers.ndim != 1 or not numbers.size:
        raise InputError(f"the vector of {owner} is not a list of numbers.")
    if not np.isfinite(numbers).all() or not numbers.any():
        raise InputError(f"the vector of {owner} is zero, or has a number that is not finite.")
    return tuple(numbers.tolist())


def as_unit(vector: tuple[float, ...]) -> bytes:
    """Return an embedding as the index stores it: scaled to length 1, little-endian float32."""
    import numpy as np

    wide = np.array(vector, dtype=np.float64)
    wide /= np.abs(wide).max()  # so that no square is infinite, or zero
    return (wide / np.linalg.norm(wide)).astype("<f4").tobytes()


def encoded(vector: Any) -> str:
    """Return an embedding as Base64 of little-endian float32."""
    import numpy as np

    return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode("ascii")


def decoded(text: str) -> tuple[float, ...]:
    """Return the embedding that `encoded` has written.

    Raises:
        ValueError: it is not one.
    """
    import numpy as np

    return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").tolist())
