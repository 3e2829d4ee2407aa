"""Whole tensors as files of NumPy: `--save FILE.npz`, all of them by name, or `FILE.npy`, the one that counts most."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from search.cli.output import check_writable, output_option, write_file
from search.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

SaveOption = Annotated[
    Path | None,
    output_option(
        "--save",
        metavar="FILE",
        help="Write whole tensors instead: .npz all of them by name, .npy the main one.",
    ),
]


def check_savable(path: Path | None) -> None:
    """
    Raises:
        InputError: nothing can be written to it, or its name ends otherwise.
    """
    if path and path.suffix not in (".npy", ".npz"):
        raise InputError(
            f"'{path}' is no name of a file of NumPy. End it with .npz, or with .npy for one array."
        )
    check_writable(path)


def save(path: Path, arrays: Mapping[str, NDArray[np.generic]], main: str = "") -> str:
    """Write arrays, and say what was written.

    Args:
        main: the name of the one that a .npy file holds; "" if none of them is more than the others.

    Raises:
        InputError: a .npy file is asked for where there is no main one, or it cannot be written.
    """
    import numpy as np

    file = io.BytesIO()
    if path.suffix == ".npy":
        if not main:
            raise InputError(f"'{path}' holds one array, and there are {len(arrays)}. Save them as .npz.")
        np.save(file, arrays[main], allow_pickle=False)
        said = f"{main} {arrays[main].shape}"
    else:
        np.savez(file, allow_pickle=False, **arrays)
        said = f"{len(arrays)} arrays" if len(arrays) > 12 else ", ".join(arrays)
    write_file(path, file.getvalue())
    return f"wrote {path}: {said}"
