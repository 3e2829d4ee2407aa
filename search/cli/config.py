"""seewhy config, and the configuration file with the default values of options"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from search.cli.output import COLORS, echo, note, write_file
from search.errors import InputError, quoted
from search.files import toml
from search.records.option_tools import declared
from search.records.options import MODES, ListOptions

_CHOICES = {"mode": MODES, "color": COLORS}
_MINIMUM = {name: int(option.ge or 0) for name, (_, option) in declared(ListOptions).items()}
_SWITCHES = ("update", "offline")
_SWITCHED = {"true": True, "on": True, "false": False, "off": False}
SETTINGS = (*_MINIMUM, "mode", "update", "color", "offline", "model")
# Commands that take every setting but the model. In other commands k means something else.
_SEARCH_COMMANDS = (
    "query", "search", "similar", "duplicates", "explain", "contrast", "why-not", "status", "check",
)  # fmt: skip
_EVERYWHERE = ("color", "offline")


def place() -> Path:
    """Return the path of the configuration file: `$SEEWHY_CONFIG`, or the platform's default."""
    if chosen := os.environ.get("SEEWHY_CONFIG"):
        return Path(chosen).expanduser()
    from platformdirs import user_config_path

    return user_config_path("seewhy", appauthor=False) / "config.toml"


def settings() -> dict[str, Any]:
    """Return the settings in the configuration file; {} if it does not exist.

    Raises:
        InputError: the file cannot be read, or has an invalid setting; the message names file, key and remedy.
    """
    file = place()
    values = toml(_text(file), f"the configuration in '{file}'")
    for key, value in values.items():
        _require(key, value, f" in '{file}'", f"seewhy config --unset {quoted(key)}")
    return values


def model_for_new_indexes() -> str | None:
    return settings().get("model")


def defaults(command: str) -> dict[str, Any]:
    """Return the configured default values of a command's options, by option name."""
    values = settings()
    if command not in _SEARCH_COMMANDS:
        return {name: values[name] for name in _EVERYWHERE if name in values}
    return values


def config(
    key: Annotated[str | None, typer.Argument(help="Setting: " + ", ".join(SETTINGS) + ".")] = None,
    value: Annotated[str | None, typer.Argument(help="New value.")] = None,
    unset: Annotated[str | None, typer.Option(metavar="KEY", help="Remove this setting.")] = None,
) -> None:
    """Show or set the default values of options.

    Without arguments, prints the path of the configuration file and its settings. Options on the
    command line take precedence.
    """
    file = place()
    if unset and not key:
        _change(file, unset, None)
    elif key and value is not None and not unset:
        read = _read(key, value)
        _require(key, read, "", "seewhy config -h")
        _change(file, key, read)
    elif key is not None or unset:
        raise typer.BadParameter("give KEY and VALUE, or --unset KEY.")
    else:
        note(f"{file}{'' if file.is_file() else '  (does not exist yet)'}")
        echo("\n".join(f"{name} = {json.dumps(setting)}" for name, setting in settings().items()))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read the settings in '{file}': {error}. Correct or delete the file."
        ) from None


def _read(key: str, typed: str) -> Any:
    if key in _MINIMUM and typed.isdecimal() and len(typed) < 10:
        return int(typed)
    return _SWITCHED.get(typed.lower(), typed) if key in _SWITCHES else typed


def _require(key: str, value: Any, where: str, remedy: str) -> None:
    """Check the name and the value of a setting.

    Args:
        where: file of the setting, for the message, as in " in 'config.toml'"; or "".
        remedy: command for the message to suggest.

    Raises:
        InputError: the setting is unknown, or its value is invalid.
    """
    if key not in SETTINGS:
        raise InputError(f"unknown setting '{key}'{where}. Choose from: {', '.join(SETTINGS)}.")
    if key in _SWITCHES:
        valid, form = isinstance(value, bool), "true or false"
    elif key in _MINIMUM:
        valid, form = (
            type(value) is int and value >= _MINIMUM[key],
            f"a whole number of at least {_MINIMUM[key]}",
        )
    elif key in _CHOICES:
        valid, form = value in _CHOICES[key], "one of " + ", ".join(_CHOICES[key])
    else:
        valid, form = isinstance(value, str) and bool(value.strip()), "a name or a path"
    if not valid:
        raise InputError(f"{key} is {value!r:.80}{where}; it must be {form}. Try: {remedy}")


def _change(file: Path, key: str, value: Any) -> None:
    """Set a key, or remove it if the value is None; all other lines and comments of the file stay."""
    lines = [line for line in _text(file).splitlines() if line.partition("=")[0].strip(" \"'") != key]
    if value is not None:
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, "".join(f"{line}\n" for line in lines))
