"""Words of a query that no passage has: identifiers, and words that may be misspelt.

A word is compared with the words of the index that differ from it by one letter: one too many, one missing, another
one, or two that are swapped (Damerau 1964, "A technique for computer detection and correction of spelling errors"). Of
these, the one that is in most passages is suggested.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import TYPE_CHECKING

from search.ranking.identifiers import with_identifiers
from search.records.hits import Absence
from search.store.terms import IndexTerm

if TYPE_CHECKING:
    from search.store.snapshot import Snapshot

# Candidates of which passages are read: others have the stem of a word of the index, but are no word of it.
_MOST_CANDIDATES = 10
_SHORTEST = 4  # letters of a word that may be misspelt: shorter ones have too many neighbours


def absences(snapshot: Snapshot, text: str) -> list[Absence]:
    """Return the identifiers of a query that no passage has, and the misspelt words, in order.

    Args:
        text: the query without conditions, as `Searcher.parse` returns it: identifiers that occur are in quotes.
    """
    _, identifiers = with_identifiers(text, lambda word: False)  # those that occur are in quotes
    missing = [Absence(word, is_identifier=True) for word in identifiers.missing]
    parts = {term.text.casefold() for name in identifiers.missing for term in snapshot.terms(name)}
    terms = [term for term in snapshot.terms(text) if term.text.casefold() not in parts]
    for term, count in zip(terms, snapshot.counts(terms), strict=True):
        is_word = term.text.isalpha() and len(term.text) >= _SHORTEST and len(term.stems) == 1
        if not count and is_word and (near := _nearest(snapshot, term.text.casefold())):
            missing.append(Absence(term.text, near))
    return missing


def _nearest(snapshot: Snapshot, word: str) -> str:
    """Return the most frequent word of the index that differs from a word by one letter; "" if there is none."""
    candidates = snapshot.tokenize(" ".join(dict.fromkeys(_edits(word))))
    single = [term for term in candidates if len(term.stems) == 1]
    counts = snapshot.counts_of_stems([term.stems[0].encode() for term in single])
    by_count = sorted(zip(counts, single, strict=True), key=lambda entry: -entry[0])
    for count, term in by_count[:_MOST_CANDIDATES]:
        if count and term.text in _spelled(snapshot, term):
            return term.text
    return ""


def _spelled(snapshot: Snapshot, term: IndexTerm) -> list[str]:
    """Return the words with the stem of a term, in lower case, of the passages that have most of it."""
    ids, _ = snapshot.keyword_scores([term]).best(3)
    stored = snapshot.stored(ids.tolist()).values()
    words = (
        word for passage in stored for word in snapshot.tokenize(f"{passage.context}\n{passage.text}")
    )
    return [word.text.casefold() for word in words if word.stems == term.stems]


def _edits(word: str) -> Iterator[str]:
    """Yield the words that differ from a word by one letter: shorter ones first, then as long, then longer."""
    letters = dict.fromkeys(string.ascii_lowercase + word)
    cuts = range(len(word))
    yield from (word[:at] + word[at + 1 :] for at in cuts)
    yield from (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in cuts[:-1])
    yield from (word[:at] + letter + word[at + 1 :] for at in cuts for letter in letters)
    yield from (word[:at] + letter + word[at:] for at in range(len(word) + 1) for letter in letters)
