"""The ways to ask an index, as people write them: "dense", "hybrid,weight=0.7"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from search.errors import InputError
from search.records.evaluations import Setting

_TAKEN = ("self", "text", "k", "per_document")
_NUMBERS = ("weight", "reader_weight", "min_score", "diversity", "offset")
_SWITCHES = ("phrases", "group")


def settings_of(asked: Sequence[str | Setting], keywords: Mapping[str, Any]) -> tuple[Setting, ...]:
    """The settings that are meant, each once; the default one where nothing is asked for.

    Args:
        asked: a mode, and after commas further keywords of `Index.query` with their values.
        keywords: of `Index.query`, with their defaults.

    Raises:
        InputError: a keyword that there is not.

    Example:
        >>> settings_of(["dense,weight=0.5"], {"mode": "hybrid", "weight": 0.8})[0].options
        {'mode': 'dense', 'weight': 0.5}
    """
    known = {name: value for name, value in keywords.items() if name not in _TAKEN}
    found = [one if isinstance(one, Setting) else _parsed(one) for one in asked]
    for setting in found:
        for name in setting.options:
            if name not in known:
                raise InputError(
                    f"'{name}' in the setting '{setting.name}' is no keyword that counts here; "
                    f"there are: {', '.join(known) or 'none'}."
                )
            _check(setting, name, setting.options[name])
    if not found:
        found = [Setting(str(known["mode"]))]
    return tuple({setting.name: setting for setting in found}.values())


def _check(setting: Setting, name: str, value: Any) -> None:
    """Raise InputError for a value of another kind than the keyword takes; null is as if it were not there."""
    if value is None:
        return
    if name in _SWITCHES:
        fits, kind = isinstance(value, bool), "true or false"
    elif name in _NUMBERS:
        fits, kind = isinstance(value, (int, float)) and not isinstance(value, bool), "a number"
    else:
        fits, kind = isinstance(value, str), "a text"
    if not fits:
        raise InputError(f"'{name}' in the setting '{setting.name}' takes {kind}, not {value!r}.")


def _parsed(text: str) -> Setting:
    first, *others = (part.strip() for part in text.split(","))
    if not first or "=" in first:
        raise InputError(f"the setting '{text}' must begin with a mode: dense,weight=0.5 for instance.")
    options: dict[str, Any] = {"mode": first}
    for part in others:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise InputError(f"'{part}' in the setting '{text}' must be a keyword and its value: weight=0.5.")
        options[name.strip()] = _value(value.strip())
    return Setting(text, options)


def _value(text: str) -> Any:
    """A number, true, false or null as in JSON; anything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
