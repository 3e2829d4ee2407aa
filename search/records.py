"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32] | NDArray[np.float64]

Part = Literal["special", "prompt", "context", "text"]
WordKind = Literal["word", "punctuation", "special", "prompt", "context"]


@dataclass(frozen=True)
class LineMap:
    """Which line of the source file an offset of a document's text stands on.

    Attributes:
        offsets: increasing offsets into the text, the first one 0.
        lines: for each offset, the 1-based line of the source file where the text from there on stands.
        whole: the document is one record of a file (a CSV row, say): every span of it
            is reported as the record's whole line range, `lines[0]` to `lines[-1]`.
    """

    offsets: tuple[int, ...]
    lines: tuple[int, ...]
    whole: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (1-based, both included) of the characters [start, end)."""
        if self.whole:
            return self.lines[0], self.lines[-1]
        first = self.lines[bisect_right(self.offsets, start) - 1]
        last = self.lines[bisect_right(self.offsets, max(start, end - 1)) - 1]
        return first, max(first, last)


@dataclass(frozen=True)
class Section:
    """A stretch of a document under one heading.

    `[start, end)` runs from the heading's first character to the next heading (of any level) or the
    end of the text; text before the first heading is a section with an empty trail.
    `trail` holds the headings from the outermost to this one.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """One file, or one record of a JSONL or CSV file, and its extracted text.

    Attributes:
        path: relative to the indexed folder, with forward slashes. Bytes that are not valid in the
            file system's encoding are kept as surrogates (PEP 383).
        record: 1-based number of the record in its file; 0 when the document is the whole file.
        kind: "markdown", "rst", "html", "csv", "jsonl", "code" or "text".
        text: what passages are spans of. For text formats, the decoded file itself.
        title: from the metadata, the first heading, or the file's name.
        metadata: JSON-compatible values: front matter, field list, other columns or keys.
        sections: in order, without overlap; what lies outside (front matter) is metadata, not passages.
        lines: where each offset of the text stands in the source file.
        encoding: the character encoding the file was decoded from.
    """

    path: str
    kind: str
    text: str
    title: str
    lines: LineMap
    sections: tuple[Section, ...]
    record: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"

    @property
    def name(self) -> str:
        """`path`, or `path#record` for one record of a file: unique within a folder."""
        return f"{self.path}#{self.record}" if self.record else self.path


@dataclass(frozen=True)
class Passage:
    """A span of a document: `document.text[start:end] == text`.

    Attributes:
        heading: the headings above the passage, outermost first, joined with " > ".
        context: what is encoded before the text (title and headings); "" for none.
        line_start, line_end: 1-based lines of the source file, both included.
        n_tokens: tokens of context and text together, special tokens included.
    """

    start: int
    end: int
    text: str
    heading: str
    context: str
    line_start: int
    line_end: int
    n_tokens: int


@dataclass(frozen=True)
class Token:
    """One WordPiece.

    Attributes:
        text: the vocabulary entry, "##ing" for the continuation of a word.
        id: its row in the vocabulary.
        start, end: character offsets into the string that `part` names; 0, 0 for special tokens.
        special: added by the tokenizer ([CLS], [SEP]), not part of any string.
        word: number of the word it belongs to, counted within everything that was encoded;
            None for special tokens.
        part: "text" for the query or passage itself, "context" for the headings encoded before a
            passage, "prompt" for the model's own instruction, "special" for added tokens.
    """

    text: str
    id: int
    start: int
    end: int
    special: bool
    word: int | None
    part: Part


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """What the model makes of one text.

    Attributes:
        text, context: the strings that the tokens' offsets point into.
        tokens: n tokens, special tokens included.
        layers: layer number to (n, d) float32 vectors; 0 is the embedding layer, the highest number
            is the last layer.
        embedding: (d,) float32, unit length: what an index stores for this text.
        addends: (n, d) vectors whose mean (or maximum, with max pooling) is the embedding but for its
            length; None when the embedding is no such function of its tokens.
    """

    text: str
    context: str
    tokens: tuple[Token, ...]
    layers: Mapping[int, Matrix]
    embedding: Matrix
    addends: Matrix | None

    @property
    def vectors(self) -> Matrix:
        """(n, d) vectors of the last layer."""
        return self.layers[max(self.layers)]


@dataclass(frozen=True)
class Hit:
    """One ranked passage.

    Attributes:
        rank: 1 for the best.
        score: what hits are ranked by; higher is better.
        cosine: the meaning part, in [-1, 1]; None when the ranking did not use it.
        lexical: the word part; None when the ranking did not use it.
        mode: "dense", "lexical" or "hybrid": how `score` was made of the two.
        path: absolute path of the source file.
        document: the document's name within the indexed folder, with forward slashes;
            "table.csv#12" for record 12 of a file.
        text: the passage; `start`, `end` its span in the document's text.
        line_start, line_end: 1-based lines of the source file, both included.
    """

    rank: int
    score: float
    cosine: float | None
    lexical: float | None
    mode: str
    path: str
    document: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    line_start: int
    line_end: int
    passage_id: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a long piece of work is; handed to a `progress` callback.

    Attributes:
        stage: "reading", "encoding" or "saving".
        done, total: bytes of source files; `total` is known from the start.
        documents, passages, tokens: counted since the start of this run.
    """

    stage: str
    done: int
    total: int
    documents: int = 0
    passages: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class SkippedGroup:
    """Files that were left out for one reason: how many, and the first few by name."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What one run of indexing changed, and what the index holds afterwards.

    Attributes:
        added, changed, removed, unchanged: files, by what happened to them.
        documents, passages, tokens: in the index after the run.
        encoded: passages that went through the model; `reused` had been encoded before.
        truncated_tokens: tokens that did not fit the model; 0 unless something is wrong.
        skipped: what was left out, by reason.
        notes: sentences about choices that were made on the user's behalf.
    """

    folder: str
    index: str
    added: int
    changed: int
    removed: int
    unchanged: int
    documents: int
    passages: int
    tokens: int
    encoded: int
    encoded_tokens: int
    reused: int
    truncated_tokens: int
    skipped: tuple[SkippedGroup, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def nothing_changed(self) -> bool:
        return self.added == self.changed == self.removed == 0


@dataclass(frozen=True)
class Status:
    """What an index is and holds.

    Attributes:
        engine: what encoded it last.
        bytes: its size on disk.
        complete: the last run came to its end.
    """

    name: str
    index: str
    folder: str
    model: str
    pooling: str
    dimension: int
    max_tokens: int
    documents: int
    passages: int
    tokens: int
    bytes: int
    updated: str
    engine: str
    vectors: str
    skipped: tuple[SkippedGroup, ...]
    fingerprint: Mapping[str, str]
    complete: bool


@dataclass(frozen=True)
class ConvertedModel:
    """A model that was converted for quick starts on this machine."""

    name: str
    weights: str
    layers: int
    bytes: int
    folder: str


@dataclass(frozen=True)
class Word:
    """A whole word, merged from its WordPieces; each special token is a "word" of its own.

    Attributes:
        text: the characters of the source, or the token's name for special tokens.
        start, end: character offsets into the string that the word is part of (see Token).
        kind: "word", "punctuation", "special", "prompt" or "context".
        tokens: positions of its tokens, first and one past the last.
    """

    text: str
    start: int
    end: int
    kind: WordKind
    tokens: tuple[int, int]


@dataclass(frozen=True)
class Term:
    """A query term's addend of the word part of a score."""

    term: str
    contribution: float


@dataclass(frozen=True, eq=False)
class WordMatrices:
    """The two matrices of an explanation, by whole words.

    Attributes:
        contributions: (Q, P) sums of the tokens' addends, so they sum to the same cosine.
        similarity: (Q, P) the highest cosine among the tokens of the two words.
    """

    query: tuple[Word, ...]
    passage: tuple[Word, ...]
    contributions: Matrix
    similarity: Matrix


@dataclass(frozen=True)
class Pair:
    """A query word and a passage word that are each other's best match."""

    query: Word
    passage: Word
    similarity: float


@dataclass(frozen=True)
class Highlight:
    """Characters [start, end) of the passage and what they added to the score."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a passage has its score for a query.

    Attributes:
        query, passage: the two texts; `context` is what was encoded before the passage.
        query_tokens, passage_tokens: the q and p tokens, special tokens included.
        similarity: (q, p) float32 cosines of token vectors at layer `similarity_layer`: which word is
            like which. They do not sum to anything.
        contributions: (q, p) float64 addends of the cosine of the two embeddings, from the last layer:
            what made the score. `contributions.sum()` is `cosine` but for rounding.
        terms: the addends of the word part; empty when the ranking did not use it.
        cosine: of the two embeddings, as stored and as ranked by.
        score: what the hit was ranked by.
        pooling: how the embeddings were made.
    """

    query: str
    passage: str
    context: str
    query_tokens: tuple[Token, ...]
    passage_tokens: tuple[Token, ...]
    similarity: Matrix
    similarity_layer: int
    contributions: Matrix
    terms: tuple[Term, ...]
    cosine: float
    score: float
    mode: str
    pooling: str

    @property
    def residual(self) -> float:
        """Score less all addends: rounding, when everything is right."""
        return self.score - float(self.contributions.sum()) - sum(term.contribution for term in self.terms)

    def words(self) -> WordMatrices:
        """Both matrices with WordPieces merged to whole words."""
        import numpy as np

        query = _words(self.query_tokens, {"text": self.query})
        passage = _words(self.passage_tokens, {"text": self.passage, "context": self.context})
        rows, columns = [w.tokens[0] for w in query], [w.tokens[0] for w in passage]
        added = np.add.reduceat(np.add.reduceat(self.contributions, rows, axis=0), columns, axis=1)
        best = np.maximum.reduceat(np.maximum.reduceat(self.similarity, rows, axis=0), columns, axis=1)
        return WordMatrices(query, passage, added, best)

    def alignment(self, threshold: float = 0.0) -> list[Pair]:
        """Pairs of words that are each other's best match, special tokens and punctuation left out.

        Args:
            threshold: least cosine of a pair, in [-1, 1].
        """
        words = self.words()
        rows = [i for i, word in enumerate(words.query) if word.kind == "word"]
        columns = [j for j, word in enumerate(words.passage) if word.kind == "word"]
        if not rows or not columns:
            return []
        cosines = words.similarity[rows][:, columns]
        best_column, best_row = cosines.argmax(axis=1), cosines.argmax(axis=0)
        return [
            Pair(words.query[rows[i]], words.passage[columns[j]], float(cosines[i, j]))
            for i, j in enumerate(best_column)
            if best_row[j] == i and cosines[i, j] >= threshold
        ]

    def highlights(self) -> list[Highlight]:
        """Every word of the passage with what it added to the score, in the order of the text."""
        words = self.words()
        added = words.contributions.sum(axis=0)
        return [
            Highlight(word.start, word.end, float(added[j]))
            for j, word in enumerate(words.passage)
            if word.kind in ("word", "punctuation")
        ]


def _words(tokens: tuple[Token, ...], sources: Mapping[str, str]) -> tuple[Word, ...]:
    """Neighbouring tokens of the same word, merged."""
    found: list[Word] = []
    first = 0
    for i in range(1, len(tokens) + 1):
        last = tokens[i - 1]
        if (
            i < len(tokens)
            and not last.special
            and tokens[i].part == last.part
            and tokens[i].word == last.word
        ):
            continue
        start, end = tokens[first].start, last.end
        if last.special:
            text, kind = last.text, "special"
        else:
            source = sources.get(last.part)
            text = source[start:end] if source is not None else "".join(t.text for t in tokens[first:i])
            kind = last.part
        if kind == "text":
            kind = "word" if any(character.isalnum() for character in text) else "punctuation"
        found.append(Word(text, start, end, kind, (first, i)))  # type: ignore[arg-type]
        first = i
    return tuple(found)
