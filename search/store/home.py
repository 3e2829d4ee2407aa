"""Indexes in the user's data folder, and the commands that messages suggest for an index."""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError, quoted
from search.files import home
from search.store.namespaces import MARK, name_of_namespace, outer_index
from search.store.settings import Folders


def is_own(index: Path) -> bool:
    """Return True if an index, or the one of a namespace, is under `home()`; only this user creates indexes there."""
    return outer_index(index.resolve()).parent == (home() / "indexes").resolve()


def short_name(index: Path) -> str:
    """Return the name of an index under `home()`, such as "tickets", or "tickets@acme" for a namespace."""
    outer = outer_index(index)
    return index.name if outer == index else f"{outer.name}{MARK}{name_of_namespace(index)}"


def require_own_server(index: Path, remedy: str) -> None:
    """Raise InputError for an index with a server that another user may have chosen; tokens are never sent there.

    Args:
        remedy: what to do if the user trusts the server, for the message.
    """
    if not is_own(index):
        raise InputError(
            f"the index in '{index}' was not created in your data folder, and its passages are on a server. If you "
            f"trust the server, {remedy}"
        )


def typed_name(index: Path) -> str:
    """Return what selects an index: its name if it is under `home()`, else its path; "tickets@acme" for a namespace."""
    if is_own(index):
        return short_name(index)
    outer = outer_index(index)
    return str(index) if outer == index else f"{outer}{MARK}{name_of_namespace(index)}"


def index_option(index: Path) -> str:
    """Return the option that selects an index; see `typed_name`."""
    return f"--index {quoted(typed_name(index))}"


def index_command(index: Path, folders: Folders | None, *, rebuild: bool = False) -> str:
    """Return the command that updates the index of a folder, or builds it again.

    Args:
        folders: the folders that the index names; None if they cannot be read. The folders of an index that somebody
            else may have made are not suggested: the command would copy the texts in them to where that person reads.
    """
    typed = folders.typed if folders and is_own(index) else ""
    return f"seewhy index {typed or 'FOLDER'} {index_option(index)}" + (" --rebuild" if rebuild else "")


def rebuild_command(index: Path) -> str:
    """Return the command that rebuilds an index of documents from memory from its own documents."""
    return f"seewhy upsert {index_option(index)} --rebuild"


def export_command(index: Path) -> str:
    """Return the command that writes the documents of an index to a file."""
    return f"seewhy export {index_option(index)} > FILE.jsonl"


def check_command(index: Path) -> str:
    """Return the command that checks an index."""
    return f"seewhy check {index_option(index)}"
