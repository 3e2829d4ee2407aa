"""The configuration file: what options are where they are not given; seewhy config"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from search.cli.options import COLORS
from search.cli.output import echo, write_file
from search.cli.streams import note
from search.errors import InputError, quoted
from search.files import toml
from search.records.options import MODES, ListOptions, declared


@dataclass(frozen=True)
class Setting:
    """What a key of the file may be, in words and as a test; how it is read where it is typed."""

    may_be: str
    is_right: Callable[[Any], bool]
    read: Callable[[str], Any] = str


def _text(may_be: str) -> Setting:
    return Setting(may_be, lambda value: isinstance(value, str) and value.strip() != "")


def _count(least: int) -> Setting:
    return Setting(
        f"a whole number, at least {least}", lambda value: type(value) is int and value >= least, _number
    )


def _one_of(values: tuple[str, ...]) -> Setting:
    return Setting("one of " + ", ".join(values), lambda value: isinstance(value, str) and value in values)


def _number(typed: str) -> int | str:
    return int(typed) if typed.isdecimal() and len(typed) < 10 else typed


def _yes_or_no(typed: str) -> bool | str:
    return {"true": True, "false": False}.get(typed.lower(), typed)


_SWITCH = Setting("true or false", lambda value: isinstance(value, bool), _yes_or_no)

SETTINGS: dict[str, Setting] = {
    "index": _text("the name or path of an index"),
    **{name: _count(int(option.ge or 0)) for name, (_, option) in declared(ListOptions).items()},
    "mode": _one_of(MODES),
    "update": _SWITCH,
    "no_server": _SWITCH,
    "color": _one_of(COLORS),
    "offline": _SWITCH,
    "model": _text("the name or folder of a model, for new indexes"),
}
# The commands for which all of it counts, but for the model. To others an index or k is something else, such as where
# to keep an index, which one to remove, how many words fill a gap.
_ASKING = (
    "query", "search", "similar", "duplicates", "explain", "contrast", "why-not", "status", "check",
)  # fmt: skip
_EVERYWHERE = ("color", "offline")


def place() -> Path:
    """The file: `$SEEWHY_CONFIG`, or the platform's place."""
    chosen = os.environ.get("SEEWHY_CONFIG")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_config_path

    return user_config_path("seewhy", appauthor=False) / "config.toml"


def settings() -> dict[str, Any]:
    """What the file says; {} where there is none.

    Raises:
        InputError: it cannot be read, or says what it may not; the message names the file, the key and the way out.
    """
    file = place()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the configuration in '{file}' cannot be read: {error}. Mend it, or delete it."
        ) from None
    found = toml(text, f"the configuration in '{file}'")
    for key, value in found.items():
        _require(key, value, f"the configuration in '{file}'", f"seewhy config --unset {quoted(key)}")
    return found


def model_for_new_indexes() -> str | None:
    return settings().get("model")


def defaults(command: str) -> dict[str, Any]:
    """The defaults of a command's options, as typer takes them."""
    found = settings()
    if command not in _ASKING:
        return {name: found[name] for name in _EVERYWHERE if name in found}
    index = found.pop("index", None)
    return found | ({"index": [index]} if index and not os.environ.get("SEEWHY_INDEX") else {})


def _require(key: str, value: Any, where: str, way_out: str) -> None:
    if key not in SETTINGS:
        raise InputError(
            f"{where} has '{key}', which there is not; there are {', '.join(SETTINGS)}. {_try(way_out)}"
        )
    if not SETTINGS[key].is_right(value):
        raise InputError(
            f"{where} has {key} = {value!r:.80}, but it is {SETTINGS[key].may_be}. {_try(way_out)}"
        )


def _try(way_out: str) -> str:
    return f"Try: {way_out}" if way_out else ""


def config(
    key: Annotated[str | None, typer.Argument(help="What to set: " + ", ".join(SETTINGS) + ".")] = None,
    value: Annotated[str | None, typer.Argument(help="What it is from now on.")] = None,
    unset: Annotated[str | None, typer.Option(metavar="KEY", help="Forget what a key is set to.")] = None,
) -> None:
    """Show or set what options are where they are not given.

    With KEY and VALUE, or --unset KEY, the file is changed; else it is shown. An option that is given always counts.
    """
    file = place()
    if unset and not key:
        _change(file, lambda document: document.pop(unset, None))
    elif key and value is not None and not unset:
        read = SETTINGS[key].read(value) if key in SETTINGS else value
        _require(key, read, "what you typed", "seewhy config -h")
        _change(file, lambda document: document.update({key: read}))
    elif key is not None or unset:
        raise typer.BadParameter("name a key and its value, or --unset and a key.")
    else:
        note(f"{file}{'' if file.is_file() else '  (not there yet)'}")
        echo("\n".join(f"{name} = {_shown(one)}" for name, one in settings().items()))


def _shown(value: Any) -> str:
    import tomlkit

    return tomlkit.item(value).as_string()


def _change(file: Path, change: Callable[[Any], Any]) -> None:
    """Change the file and leave all else in it as it stands, comments too."""
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        document = (
            tomlkit.parse(file.read_text(encoding="utf-8-sig")) if file.is_file() else tomlkit.document()
        )
    except (ParseError, UnicodeDecodeError) as error:
        raise InputError(f"'{file}' is no TOML: {error}. Mend it, or delete it.") from None
    change(document)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, tomlkit.dumps(document))
