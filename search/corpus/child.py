"""The process in which files are taken apart. It reads a request, writes an answer, and so on.

A request is a line of JSON (kind, path, size) and then so many bytes: the file. An answer is its length in
eight bytes and then JSON. The process ends when nobody asks any more, also because the asking process died.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from search.corpus.files import Reason
from search.corpus.writing import Extracted
from search.errors import ReadError

LENGTH_BYTES = 8
_LONGEST_DETAIL = 200

# kind -> what takes such files apart, for those that are not in a module of that name.
EXTRACTORS: dict[str, Callable[[str, bytes], Extracted]] = {}


def main(memory: int) -> None:
    """Answer until the requests end.

    Args:
        memory: bytes of address space that this process may have, where the system can limit it.
    """
    _limit(memory)
    # Libraries may write to standard output, which must not end up in an answer.
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    requests = sys.stdin.buffer
    while line := requests.readline():
        request = json.loads(line)
        raw = requests.read(request["size"])
        reply = json.dumps(_answer(request["kind"], request["path"], raw), ensure_ascii=False)
        answer = reply.encode("utf-8", "replace")
        answers.write(len(answer).to_bytes(LENGTH_BYTES, "big"))
        answers.write(answer)
        answers.flush()


def _answer(kind: str, path: str, raw: bytes) -> dict[str, Any]:
    try:
        extract = EXTRACTORS.get(kind) or importlib.import_module(f"search.corpus.{kind}").extract
        return asdict(extract(path, raw))
    except ReadError as error:
        return {"reason": error.reason, "detail": error.detail}
    except MemoryError:
        return {"reason": Reason.OUT_OF_MEMORY, "detail": ""}
    except RecursionError:
        return {"reason": Reason.DAMAGED, "detail": "nested too deeply"}
    except Exception as error:  # libraries let errors of all kinds through, one file at a time
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        return {"reason": Reason.DAMAGED, "detail": detail[:_LONGEST_DETAIL]}


def _limit(memory: int) -> None:
    """Give up what this process does not need, so that a file cannot misuse it."""
    # Ctrl-C ends it at once, also in the middle of a library.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "win32":
        import ctypes

        no_error_windows = 0x0001 | 0x0002
        ctypes.windll.kernel32.SetErrorMode(no_error_windows)
        return
    import resource

    limits = [
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),  # no file is written; pipes are none
    ]
    for kind, most in limits:
        # macOS knows some of these and refuses them. The parent watches too.
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
