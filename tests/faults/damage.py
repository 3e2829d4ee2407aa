"""Seeded damage to the bytes of a file, as disks, transfers and editors do it; and base files to damage."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_BLOCK = 512


def _truncate(data: bytearray, rng: Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def _zero(data: bytearray, rng: Random) -> bytearray:
    start, length = rng.randrange(len(data)), rng.choice((1, 8, 100, 1024, 4096))
    data[start : start + length] = bytes(len(data[start : start + length]))
    return data


def _flip(data: bytearray, rng: Random) -> bytearray:
    for _ in range(rng.choice((1, 1, 1, 2, 10))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def _flip_one(data: bytearray, rng: Random) -> bytearray:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def _swap(data: bytearray, rng: Random) -> bytearray:
    if len(data) <= 2 * _BLOCK:
        return data[::-1]
    start, other_start = (_BLOCK * rng.randrange(len(data) // _BLOCK) for _ in range(2))
    size = rng.choice((_BLOCK, 4096))
    first, second = bytes(data[start : start + size]), bytes(data[other_start : other_start + size])
    if len(first) == len(second):
        data[start : start + size], data[other_start : other_start + size] = second, first
    return data


def _append(data: bytearray, rng: Random) -> bytearray:
    return data + rng.randbytes(rng.choice((1, 100, 4096)))


def _garble(data: bytearray, rng: Random) -> bytearray:
    start = rng.randrange(len(data))
    length = min(rng.choice((1, 4, 16, 200, 4096)), len(data) - start)
    data[start : start + length] = rng.randbytes(length)
    return data


def _cut_out(data: bytearray, rng: Random) -> bytearray:
    start = rng.randrange(len(data))
    del data[start : start + rng.choice((1, 2, 50, 4096))]
    return data


def _repeat(data: bytearray, rng: Random) -> bytearray:
    start = rng.randrange(len(data))
    part = data[start : start + rng.randint(1, 200)]
    return data[:start] + part * rng.choice((2, 10, 300)) + data[start:]


def _random(data: bytearray, rng: Random) -> bytearray:
    return bytearray(rng.randbytes(rng.choice((0, 1, 100, len(data)))))


ANYTHING: dict[str, Callable[[bytearray, Random], bytearray]] = {
    "truncated": _truncate,
    "zeroed": _zero,
    "bits flipped": _flip,
    "blocks swapped": _swap,
    "garbage appended": _append,
    "garbled": _garble,
    "cut out": _cut_out,
    "random bytes": _random,
}

BIT = {"a bit flipped": _flip_one}

_NASTY = (
    "\0", "\x1b[2J", "\r", "\r\n", "\u2028", "\ufeff", "\u202e", "\ud800", "\U0010ffff", '"', "'", ",", "\t", "{", "[",
    "}", "\\", "\\ud800", "```", "---\n", "===\n", "<!--", "<![CDATA[", "</", "<script>", "&#x110000;", "&amp", "::",
    ".. include:: /etc/passwd\n", ".. raw:: html\n\n   x", "..\n", "`" * 9, "* " * 300, "> " * 200, "[" * 300,
    "<div>" * 300, "((" * 200, "|" * 99, "#" * 99, "1e999", "NaN", "null", "\n" * 300, " " * 3000, "x" * 5000,
)  # fmt: skip


def _insert(data: bytearray, rng: Random) -> bytearray:
    """Something that means something to a parser, in the file's own encoding or another."""
    nasty = rng.choice(_NASTY).encode(rng.choice(("utf-8", "utf-16-le")), "surrogatepass")
    start = rng.randrange(len(data) + 1)
    return data[:start] + nasty + data[start:]


TEXT = {
    **ANYTHING,
    "repeated": _repeat,
    "insertion": _insert,
    "more insertion": _insert,
    "still more": _insert,
}


def damaged(
    data: bytes, rng: Random, kinds: dict[str, Callable[[bytearray, Random], bytearray]]
) -> tuple[str, bytes]:
    """The kind of damage, and the result."""
    kind = rng.choice(sorted(kinds))
    return kind, bytes(kinds[kind](bytearray(data or b"\n"), rng))


_MARKDOWN = """---
title: A door — ein Tor
tags: [one, two]
---
# The door

Some *text* with a [link](http://example.org) and `code`.

## List

- one
  - two
1. three

> quoted

| a | b |
|---|---|
| 1 | 2 |

```python
print("x")
```

Setext
======

Últimas palabras. Ende größer.
"""
_RST = """=====
Title
=====

:author: Somebody

Some *text* and ``code``, see `The door`_.

The door
--------

.. note:: Mind the step.

.. code-block:: python

   print("x")

+---+---+
| a | b |
+---+---+
| 1 | 2 |
+---+---+

.. _link: http://example.org
"""
_HTML = """<!doctype html><html lang="en"><head><title>A door &mdash; größer</title><meta charset="utf-8">
<style>p { color: red }</style></head><body><h1>The door</h1><p>Some <b>text</b>.<ul><li>one<li>two</ul>
<table><tr><th>a<td>1</table><pre>  kept
</pre><script>if (a < b) { c() }</script><h2>More</h2><p>Últimas palabras &amp; more.</body></html>
"""
_CSV = 'title,text,year\nfirst,"a ""door"", open",1999\n"second\nline",größer,2001\nthird,,\n'
_JSONL = '{"title": "first", "text": "a door", "n": 1}\n{"text": "gr\\u00f6\\u00dfer", "more": {"a": [1, 2]}}\n\n[]\n'
_TEXT = "The door is open.\n\nIt was größer — once.\n\tEnde.\n"

_BY_SUFFIX = {
    ".md": _MARKDOWN, ".rst": _RST, ".html": _HTML, ".csv": _CSV, ".tsv": _CSV.replace(",", "\t"), ".jsonl": _JSONL,
    ".txt": _TEXT, ".py": 'def door() -> str:\n    """Open."""\n    return "größer"\n',
}  # fmt: skip
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252", "mac-roman")

INPUTS = {
    f"{encoding}{suffix}": text.encode(encoding, "replace")
    for suffix, text in _BY_SUFFIX.items()
    for encoding in _ENCODINGS
}
