"""Counterfactuals: the smallest change that moves a passage out of the first hits of a query, or among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from search.records.notebook_mixin import NotebookMixin

ChangeKind = Literal["query words", "sentences", "added word"]

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_LONGEST = 60  # characters of a sentence in a line


@dataclass(frozen=True)
class ChangedPart:
    """A word or sentence that is left out or added.

    Attributes:
        text: the word as typed, or the sentence without its markup.
        start, end: its span: of a word that is left out, in the query as typed; of all others, in the passage's text.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class RankChange:
    """A change of the query or of the passage, and the rank after it.

    Attributes:
        kind: "query words": the query is asked without them. "sentences": the passage has them no more, and everything
            else in the index stays. "added word": the query is asked with a word of the passage added to its end.
        parts: the words or sentences, in the order of their text.
        query: the query that is asked.
        k: number of hits that the passage is moved out of, or into.
        rank, new_rank: rank in the list of hits, from 1, before and after the change; None if the passage is no hit at
            all, as without any keyword in the mode "lexical".
        encodings: number of texts that were encoded for this kind of change.
    """

    kind: ChangeKind
    parts: tuple[ChangedPart, ...]
    query: str
    k: int
    rank: int | None
    new_rank: int | None
    encodings: int

    @property
    def sentence(self) -> str:
        """The change in plain English: 'Without "deposit" this falls to rank 14.'."""
        parts = _listing([f'"{_shortened(part.text.strip(chr(34)))}"' for part in self.parts])
        if self.kind == "added word":
            return f"With {parts} in your question it would be {_ordinal(self.new_rank or 0)}."
        fall = f"falls to rank {self.new_rank:,}" if self.new_rank else "is no hit"
        if self.kind == "query words":
            return f"Without {parts} this {fall}."
        place = "first" if self.k == 1 else f"among the first {self.k}"
        if len(self.parts) == 1:
            return f"The sentence {parts} keeps it {place}: without it, this {fall}."
        return f"The sentences {parts} keep it {place}: without them, this {fall}."


@dataclass(frozen=True)
class Counterfactual(NotebookMixin):
    """The changes that would move a passage out of the first k hits of a query, or among them.

    Attributes:
        query: the query as typed.
        passage_id: the passage; of a document, the best one.
        k: number of hits.
        rank: rank in the list of hits, which may be longer than k; None if the passage is no hit at all. A copy of the
            passage that is listed instead of it counts as the passage.
        changes: at most one of each kind, and each the smallest one that was tried: of a hit, words of the query and
            sentences of the passage; of any other passage, a word to add. () if none of those that were tried moves it.
        tries: number of changes that were tried.
        encodings: number of texts that were encoded for the answer; at most 200.
    """

    query: str
    passage_id: int
    k: int
    rank: int | None
    changes: tuple[RankChange, ...]
    tries: int
    encodings: int

    @property
    def is_hit(self) -> bool:
        """True if the passage is among the first k hits."""
        return self.rank is not None and self.rank <= self.k

    @property
    def sentence(self) -> str:
        """The changes in one line of plain English; if there are none, how many were tried."""
        if self.changes:
            return " ".join(change.sentence for change in self.changes)
        first = "first hit" if self.k == 1 else f"first {self.k} hits"
        if not self.is_hit:
            words = "word" if self.tries == 1 else "words"
            if not self.tries:
                return f"No word of this passage can bring it among the {first}."
            return f"None of the {self.tries:,} {words} of this passage that were tried brings it among the {first}."
        if not self.tries:
            return f"No word or sentence can be left out to move it out of the {first}."
        changes = "the one change that was" if self.tries == 1 else f"{self.tries:,} changes that were"
        return f"None of {changes} tried moves it out of the {first}."


def _ordinal(rank: int) -> str:
    return _ORDINALS[rank - 1] if 0 < rank <= len(_ORDINALS) else f"at rank {rank:,}"


def _listing(items: list[str]) -> str:
    """Join texts as in a sentence: "a, b and c"."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def _shortened(text: str) -> str:
    """Return a text on one line, cut behind a word if it is long."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST].rsplit(' ', 1)[0]} …"
