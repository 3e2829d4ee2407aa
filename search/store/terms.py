"""Words of texts and queries, as FTS5 tokenizes and stems them.

FTS5's tokenizer `unicode61` makes every run of letters and digits a token, so `snake_case` and `path/like.this` become
several words. Three things are added here, for passages and queries alike: variants of a letter are unified (NFKC); the
parts of `CamelCase` are appended to the text, except single letters, because the "i" of `iOS` would match the word "I";
and ideographs, which are written without spaces, become words. Texts in other languages than English have further
tokens (`search.store.word_forms`).
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from search.errors import SearchError
from search.store.word_forms import WordForm, language_tokens

TOKENIZER = "porter unicode61 remove_diacritics 2"

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")  # a NUL would end the text
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\d_A-Z])|(?<=\d)(?=[A-Z])")
# Matches only at the beginning of a run of letters and digits; otherwise time grows with the square of its length.
_HUMPED = re.compile(r"(?<![^\W_])(?:[^\W_]*(?:[^\W\d_A-Z]|\d)[A-Z][^\W_]*|[A-Z]{2,}[^\W\d_A-Z][^\W_]*)")
# A text without any of these characters has no ideographs and no combining marks.
_FAR = re.compile(r"[^\x00-\u02ff\u0370-\u0482\u048a-\u0590\u2000-\u20cf\u2100-\u2bff]")
_LETTERS = re.compile(r"[^\W_]+")
_MAX_CACHED_WORDS = 50_000  # words whose stems are cached
_NO_FTS5 = (
    "this Python's SQLite lacks full-text search (FTS5). Install Python from python.org or conda-forge."
)
QUOTED = r'(?<![\w"])"([^"]+)"(?!\w)'  # an unbalanced quote, or a quote after a number (5"), is text
NUMBER = r"(?<!\w)(\d+(?:[^\w\s]\d+)+)(?!\w)"  # such as 09-01-28 or 3.10
_IN_A_ROW = re.compile(f"{QUOTED}|{NUMBER}")


class IndexTerm(NamedTuple):  # one for each word of a text, so it has to be cheap
    """A word or a phrase to search for.

    Attributes:
        text: the word or phrase, as typed.
        start, end: its span in the query, in characters.
        stems: its tokens in FTS5; a passage matches if it contains them consecutively.
        forms: other tokens that count as the word, in the languages of an index.
    """

    text: str
    start: int
    end: int
    stems: tuple[str, ...]
    forms: tuple[WordForm, ...] = ()


def plain(text: str) -> str:
    """Normalise letters (NFKC), drop control characters, and put spaces around ideographs."""
    text = _NO_TEXT.sub(" ", text)
    return text if text.isascii() else _IDEOGRAPH.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))


def folded(text: str) -> str:
    """Normalise like `plain`, in lower case; "ß" is "ss"."""
    return plain(text).casefold()


def indexable(context: str, text: str, language: str = "", analyzed: str = "") -> str:
    """Return a passage's text for FTS5.

    It is context and text, normalised, then the parts of CamelCase names, then the tokens of the language, then
    `analyzed`, those of a program's analyser.
    """
    whole = f"{context}\n{text}" if context else text
    plain_text = plain(whole)
    parts = [part for name in _HUMPED.findall(plain_text) for part in _HUMP.split(name) if len(part) > 1]
    parts += language_tokens(unicodedata.normalize("NFKC", whole), language)
    if analyzed:
        parts.append(analyzed)
    return (f"{plain_text}\n{' '.join(parts)}" if parts else plain_text).casefold()


def unquoted(text: str) -> str:
    """Replace the double quotes of phrases by spaces."""
    return re.sub(QUOTED, r" \1 ", text)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each word of a text; a name in CamelCase is followed by the spans of its parts."""

    def kind(position: int) -> int:
        character = text[position]
        if _IDEOGRAPH.match(character):
            return position + 1
        return 0 if character.isalnum() or unicodedata.category(character)[0] == "M" else -1

    if _FAR.search(text):
        runs = (list(positions) for key, positions in groupby(range(len(text)), kind) if key >= 0)
        spans: Iterable[tuple[int, int]] = ((run[0], run[-1] + 1) for run in runs)
    else:
        spans = [match.span() for match in _LETTERS.finditer(text)]
    for start, end in spans:
        yield start, end
        if _HUMP.search(text[start:end]):
            yield from _parts(text, start, end)


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the parts of a name; none if it has only one."""
    cuts = [start, *(start + hump.start() for hump in _HUMP.finditer(text[start:end])), end]
    for first, last in pairwise(cuts):
        if len(cuts) > 2 and last - first > 1:
            yield first, last


class Stemmer:
    """FTS5's tokenizer, run in an in-memory database. Thread-safe."""

    def __init__(self) -> None:
        self._thread_local = threading.local()
        self._stems_of: dict[str, tuple[str, ...]] = {}  # the stems of words

    def stems(self, texts: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the tokens of each text, in order."""
        plain_texts = list(map(folded, texts))
        stems: list[list[str]] = [[] for _ in plain_texts]
        with self._tokenized(plain_texts) as connection:
            rows = connection.execute("SELECT doc, term FROM tokens ORDER BY doc, offset")
            for number, stem in rows:
                stems[number].append(stem)
        return list(map(tuple, stems))

    def inverted(self, texts: Iterable[str]) -> list[tuple[bytes, str]]:
        """Return (token, texts) for all tokens of `indexable` texts, in the order of the tokens' UTF-8 bytes.

        The second item lists the positions of the texts, one for each occurrence: "0,0,3". FTS5 truncates long tokens,
        so a token may end within a letter; it is therefore bytes.
        """
        with self._tokenized(texts) as connection:
            return connection.execute(
                "SELECT CAST(term AS BLOB), group_concat(doc) FROM tokens GROUP BY term ORDER BY term"
            ).fetchall()

    def in_a_row(self, texts: Iterable[str], stems: Sequence[str]) -> dict[int, int]:
        """Count how often each text contains the stems one after another.

        Returns:
            Position in `texts` -> number of occurrences, for the texts that contain the stems.
        """
        select = "SELECT (doc << 32) + offset - ? FROM tokens WHERE term = ?"
        with self._tokenized(texts) as connection:
            starts = [set(connection.execute(select, pair)) for pair in enumerate(stems)]
        return Counter(start >> 32 for (start,) in set.intersection(*starts))

    def terms(self, query: str) -> list[IndexTerm]:
        """Return the terms of a query in order, without duplicates.

        Text in double quotes, and digits with punctuation between them, are one term, whose words must occur
        consecutively.
        """
        spans = [match.span(match.lastindex or 0) for match in _IN_A_ROW.finditer(query)]
        spans += word_spans(_IN_A_ROW.sub(lambda match: " " * len(match[0]), query))
        terms: dict[tuple[str, ...], IndexTerm] = {}
        for term in sorted(self.at(query, spans), key=itemgetter(1, 2)):
            if term.stems:
                terms.setdefault(term.stems, term)
        return list(terms.values())

    def at(self, text: str, spans: Iterable[tuple[int, int]]) -> list[IndexTerm]:
        """Return the term at each span of a text, in order. A term has no stems if FTS5 finds no token in it."""
        typed = [(text[start:end], start, end) for start, end in spans]
        if len(self._stems_of) > _MAX_CACHED_WORDS:
            self._stems_of = {}
        stems = self._stems_of
        if new := {word for word, _, _ in typed}.difference(stems):
            stems |= dict(zip(new, self.stems(new), strict=True))
        return [IndexTerm(word, start, end, stems[word]) for word, start, end in typed]

    @contextmanager
    def _tokenized(self, texts: Iterable[str]) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose FTS5 table contains the texts."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            connection.executemany("INSERT INTO one (rowid, text) VALUES (?, ?)", enumerate(texts))
            yield connection
        finally:
            connection.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._thread_local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            try:
                connection.execute(
                    f"CREATE VIRTUAL TABLE one USING fts5 (text, content = '', tokenize = '{TOKENIZER}')"
                )
            except sqlite3.OperationalError as error:
                raise SearchError(_NO_FTS5) if "no such module" in str(error) else error from None
            connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab (one, instance)")
            self._thread_local.connection = connection
        return connection
