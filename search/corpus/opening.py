"""The bytes of a file that may be another thing by now than when the folder was listed.

Between the two, a file can become a pipe, which would never answer, a link that leads elsewhere, or grow
without end. So it is opened without waiting and without following a link, and no more is read than a
file may have.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 64 * 2**20

# Windows has neither; nor has it pipes and devices among its files.
_CAREFULLY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_AT_ONCE = 2**20


def regular_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file, of at most `max_bytes`.

    Raises:
        OSError: with `errno` ELOOP for a symbolic link, EINVAL for anything else that is no regular file,
            EFBIG for one that is too large, and whatever the system says.
    """
    with open(path, "rb", buffering=0, opener=_opened) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        parts, left, at_once = list[bytes](), max_bytes + 1, status.st_size + 1
        while left > 0 and (part := stream.read(min(left, at_once))):
            parts.append(part)
            left, at_once = left - len(part), _AT_ONCE
    if left <= 0:
        raise OSError(errno.EFBIG, f"More than {max_bytes:,} bytes", str(path))
    return b"".join(parts)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | _CAREFULLY)
