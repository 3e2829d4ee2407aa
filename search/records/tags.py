"""What a token classifier says: of a text word by word, and of the passages of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from search.records.annotations import Mention

TagTask = Literal["ner", "pos"]


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text with its class.

    Attributes:
        start, end: half-open span in the text.
        label: the class that the checkpoint names, "B-PER" for instance: that of the word's first token.
        score: its probability, in (0, 1].
        tokens: the word's tokens, as the vocabulary writes them.
    """

    text: str
    start: int
    end: int
    label: str
    score: float
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Tagged:
    """A text with its words' classes, and what follows of them.

    Attributes:
        labels: all classes of the checkpoint.
        mentions: entities, or for "pos" each word that has a part of speech, in order; spans are those of the text.
        windows: how many inputs the text was read in.
    """

    model: str
    task: TagTask
    text: str
    labels: tuple[str, ...]
    words: tuple[TaggedWord, ...]
    mentions: tuple[Mention, ...]
    windows: int


@dataclass(frozen=True)
class FieldCount:
    """What the annotations of an index hold in one field.

    Attributes:
        mentions: spans, of all passages.
        values: different ones, whatever the case of their letters.
        passages: that have any.
        frequent: the most frequent values with their mentions, the most frequent first.
    """

    field: str
    mentions: int
    values: int
    passages: int
    frequent: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TagReport:
    """What one run of tagging did, and what the annotations hold afterwards.

    Attributes:
        name: of the annotations in the index.
        fields: of all passages, those of earlier runs too.
        tagged: passages that this run looked at; `annotated` have annotations now, of `passages`.
        windowed: passages of this run that were longer than the model reads, and were read in several windows.
        labels: class of the checkpoint -> field; "" for a class that is not stored.
        notes: sentences about what has to be known.
    """

    index: str
    name: str
    task: TagTask
    model: str
    fields: tuple[FieldCount, ...]
    tagged: int
    annotated: int
    passages: int
    windowed: int
    labels: Mapping[str, str]
    seconds: float
    notes: tuple[str, ...] = ()
