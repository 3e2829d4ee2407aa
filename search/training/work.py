"""The folder beside the result where a training keeps its checkpoints, so that it can go on after it was stopped.

`.NAME.training/` holds `plan.json` (what the training is of), the trainer's `checkpoint-STEP/`, and at the end
`result/`, which is moved into place whole. It is deleted then.
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
    """The folder of one training, which is there while it runs or is unfinished.

    Args:
        out: where the result goes: a folder that is not there, or is empty.

    Raises:
        InputError: there is something there, or its parent is missing.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = Path(os.path.abspath(Path(out).expanduser()))  # noqa: PTH100 (resolve() would follow links)
        if not self.out.name:
            raise InputError(f"'{out}' cannot hold a model. Name a folder that is not there yet.")
        is_free = not self.out.exists() or (self.out.is_dir() and not any(self.out.iterdir()))
        if not is_free or self.out.is_symlink():
            raise InputError(
                f"there is something at '{self.out}', and nothing is overwritten. Name a folder that is not there yet."
            )
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
    def held(self, plan: Mapping[str, Any], resume: bool) -> Iterator[Path | None]:
        """Have the folder while a training is in it; what failed before its first checkpoint leaves none.

        Args:
            plan: what decides about the result, JSON-compatible.
            resume: go on with what is there, if anything is.

        Yields:
            The last whole checkpoint, if it goes on from one.

        Raises:
            InputError: there is an unfinished training that it shall not go on with, or that has another plan.
        """
        try:
            self.path.mkdir()
        except FileExistsError:
            if not resume:
                raise InputError(
                    f"an unfinished training lies in {quoted(self.path)}. "
                    "Go on with it: --resume. Or delete that folder, and begin anew."
                ) from None
            self._require_same(plan)
        else:
            (self.path / _PLAN).write_text(json.dumps(plan, indent=2), encoding="utf-8")
        shutil.rmtree(self.result, ignore_errors=True)
        try:
            yield self._checkpoint()
        finally:
            if not self.result.exists() and self._checkpoint() is None:
                shutil.rmtree(self.path, ignore_errors=True)

    def _checkpoint(self) -> Path | None:
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

    def _require_same(self, plan: Mapping[str, Any]) -> None:
        try:
            if self.path.is_symlink():
                raise OSError("a link")
            earlier = json.loads((self.path / _PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(
                f"{quoted(self.path)} is in the way: its {_PLAN} cannot be read. Move it, or name another folder."
            ) from None
        now = json.loads(json.dumps(plan))
        differing = [name for name in sorted({*earlier, *now}) if earlier.get(name) != now.get(name)]
        if differing:
            told = "; ".join(f"{name} was {earlier.get(name)} and is {now.get(name)}" for name in differing)
            raise InputError(
                f"the unfinished training is another one ({told}). "
                f"Go on with the same settings and data, or delete {quoted(self.path)} and begin anew."
            )
