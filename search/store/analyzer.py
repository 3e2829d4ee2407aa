"""An analyser that a program brings: further words by which the words of a text are found, such as lemmas or synonyms.

The further words of a passage are stored as tokens in table `analyzed`, so an index is checked, repaired and merged
without the program. Only storing documents, and finding the further words of a query, need it. A token begins with
characters that no text has, so it never equals a word.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from search.errors import InputError
from search.store.database import has_table
from search.store.terms import IndexTerm, Stemmer, folded, word_spans
from search.store.word_forms import StemLookup, WordForm, letters_token

Analyze: TypeAlias = Callable[[str], Iterable[str]]
"""Function from a word in lower case to further words, such as its lemma."""

ANALYZED = """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
              tokens TEXT NOT NULL"""
"""Columns of table `analyzed`."""

_LANGUAGE = "zz"  # stands for a language in the tokens


@dataclass(frozen=True)
class Analyzer:
    """An analyser with the name that identifies it in an index."""

    name: str
    analyze: Analyze

    @classmethod
    def of(cls, function: Analyze | None) -> Analyzer | None:
        """Return an analyser for a function, named like it; None for None.

        Raises:
            InputError: it is no function, or has no name.
        """
        if function is None:
            return None
        name = getattr(function, "__name__", "")
        if not callable(function) or not name or name == "<lambda>":
            raise InputError("analyzer must be a function with a name, which identifies it in the index.")
        return cls(name, function)

    def tokens(self, word: str) -> list[str]:
        """Return the tokens of the further words of a word."""
        further = self.analyze(word.casefold())
        if isinstance(further, str):
            further = [further]
        return [letters_token(_LANGUAGE, folded(form)) for form in dict.fromkeys(further) if form]

    def tokens_of(self, text: str) -> str:
        """Return the tokens of all words of a text, separated by spaces."""
        return " ".join(
            token for start, end in word_spans(text) for token in self.tokens(text[start:end])
        )

    def with_forms(
        self, terms: Sequence[IndexTerm], query: str, stemmer: Stemmer, vocabulary: StemLookup
    ) -> list[IndexTerm]:
        """Return the terms of a query with their further words that occur; phrases in quotes have none."""

        def forms(term: IndexTerm) -> Iterator[WordForm]:
            if len(term.stems) == 1 and query[term.start - 1 : term.start] != '"':
                for stem, *_ in stemmer.stems(self.tokens(term.text)):
                    if vocabulary.has(stem):
                        yield WordForm(stem)

        return [term._replace(forms=(*term.forms, *forms(term))) for term in terms]

    def spans(
        self, terms: Sequence[IndexTerm], words: Sequence[IndexTerm], stemmer: Stemmer
    ) -> list[list[tuple[int, int]]]:
        """Return the spans of the words of a text that have a further word of each term."""
        stems = [
            {stem for of_token in stemmer.stems(self.tokens(word.text)) for stem in of_token}
            for word in words
        ]
        return [
            [
                word[1:3]
                for word, own in zip(words, stems, strict=True)
                if own & {form.stem for form in term.forms}
            ]
            for term in terms
        ]


def require_analyzer(stored: str | None, analyzer: Analyzer | None) -> None:
    """Raise InputError unless an analyser is the one whose name an index has stored."""
    name = analyzer.name if analyzer else None
    if stored == name:
        return
    if stored is None:
        raise InputError(
            f"the index was created without an analyser, so '{name}' cannot be used with it."
        )
    wrong = f", not '{name}'" if name else ""
    raise InputError(
        f"the index was created with the analyser '{stored}'{wrong}. Open it with analyzer={stored}."
    )


def create_analyzed(connection: sqlite3.Connection) -> None:
    """Create the table of analysed words if there is none, within an open transaction."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS analyzed ({ANALYZED}) STRICT")


def analyzed_tokens(connection: sqlite3.Connection) -> str:
    """SQL expression for the tokens of a passage."""
    if not has_table(connection, "analyzed"):
        return "''"
    return "coalesce((SELECT tokens FROM analyzed WHERE passage = passages.id), '')"
