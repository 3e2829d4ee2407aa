"""What is evaluated on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Query:
    """A query with its name in the data."""

    id: str
    text: str


@dataclass(frozen=True)
class Entry:
    """A document of a collection."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text as BEIR joins them."""
        return f"{self.title} {self.text}".strip()


@dataclass(frozen=True)
class Retrieval:
    """Queries, and how relevant documents are to them.

    Attributes:
        name, source, split: of the data; `split` is "" where there is only one.
        queries: those that have judgements, in the order of the data.
        judgements: of each of them: document -> grade.
        entries: the documents of the collection; empty where the judgements are about an index of the user's own.
        folder: where `corpus.jsonl` lies, None where the collection has another form.
        unjudged: names of the queries that were left out because nothing was judged for them.
        lines: where in `source` a document is first judged, for messages; empty for a collection.
    """

    name: str
    source: Path
    split: str
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]
    entries: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    unjudged: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Span:
    """The characters [start, end) of a document."""

    document: str
    start: int
    end: int


@dataclass(frozen=True)
class Spans:
    """Questions, and the spans of documents that answer them.

    Attributes:
        folder: the documents; spans name them relative to it.
        gold: of each question, at least one.
    """

    name: str
    source: Path
    folder: Path
    queries: tuple[Query, ...]
    gold: Mapping[str, tuple[Span, ...]]


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question about a paragraph.

    Attributes:
        paragraph: its name among `Retrieval.entries`.
        answers: all that count as right, as they are written; () where the paragraph does not answer it.
    """

    id: str
    text: str
    paragraph: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Answering:
    """Questions with gold answers, each about one paragraph.

    Attributes:
        paragraphs: the paragraphs, and the same questions as queries for them.
        misplaced: how many gold answers do not stand where the data says.
    """

    name: str
    source: Path
    questions: tuple[AnsweredQuestion, ...]
    paragraphs: Retrieval
    misplaced: int = 0


@dataclass(frozen=True)
class Pair:
    """Two sentences and how alike people found them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class SentencePairs:
    """Semantic textual similarity."""

    name: str
    source: Path
    pairs: tuple[Pair, ...]


Dataset = Retrieval | Spans | SentencePairs
