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

    def further_words(self, word: str) -> list[str]:
        """Return the further words of a word, in lower case.

        Raises:
            InputError: the function returned no words.
        """
        answer = self.analyze(word.casefold())
        words = (
            [answer]
            if isinstance(answer, str)
            else list(answer)
            if isinstance(answer, Iterable)
            else [answer]
        )
        if not all(isinstance(item, str) for item in words):
            raise InputError(
                f"the analyser '{self.name}' returned {answer!r:.60} for the word {word!r}. Return a list of words."
            )
        return [folded(item) for item in dict.fromkeys(words) if item.strip()]

    def tokens_of(self, text: str) -> str:
        """Return the tokens of the further words of a text, separated by spaces."""
        return " ".join(
            _token(further)
            for start, end in word_spans(text)
            for further in self.further_words(text[start:end])
        )

    def with_forms(
        self, terms: Sequence[IndexTerm], query: str, stemmer: Stemmer, vocabulary: StemLookup
    ) -> list[IndexTerm]:
        """Return the terms of a query with their forms that occur; phrases in quotes have none.

        A word of a text counts as a word of the query if one is a further word of the other, or if both have the same.
        """

        def forms(term: IndexTerm) -> Iterator[WordForm]:
            if len(term.stems) != 1 or query[term.start - 1 : term.start] == '"':
                return
            further = self.further_words(term.text)
            tokens = [_token(word) for word in dict.fromkeys([folded(term.text), *further])]
            for stems in stemmer.stems([*tokens, *further]):
                if len(stems) == 1 and stems != term.stems and vocabulary.has(stems[0]):
                    yield WordForm(stems[0])

        return [term._replace(forms=(*term.forms, *dict.fromkeys(forms(term)))) for term in terms]

    def spans(
        self, terms: Sequence[IndexTerm], words: Sequence[IndexTerm], stemmer: Stemmer
    ) -> list[list[tuple[int, int]]]:
        """Return the spans of the words of a text that count as each term."""
        own: list[set[str]] = []
        for word in words:
            stems = stemmer.stems([_token(further) for further in self.further_words(word.text)])
            own.append({*(stem for of_token in stems for stem in of_token), *word.stems})
        return [
            [
                (word.start, word.end)
                for word, stems in zip(words, own, strict=True)
                if stems & {form.stem for form in term.forms}
            ]
            for term in terms
        ]


def _token(word: str) -> str:
    """Return the token of a further word."""
    return letters_token(_LANGUAGE, word)


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
