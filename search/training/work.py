"""The folder beside the result where a training keeps its checkpoints, so that it can go on after it was stopped.

`.NAME.training/` holds `plan.json` (what the training is of), the trainer's `checkpoint-STEP/`, and at the end
`result/`, which is moved into place whole. It is deleted then. Without a whole checkpoint it holds nothing that would
be lost, and a new training takes its place. A lock of the operating system, `.NAME.training.lock`, keeps a second one
out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from search.errors import InputError, quoted

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_PLAN, _RESULT = "plan.json", "result"


class WorkFolder:
    """
    Args:
        out: where the result goes: a folder that is not there, or is empty.

    Raises:
        InputError: there is something there, or its parent is missing.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = Path(os.path.abspath(Path(out).expanduser()))  # noqa: PTH100 (resolve() would follow links)
        if not self.out.name:
            raise InputError(f"'{out}' cannot hold a model. Name a folder that is not there yet.")
        self._require_free()
        if not self.out.parent.is_dir():
            raise InputError(
                f"'{out}' cannot be made: there is no folder '{self.out.parent}'. Make it first."
            )
        if not os.access(self.out.parent, os.W_OK | os.X_OK):
            raise InputError(
                f"'{out}' cannot be made: nothing may be written to '{self.out.parent}'. Name another folder."
            )
        self.path = self.out.parent / f".{self.out.name}.training"
        self.result = self.path / _RESULT

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from training into the same folder.

        Raises:
            InputError: one does.
        """
        from filelock import FileLock, Timeout

        place = self.path.with_name(f"{self.path.name}.lock")
        lock = FileLock(place, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"another process is training into '{self.out}'. Wait for it, or name another folder."
            ) from None
        except OSError as error:
            raise InputError(
                f"nothing can be written beside '{self.out}' ({error.strerror or error}). Name another folder."
            ) from None
        try:
            yield
        finally:
            lock.release()
            with suppress(OSError):  # left behind it does no harm
                place.unlink()

    def begin(self, plan: Mapping[str, Any], *, resume: bool, restart: bool) -> Path | None:
        """Make the folder, or go on in it.

        Args:
            plan: what decides about the result, JSON-compatible.
            resume: go on with what is there; restart: throw it away.

        Returns:
            The last whole checkpoint, if it goes on.

        Raises:
            InputError: there is an unfinished training and neither is asked for, there is none to resume, or its plan
                differs; something else is in the place of the folder, or by now in that of the result.
        """
        self._require_free()
        checkpoint = self.checkpoint()
        if resume and checkpoint is None:
            raise InputError(
                f"there is no checkpoint of an unfinished training of '{self.out}'. Leave --resume out."
            )
        if checkpoint and not resume and not restart:
            raise InputError(
                f"an unfinished training lies in {quoted(self.path)}. "
                "Go on with it: --resume. Throw it away: --restart"
            )
        if resume:
            self._require_same(plan)
            shutil.rmtree(self.result, ignore_errors=True)
            return checkpoint
        self._clear()
        self.path.mkdir()
        (self.path / _PLAN).write_text(json.dumps(plan, indent=2), encoding="utf-8")
        return None

    def checkpoint(self) -> Path | None:
        """The last checkpoint that is whole: the trainer writes its state last."""
        whole = {}
        for place in self.path.glob("checkpoint-*"):
            match = _CHECKPOINT.fullmatch(place.name)
            with suppress(OSError, ValueError):
                json.loads((place / "trainer_state.json").read_text(encoding="utf-8"))
                if match:
                    whole[int(match[1])] = place
        return whole[max(whole)] if whole else None

    def finish(self) -> None:
        """Move the result into place and delete the rest.

        Raises:
            InputError: something has come to be there since the start; the result stays where it is.
        """
        try:
            if self.out.is_dir() and not self.out.is_symlink():
                self.out.rmdir()  # refused unless it is empty
            self.result.replace(self.out)
        except OSError as error:
            raise InputError(
                f"the training is done, but its result cannot be moved to '{self.out}' "
                f"({error.strerror or error}). It lies in {quoted(self.result)}: move it where it shall be, "
                f"then delete {quoted(self.path)}."
            ) from None
        shutil.rmtree(self.path, ignore_errors=True)

    def _require_free(self) -> None:
        if self.out.is_symlink():
            what = "is a link"
        elif not self.out.exists():
            return
        elif not self.out.is_dir():
            what = "is a file"
        elif any(self.out.iterdir()):
            what = "is not empty"
        else:
            return
        raise InputError(
            f"'{self.out}' {what}, and nothing is overwritten. Name a folder that is not there yet."
        )

    def _clear(self) -> None:
        """Delete what an earlier training left. What is none stays."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        is_folder = self.path.is_dir() and not self.path.is_symlink()
        if not is_folder or not ((self.path / _PLAN).is_file() or not any(self.path.iterdir())):
            raise InputError(
                f"{quoted(self.path)} is in the way, and no training left it. Move it, or name another folder."
            )
        shutil.rmtree(self.path)

    def _require_same(self, plan: Mapping[str, Any]) -> None:
        try:
            earlier = json.loads((self.path / _PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(f"{self.path / _PLAN} cannot be read. Begin anew: --restart") from None
        now = json.loads(json.dumps(plan))
        differing = [name for name in sorted({*earlier, *now}) if earlier.get(name) != now.get(name)]
        if differing:
            told = "; ".join(f"{name} was {earlier.get(name)} and is {now.get(name)}" for name in differing)
            raise InputError(
                f"the unfinished training is another one ({told}). "
                "Go on with the same settings and data, or begin anew: --restart"
            )
