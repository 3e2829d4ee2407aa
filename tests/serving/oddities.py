"""Odd queries: parameters of the server with values that are right, nearly right, or nothing of the kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

from tests.serving.hostile import posted, request

PAGES = (
    "/",
    "/documents/{n}",
    "/explain",
    "/contrast",
    "/why-not",
    "/similar",
    "/similarity",
    "/inspect",
    "/reference",
)
_ASKED = "index q mode weight where since per_document"
API = {
    "search": f"{_ASKED} k generation next", "explain": "index q passage mode weight layer",
    "contrast": "index q a b mode weight", "why-not": f"{_ASKED} passage k",
    "similar": "index passage k same_document where",
    "similarity": "index text against tokens layer", "inspect": "index text text2", "status": "index",
    "indexes": "",
    "passages/{n}": "index", "documents/{n}": "index", "facets": "index where",
}  # fmt: skip
WORDS = (
    "key", "the lock", "how do I open a door", "", " ", "\x00", "\n", "\x1b[31m", "\u202e", "\ufeff", "\u200d", "é",
    "e\u0301" * 40, "İ", "ß", "ﬁ", "Ω", "שלום", "مرحبا", "鍵", "🔑", "🧑\u200d🔬", "\U0010ffff", "[MASK]",
    "[SEP] [CLS]",
    "##ing", "'", '"', '"key', '"key" "lock"', "`", "\\", "%", "%s%n", "{0}", "${jndi:ldap://x}", "{{7*7}}",
    "' OR 1=1 --",
    "*", "key*", "NEAR(key lock, 2)", "key AND OR NOT", "-key", "^key", "title:key", "<script>alert(1)</script>",
    "<b onclick=x>", "</title>", "&amp;", "../../etc/passwd", "file:///etc/passwd", "javascript:alert(1)",
    "x" * 1_999,
    "key " * 499, "a" * 600, "1", "-1", "0", "1e9", "NaN", "true", "null", "[]", "{}", "9" * 25,
)  # fmt: skip
FILTERS = (
    "path:", "name:", "kind:", "size>", "size<", "date>=", "date<", "text:", "tag:", "lang:", "is:", " and ",
    " or ",
    "not ", "(", ")", '"', "'", "*", "**", "?", "[", "]", "{", "}", "\\", ",", "=", ">", "!", "~", "docs/**",
    "keys.md",
    "20kB", "7d", "2024-05-01", "2024-13-99", "key", " ", "\x00", "é", "9" * 20,
)  # fmt: skip
RIGHT: dict[str, tuple[str, ...]] = {
    "q": ("key", "the lock", "how do I open a door"), "text": ("a key", "a lock"), "against": ("a door",),
    "text2": ("a lock",), "mode": ("hybrid", "dense", "lexical"), "weight": ("0", "0.5", "1"), "k": ("1", "3",
    "100"),
    "per_document": ("0", "1", "3"), "where": ("path:**", "size<20kB", "name:*.md"), "since": ("7d", "2000-01-01"),
    "passage": ("1", "2", "3"), "a": ("1", "2"), "b": ("2", "3"), "document": ("1", "2"), "layer": ("0", "last",
    "2"),
    "name": ("keys", "a"), "without": ("key",), "tokens": ("true",), "same_document": ("true",),
    "generation": ("1",),
    "next": ("x",), "index": ("notes",), "offset": ("0",), "test": ("1",), "format": ("ndjson",),
}  # fmt: skip


def odd(random: Random) -> bytes:
    """A request for something odd."""
    is_api = random.random() < 0.6
    asked = random.choice(sorted(API))
    path, known = (
        (f"/api/v1/{asked}", API[asked].split()) if is_api else (random.choice(PAGES), sorted(RIGHT))
    )
    path = path.replace("{n}", random.choice(("1", "2", quote(_word(random), safe=""))))
    likely = {"q", "text", "passage", "a", "b", "document"} & set(known) if random.random() < 0.9 else set()
    others = sorted(RIGHT) if random.random() < 0.1 else known
    names = likely | set(random.sample(others, min(len(others), random.randrange(4))))
    if is_api and random.random() < 0.3:
        return posted(_body(random, names), path)
    pairs = [(name, _value(random, name)) for name in names for _ in range(1 + (random.random() < 0.1))]
    random.shuffle(pairs)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
    if random.random() < 0.05:
        query += "".join(chr(random.randrange(33, 127)) for _ in range(30))
    accept = random.choice(("text/html", "application/json", "*/*", "application/x-ndjson"))
    fragment = {"X-Seewhy-Fragment": "1"} if random.random() < 0.1 else {}
    method = "HEAD" if random.random() < 0.03 else "GET"
    return request(f"{path}?{query}", method, headers={"Accept": accept, **fragment})


def _body(random: Random, names: set[str]) -> bytes:
    values: dict[str, Any] = {}
    for name in names:
        made: tuple[Callable[[], Any], ...] = (
            lambda name=name: _value(random, name), lambda: random.randrange(-5, 200),
            lambda: random.random() * 3 - 1,
            lambda: None, lambda: random.random() < 0.5, lambda name=name: [_value(random,
            name)] * random.randrange(4),
            lambda: {"a": [1, {}]}, lambda: 10**30, lambda: "\ud800",
        )  # fmt: skip
        values[name] = made[0]() if random.random() < 0.7 else random.choice(made)()
    body = json.dumps(values).encode()
    return body[: random.randrange(len(body) + 1)] if random.random() < 0.05 else body


def _value(random: Random, name: str) -> str:
    if random.random() < 0.75:
        return random.choice(RIGHT[name])
    if name in ("where", "since") and random.random() < 0.8:
        return "".join(random.choice(FILTERS) for _ in range(random.randrange(1, 9)))
    return _word(random)


def _word(random: Random) -> str:
    """One odd text, several of them, or any characters at all."""
    if random.random() < 0.2:
        return "".join(chr(_character(random)) for _ in range(random.randrange(1, 30)))
    return random.choice(("", " ")).join(random.choice(WORDS) for _ in range(random.choice((1, 1, 1, 2, 4))))


def _character(random: Random) -> int:
    point = random.randrange(random.choice((0x80, 0x800, 0x10000, 0x110000)))
    return point if not 0xD800 <= point < 0xE000 else 0xFFFD
