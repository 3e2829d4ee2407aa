"""Plugins: parts of the package that the core works without.

A plugin adds commands, pages and tasks of `seewhy eval` by one table, its `Plugin`. The core never imports the
modules of a plugin: it reads the table, and imports what the table names when somebody uses it. Without the folder
of a plugin, its additions are missing and everything else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_NAMES = ("search.lab",)  # each has a module `plugin` with a `PLUGIN`


@dataclass(frozen=True)
class Plugin:
    """Table of what a plugin adds. A function is named "package.module:function", and imported on first use.

    Attributes:
        panel: heading of its commands in the help of `seewhy`.
        groups: command group ("lab label") -> its help.
        commands: command ("lab label train") -> its function, and the first sentence of its help.
        tasks: task of `seewhy eval` -> function with the keywords model, offline and progress.
        router: module whose `router` serves its pages and requests; "" for none.
        pages: address -> title, for the menu of pages about models.
        assets: package with its templates, scripts and styles; "" for none.
        json_keys: record class -> keys of derived values, which follow the fields in JSON.
        json_left_out: record class -> fields that its JSON does not repeat.
    """

    panel: str
    groups: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    router: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)
    assets: str = ""
    json_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    json_left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return the table of each plugin that is installed."""
    return tuple(import_module(f"{name}.plugin").PLUGIN for name in _NAMES if find_spec(name))


def function(name: str) -> Callable[..., Any]:
    """Import a function that a table names."""
    module, _, attribute = name.partition(":")
    value: Callable[..., Any] = getattr(import_module(module), attribute)
    return value
