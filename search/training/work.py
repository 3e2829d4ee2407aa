"""The folder beside the result where a training keeps its checkpoints, so that it can go on after it was stopped.

`.NAME.training/` holds `plan.json` (data and settings), the trainer's `checkpoint-STEP/`, and at the end `result/`,
which is moved into place whole.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from search.errors import InputError, quoted


class WorkFolder:
    """The folder of one training, which is there while it runs or is unfinished.

    Args:
        out: where the result goes: a folder that is not there, or is empty.

    Raises:
        InputError: there is something there, or its parent is missing.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out).expanduser().absolute()
        if self.out.is_symlink() or (
            self.out.exists() and not (self.out.is_dir() and not any(self.out.iterdir()))
        ):
            raise InputError(
                f"there is something at '{self.out}', and nothing is overwritten. Name a folder that is not there yet."
            )
        if not self.out.parent.is_dir():
            raise InputError(
                f"'{out}' cannot be made: there is no folder '{self.out.parent}'. Make it first."
            )
        self.path = self.out.parent / f".{self.out.name}.training"
        self.result = self.path / "result"

    @contextmanager
    def held(self, plan: Mapping[str, Any], resume: bool) -> Iterator[Path | None]:
        """Have the folder while a training is in it; one that failed before its first checkpoint is deleted.

        Args:
            plan: what decides about the result, JSON-compatible.
            resume: go on with what is there, if anything is.

        Yields:
            The last whole checkpoint, if it goes on from one.

        Raises:
            InputError: there is an unfinished training that it shall not go on with, or that has another plan.
        """
        written = json.dumps(plan, indent=2)
        try:
            self.path.mkdir()
        except FileExistsError:
            if not resume:
                raise InputError(
                    f"an unfinished training lies in {quoted(self.path)}. "
                    "Go on with it: --resume. Or delete that folder, and begin anew."
                ) from None
            self._require_same(json.loads(written))
        else:
            (self.path / "plan.json").write_text(written, encoding="utf-8")
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
            with suppress(OSError, ValueError):
                json.loads((place / "trainer_state.json").read_text(encoding="utf-8"))
                whole[int(place.name.removeprefix("checkpoint-"))] = place
        return whole[max(whole)] if whole else None

    def finish(self) -> None:
        """Move the result into place and delete the rest.

        Raises:
            InputError: something has come to be there since the start; the result stays where it is.
        """
        try:
            if self.out.is_dir():
                self.out.rmdir()  # refused unless it is empty
            self.result.replace(self.out)
        except OSError as error:
            raise InputError(
                f"the training is done, but its result cannot be moved to '{self.out}' ({error.strerror}). It lies in "
                f"{quoted(self.result)}: move it where it shall be, then delete {quoted(self.path)}."
            ) from None
        shutil.rmtree(self.path, ignore_errors=True)

    def _require_same(self, plan: Mapping[str, Any]) -> None:
        try:
            if self.path.is_symlink():
                raise OSError("a link")
            earlier = json.loads((self.path / "plan.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(
                f"{quoted(self.path)} is in the way: its plan.json cannot be read. Move it, or name another folder."
            ) from None
        names = sorted({*earlier, *plan})
        changed = [
            f"{name} was {earlier.get(name)} and is {plan.get(name)}"
            for name in names
            if earlier.get(name) != plan.get(name)
        ]
        if changed:
            raise InputError(
                f"the unfinished training is another one ({'; '.join(changed)}). "
                f"Go on with the same settings and data, or delete {quoted(self.path)} and begin anew."
            )
