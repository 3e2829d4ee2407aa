"""Harness 5: any command with any arguments ends in exit code 0, 1, 2 or 130, soon, and never in a traceback.

The command line is run in this process, in a folder of its own: no value names anything outside of it.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from search.cli.app import commands, main
from tests.conftest import leaves
from tests.faults.defects import defect
from tests.faults.outcome import ENOUGH, Outcome

SECONDS = 20  # that a command may take on a busy machine
ODD = (
    "", " ", "-", "--", "---", "-1", "0", "1", "p1", "2.5", "nan", "NaN", "-inf", "1e999", "9" * 30, "9" * 5000,
    "x" * 100_000,
    "\x1b]0;owned\x07", "\x9b31m", "\u202egnp", os.fsdecode(b"ab\xff"), "\ud800", "\U0001f642\u200d\U0001f525",
    "a\nb\r\tc",
    "it's", '"', "$(true)", "%s{}[b]", "~nobody-here/x", "key", "keys.md", "keys.md:3", "table.csv#1",
    "p99999999999999999999",
    "path:*.md", "a=1 and (not", "kind=csv", "late", "mean:4", "no/such/file", "key^nan", "key^-1", "key\0",
)  # fmt: skip
_LETTERS = "abc key \x00\x1b\x9b\u202e\ud83d\U0001f642é=<>!&|'\"()*?[]{}:#^%$-_0123456789\n\t"
_LEFT_ALONE = {"watch", "device"}  # does not end; would ask for a GPU
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _TooLong(BaseException):
    """A command does not come to an end."""


def odd_arguments(
    place: Path, model: str, *, seed: int, runs: int, only: str = "", name: str = ""
) -> Outcome:
    """Run commands with arguments at random.

    Args:
        place: holds a folder of text, `notes`; commands run here and may write here.
        model: what commands read with that need one.
        only: this command, "" for any.
        name: of a defect to plant.
    """
    outcome = Outcome("odd arguments", seed)
    rng = Random(seed)
    wanted = [found for found in _commands() if only in ("", found[0][0])]
    with _here(place):
        code, printed, failure = run(["index", "notes", "--model", model])
    if code or failure:
        outcome.failures.append(f"the folder could not be indexed: {printed} {failure}")
        return outcome
    with _here(place), defect(name):
        for _ in range(runs):
            words, command = rng.choice(wanted)
            typed = [*words, *_typed(command, rng, model)]
            outcome.runs += 1
            code, printed, failure = run(typed)
            outcome.count(f"exit {code}")
            shown = [word if len(word) < 80 else f"{word[:10]}... ({len(word)})" for word in typed]
            if failure:
                outcome.failures.append(f"{shown}: {failure}")
            elif code not in (0, 1, 2, 130):
                outcome.failures.append(f"{shown}: exit code {code}")
            elif found := _ACTING.search(_COLOURS.sub("", printed) if "always" in typed else printed):
                outcome.failures.append(f"{shown}: {found.group()!r} is printed")
            if len(outcome.failures) >= ENOUGH:
                break
    return outcome


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, all that was printed, and the end of a traceback; "" for none."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, failure = 0, ""
    with (
        open(os.devnull, encoding="utf-8") as nothing,  # noqa: PTH123
        mock.patch.multiple(sys, argv=["seewhy", *arguments], stdin=nothing, stdout=out, stderr=err),
    ):
        _alarm(SECONDS)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except (Exception, _TooLong):
            failure = " | ".join(traceback.format_exc().splitlines()[-5:])
        finally:
            _alarm(0)
    printed = "".join(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return code, printed, failure


def _commands() -> Iterator[tuple[list[str], Any]]:
    for names, command in leaves(commands()):
        command.load()
        yield names, command


def _typed(command: Any, rng: Random, model: str) -> list[str]:
    """Arguments for a command: some options, and most of its arguments."""
    options = [p for p in command.params if p.param_type_name == "option" and p.name not in _LEFT_ALONE]
    typed: list[str] = []
    for param in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3)))):
        typed.append(rng.choice([*param.opts, *param.secondary_opts]))
        if not param.is_flag:
            typed.append(_value(rng))
    if any(p.name == "model" for p in options) and "--model" not in typed and command.name not in ("query",):
        typed += ["--model", model]
    if rng.random() < 0.2:
        typed.append("--")
    for param in command.params:
        if param.param_type_name == "argument" and rng.random() < 0.9:
            typed.append(_value(rng))
    return typed


def _value(rng: Random) -> str:
    if rng.random() < 0.8:
        return rng.choice(ODD)
    return "".join(rng.choices(_LETTERS, k=rng.randint(0, 30)))


@contextmanager
def _here(place: Path) -> Iterator[None]:
    """In a folder of its own, which is home and holds indexes."""
    before = Path.cwd()
    os.chdir(place)
    try:
        homes = {
            "HOME": str(place),
            "SEEWHY_HOME": str(place / "home"),
            "SEEWHY_CONFIG": str(place / "config.toml"),
            "HF_HUB_OFFLINE": "1",
        }
        with mock.patch.dict(os.environ, homes):
            yield
    finally:
        os.chdir(before)


def _alarm(seconds: int) -> None:
    """Let a command that takes longer end; where there are no signals, the suite's own limit does."""
    if hasattr(signal, "SIGALRM"):

        def ring(*_: object) -> None:
            raise _TooLong

        signal.signal(signal.SIGALRM, ring if seconds else signal.SIG_DFL)
        signal.alarm(seconds)
