"""The folder beside the result where a training keeps its checkpoints, so that it can go on after it was stopped.

`.NAME.training/` holds `plan.json` (what the training is of), `checkpoint-STEP/`, and at the end `result/`, which is
moved into place whole. It is deleted then. Without a whole checkpoint it holds nothing that would be lost, and a
new training takes its place. A lock of the operating system, `.NAME.training.lock`, keeps a second one out.
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
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            what = "is not empty" if self.out.is_dir() else "is a file"
            raise InputError(
                f"'{out}' {what}, and nothing is overwritten. Name a folder that is not there yet."
            )
        if not self.out.parent.is_dir():
            raise InputError(
                f"'{out}' cannot be made: there is no folder '{self.out.parent}'. Make it first."
            )
        self.path = self.out.parent / f".{self.out.name}.training"

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
        try:
            yield
        finally:
            lock.release()
            with suppress(OSError):  # left behind it does no harm
                place.unlink()

    def begin(self, plan: Mapping[str, Any], *, resume: bool, restart: bool) -> int:
        """Make the folder, or go on in it.

        Args:
            plan: what decides about the result, JSON-compatible.
            resume: go on with what is there; restart: throw it away.

        Returns:
            The step of the last whole checkpoint, 0 for none.

        Raises:
            InputError: there is an unfinished training and neither is asked for, there is none to resume, or its plan
                differs.
        """
        there = bool(self._checkpoints())
        if self.path.is_dir() and (restart or not there):
            shutil.rmtree(self.path)
            there = False
        if resume and not there:
            raise InputError(
                f"there is no checkpoint of an unfinished training of '{self.out}'. Leave --resume out."
            )
        if there and not resume:
            raise InputError(
                f"an unfinished training lies in {quoted(self.path)}. "
                "Go on with it: --resume. Throw it away: --restart"
            )
        if resume:
            self._require_same(plan)
            self._drop_unfinished()
        else:
            self.path.mkdir()
            part = self.path / f"{_PLAN}.part"
            part.write_text(json.dumps(plan, indent=2), encoding="utf-8")
            part.replace(self.path / _PLAN)
        return max(self._checkpoints(), default=0)

    def checkpoint(self, step: int) -> Path:
        return self.path / f"checkpoint-{step}"

    @property
    def result(self) -> Path:
        """An empty place for the result."""
        place = self.path / _RESULT
        if place.exists():
            shutil.rmtree(place)
        return place

    def finish(self) -> None:
        """Move the result into place and delete the rest."""
        if self.out.is_dir():
            self.out.rmdir()  # it is empty
        (self.path / _RESULT).replace(self.out)
        shutil.rmtree(self.path, ignore_errors=True)

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

    def _checkpoints(self) -> list[int]:
        """Steps of the checkpoints that are whole: the trainer writes its state last."""
        found = []
        for place in self.path.glob("checkpoint-*"):
            match = _CHECKPOINT.fullmatch(place.name)
            if match and _is_json(place / "trainer_state.json"):
                found.append(int(match[1]))
        return found

    def _drop_unfinished(self) -> None:
        whole = set(self._checkpoints())
        for place in self.path.glob("checkpoint-*"):
            match = _CHECKPOINT.fullmatch(place.name)
            if match and int(match[1]) not in whole:
                shutil.rmtree(place)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
