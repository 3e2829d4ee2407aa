"""What is recorded of a checkpoint that annotated an index, so that what two of them said is never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.errors import quoted
from search.store.annotations import CALLED

if TYPE_CHECKING:
    from search.bert.heads import Head


def of_checkpoint(head: Head) -> dict[str, Any]:
    """Its weights, tokenizer, computation and classes; its name is only for people."""
    return {
        CALLED: head.name,
        "weights": head.files.weights_sha256,
        "tokenizer": head.files.tokenizer_sha256,
        "config": head.files.config_sha256,
        "classes": list(head.labels),
    }


def from_anywhere(model: str) -> str:
    """A model as it is written in a command that may be run in another folder."""
    folder = Path(model).expanduser()
    return quoted(folder.resolve()) if (folder / "config.json").is_file() else quoted(model)
