"""The steps of the protocol, numbered, and a fault before or after one of them.

Steps are what reaches the disk or the database by a call that Python makes: beginning and ending a transaction
(and, where asked for, each statement that changes something), forcing a file to disk, renaming, deleting,
making a folder, writing a whole file, writing a FAISS file. shim.c goes below that, to the calls that
SQLite and FAISS make of the operating system.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

# Number from 1; "before" or "after"; name; path where the real error would have one, else "".
Fault = Callable[[int, str, str, str], None]

_TRANSACTION = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "END"})
_CHANGING = frozenset({"INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "REPLACE"})


class Steps:
    """Counts the steps of the main thread below one folder, and lets a fault happen at them.

    Args:
        under: the folder of the index.
        fault: called before and after every step; may raise, or end the process.
        statements: count every statement that changes the database, not only whole transactions.

    Attributes:
        names: of the steps so far.
    """

    def __init__(self, under: Path, fault: Fault, *, statements: bool = False) -> None:
        self.under, self.fault, self.statements = str(under), fault, statements
        self.names: list[str] = []
        self._thread = threading.get_ident()

    def _step(self, name: str, path: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if threading.get_ident() != self._thread:
            return call(*args, **options)
        self.names.append(name)
        number = len(self.names)
        self.fault(number, "before", name, path)
        result = call(*args, **options)
        self.fault(number, "after", name, path)
        return result

    def _is_counted(self, sql: str) -> bool:
        if "sqlite_utils_" in sql:  # a savepoint within a transaction, by which nothing reaches the disk
            return False
        verb = sql.lstrip().split(None, 1)[0].upper().rstrip(";")
        return verb in _TRANSACTION or (self.statements and verb in _CHANGING)

    def _connection(self) -> type[sqlite3.Connection]:
        steps = self

        class CountingConnection(sqlite3.Connection):
            def execute(self, sql: str, *args: Any) -> Any:
                if steps._is_counted(sql):
                    return steps._step(
                        f"SQL {' '.join(sql.split())[:40]}", "", super().execute, sql, *args
                    )
                return super().execute(sql, *args)

            def executemany(self, sql: str, *args: Any) -> Any:
                if steps._is_counted(sql):
                    return steps._step(
                        f"SQL {' '.join(sql.split())[:40]}", "", super().executemany, sql, *args
                    )
                return super().executemany(sql, *args)

        return CountingConnection

    def _of_path(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def call_and_count(path: Any, *args: Any, **options: Any) -> Any:
            if str(path).startswith(self.under):
                if name == "open" and not _writes(*args, **options):
                    return call(path, *args, **options)
                short = str(path)[len(self.under) + 1 :]
                error_path = "" if name == "write" else str(path)
                return self._step(f"{name} {short}", error_path, call, path, *args, **options)
            return call(path, *args, **options)

        return call_and_count

    @contextmanager
    def patched(self) -> Iterator[Steps]:
        """Count the steps of everything that happens inside."""
        import faiss

        connect, fsync, write, unlink = sqlite3.connect, os.fsync, faiss.write_index, os.unlink

        def counted_connect(*args: Any, **options: Any) -> sqlite3.Connection:
            return connect(*args, **{"factory": self._connection(), **options})

        def counted_write(index: Any, target: Any, *args: Any) -> None:
            self._of_path("write", lambda path: write(index, path, *args))(target)

        def counted_unlink(name: Any, *, dir_fd: int | None = None) -> None:
            if dir_fd is None:  # by Path.unlink, which is counted
                return unlink(name)
            index = Path(self.under)
            folders = [place for place in (index, index / "ann", index / "tmp") if place.exists()]
            folder = next(place for place in folders if os.path.samestat(os.fstat(dir_fd), place.stat()))
            return self._of_path("delete", lambda _: unlink(name, dir_fd=dir_fd))(folder / name)

        with ExitStack() as stack:
            patch = stack.enter_context
            patch(mock.patch("sqlite3.connect", counted_connect))
            patch(mock.patch("os.fsync", lambda file: self._step("fsync", "", fsync, file)))
            patch(mock.patch("faiss.write_index", counted_write))
            patch(mock.patch("os.unlink", counted_unlink))
            for name, method in _METHODS.items():
                patch(mock.patch.object(Path, method, self._of_path(name, getattr(Path, method))))
            yield self


_METHODS = {
    "rename": "replace",
    "delete": "unlink",
    "make folder": "mkdir",
    "delete folder": "rmdir",
    "open": "open",
}


def _writes(mode: str = "r", *args: Any, **options: Any) -> bool:
    return not mode.startswith("r") or "+" in mode


def die_at(step: int, timing: str) -> Fault:
    """Kill this process before or after step number `step`. Nothing of Python runs after that."""

    def fault(number: int, moment: str, name: str, path: str) -> None:
        if moment == timing and number == step:
            # On Windows, which has no SIGKILL, os.kill ends a process just as abruptly.
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    return fault


def fail_at(step: int, errno: int) -> Fault:
    """Let step number `step` fail as the operating system or SQLite would, once."""

    def fault(number: int, moment: str, name: str, path: str) -> None:
        if (number, moment) != (step, "before"):
            return
        if name.startswith("SQL"):
            from errno import ENOSPC

            full = errno == ENOSPC
            raise sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
        raise OSError(errno, os.strerror(errno), path or None)

    return fault


def nothing(number: int, moment: str, name: str, path: str) -> None:
    """No fault: only count."""
