"""Cut documents into passages, the unit that is embedded and ranked.

A passage is a half-open character span [start, end) of its document: document.text[start:end] is exactly the passage's
text. Markup is removed before cutting, and the spans are mapped back to the source. Every passage, with its context,
fits the model; its tokens are counted with the model's own tokenizer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from search.corpus.blocks import (
    Chunk,
    Contexts,
    blocks,
    even_out,
    join_chunks,
    safe_stop,
    spans,
    split_apart,
    without_scraps,
)
from search.corpus.markup import markup
from search.corpus.sources import Reason, file_name, file_stem
from search.errors import InputError, ReadError
from search.records.documents import ParsedDocument, Passage
from search.records.visible_text import VisibleText

if TYPE_CHECKING:
    from semantic_text_splitter import TextSplitter
    from tokenizers import Tokenizer

# Kinds in which no passage spans two pages, because people look for a slide or a sheet.
_PAGED_KINDS = ("pptx", "xlsx", "odp", "ods")

# A context takes at most a third of the model's input, however long the headings are.
_ROOM_PER_CONTEXT = 3

# A piece of a section with less than a third of a passage's tokens is short.
_SHORT_PIECES_PER_PASSAGE = 3

# Characters in a window for each token of a passage, four times what English needs.
_WINDOW = 20

# A passage that does not fit with its context loses it if its text has at most so many characters; a longer one is
# cut again.
_TOO_SHORT_TO_CUT = 32

# A single character can be several tokens (bytes, or letters once it is normalised).
_FEWEST_TOKENS = 8


class Stopped(Exception):
    """Cutting was stopped because its result is no longer needed."""


class Cutter:
    """Cuts documents into passages for one model. Safe to share between threads.

    Args:
        tokenizer: tokenizer of the model. A copy is used, without truncation and padding.
        max_tokens: maximum number of tokens the model reads, special tokens included.
        passage_tokens: maximum number of tokens of a passage's own text.
        context_tokens: maximum number of tokens of its context, the title and headings that are encoded with it.
        overlap: maximum number of tokens that a passage shares with the previous one, within a section.
        boilerplate: keys of texts that become passages of their own; see `search.corpus.boilerplate`.
        heading_context: encode the title and headings with each passage. If False, only records (a CSV row, a line of
            JSONL) have a context, their title.

    Raises:
        InputError: `max_tokens` leaves no room for text.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        max_tokens: int,
        passage_tokens: int = 180,
        context_tokens: int = 48,
        overlap: int = 0,
        heading_context: bool = True,
        boilerplate: frozenset[int] = frozenset(),
    ) -> None:
        self._tokens = TokenCounter(tokenizer)
        # Tokens that are left for context and text.
        self._room = max_tokens - self._tokens.special
        if self._room < _FEWEST_TOKENS:
            raise InputError(
                f"max_tokens={max_tokens} leaves only {self._room} tokens for text after special "
                f"tokens; at least {_FEWEST_TOKENS} are needed. Use another model."
            )
        self.max_tokens = max_tokens
        self._passage_tokens = min(passage_tokens, self._room)
        self._context_tokens = min(context_tokens, self._room // _ROOM_PER_CONTEXT)
        self._heading_context = heading_context
        self._overlap = overlap
        self._boilerplate = boilerplate
        self._window = _WINDOW * self._passage_tokens  # characters
        self._splitters: dict[int, TextSplitter] = {}
        self._stopped = False

    def stop(self) -> None:
        """Stop all cutting, now and later, from another thread: `cut` raises `Stopped` at its next passage."""
        self._stopped = True

    def cut(self, document: ParsedDocument) -> list[Passage]:
        """Return the passages of a document, in order.

        Every character of its sections except whitespace and markup is in a passage; without overlap, in exactly one.
        No passage begins or ends with whitespace. `n_tokens` counts the tokens of `Passage.encoded`, special tokens
        included, and is at most `max_tokens`. Neighbouring sections that fit into one passage are joined. When a
        section is cut, a piece shorter than a third of `passage_tokens` is joined to its neighbour, or both are cut
        again in the middle.

        Raises:
            ReadError: "indivisible" if a single character has more tokens than the model reads.
            Stopped: `stop` was called.
        """
        read, source = without_markup(document)
        self._tokens.learn(read.text)
        passages: list[Passage] = []
        for chunk in self._chunks(read):
            for part, n_tokens in self._halved(read, source, chunk):
                after = passages[-1].end if passages else 0
                passages.append(
                    _passage_with_marks(document, source, part, n_tokens + self._tokens.special, after)
                )
        return passages

    def cut_at(self, document: ParsedDocument, places: Iterable[tuple[int, int, bytes]]) -> list[Passage]:
        """Return the passages of a document that a program has cut; their context is the title.

        Args:
            places: start, end and embedding of each passage, b"" to encode it. Without an embedding, a passage that is
                longer than the model reads is cut.

        Raises:
            ReadError: as for `cut`.
        """
        read, source = without_markup(document)
        self._tokens.learn(read.text)
        context = self._contexts(document).of(())
        passages: list[Passage] = []
        for start, end, vector in places:
            place = _stripped(read.text, source.visible_offset(start), source.visible_offset(end))
            chunk = Chunk(place[0], *place, (), (), 0, 0, context=context)
            if vector:
                passages.append(_passage(document, source, start, end, context, 0, vector))
                continue
            if chunk.start == chunk.end:
                continue
            parts = [*self._halved(read, source, chunk)]
            if len(parts) == 1:
                n_tokens = parts[0][1] + self._tokens.special
                passages.append(_passage(document, source, start, end, parts[0][0].context, n_tokens))
                continue
            passages += [
                _passage_with_marks(document, source, part, n_tokens + self._tokens.special, start)
                for part, n_tokens in parts
            ]
        return passages

    def _chunks(self, document: ParsedDocument) -> Iterator[Chunk]:
        """Yield chunks that probably fit, with their contexts, without whitespace at their ends."""
        text = document.text
        contexts = self._contexts(document)
        aliases = document.metadata.get("aliases")
        names = ", ".join(map(str, aliases)) if isinstance(aliases, list) else ""
        room = self._room - self._context_tokens
        most = min(self._passage_tokens, room)
        breaks = frozenset(document.pages if document.kind in _PAGED_KINDS else ())
        header_ends = document.tables[1::3]
        for chunk in join_chunks(self._parts(document, contexts), most, room, breaks):
            start, end = _stripped(text, chunk.start, chunk.end)
            context = contexts.with_line(contexts.of(chunk.trail, chunk.headings), names)
            if table := bisect_right(header_ends, start):
                header_start, header_end, table_end = document.tables[3 * table - 3 : 3 * table]
                if start < table_end:
                    context = contexts.with_line(context, text[header_start:header_end])
            if start < end:
                yield replace(chunk, start=start, end=end, context=context)

    def _contexts(self, document: ParsedDocument) -> Contexts:
        most = self._context_tokens if self._heading_context or document.record else 0
        # A title that is only the file's name, or the text itself, adds nothing as a context.
        no_title = (file_name(document.path), file_stem(document.path), document.text)
        return Contexts("" if document.title in no_title else document.title, most, self._tokens.count)

    def _parts(self, document: ParsedDocument, contexts: Contexts) -> Iterator[Chunk]:
        """Yield each block as one chunk, or as several if it is too long for one passage."""
        text = document.text
        document_blocks = [
            part for block in blocks(document) for part in split_apart(document, block, self._boilerplate)
        ]
        for block in document_blocks:
            if self._stopped:
                raise Stopped
            context_cost = max(
                contexts.cost(contexts.of(block.trail, own)) for own in (block.headings, ())
            )
            capacity = min(self._passage_tokens, self._room - context_cost)
            is_long = block.end - block.start > self._window
            n_tokens = capacity + 1 if is_long else self._tokens.count(text[block.start : block.end])
            if n_tokens <= capacity:
                yield replace(block, n_tokens=n_tokens)
                continue
            for start, end in self._cut(document, block, capacity):
                if self._stopped:
                    raise Stopped
                yield replace(block.part(start, end), n_tokens=self._tokens.count(text[start:end]))

    def _cut(self, document: ParsedDocument, block: Chunk, capacity: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of a block that is too long for one passage.

        No span is too short for a passage of its own. The block's headings stay with the first span.
        """

        def fits(part: str) -> bool:
            return len(part) <= self._window and self._tokens.count(part.strip()) <= capacity

        def is_short(part: str) -> bool:
            return self._tokens.count(part.strip()) < capacity // _SHORT_PIECES_PER_PASSAGE

        text = document.text
        cuts = without_scraps(text, self._split(document, block, capacity))
        return even_out(text, cuts, block.body, fits, is_short)

    def _split(self, document: ParsedDocument, block: Chunk, capacity: int) -> Iterator[tuple[int, int]]:
        """Yield spans of a block, each as long as possible; the last one may be short."""
        text, body = document.text, block.body
        n_heading = self._tokens.count(text[block.start : body])
        if n_heading > capacity // 2:
            body, n_heading = block.start, 0
        splitter = self._splitter(capacity - n_heading)
        cuts = spans(splitter, text, body, block.end, self._window)
        _, end = next(cuts, (body, block.end))
        yield block.start, end
        yield from cuts

    def _splitter(self, capacity: int) -> TextSplitter:
        from semantic_text_splitter import TextSplitter

        if capacity not in self._splitters:
            overlap = min(self._overlap, capacity // 2)
            # A splitter that gets the tokenizer itself keeps a copy of 10 MB and is no faster.
            self._splitters[capacity] = TextSplitter.from_callback(
                self._tokens.count, capacity, overlap=overlap
            )
        return self._splitters[capacity]

    def _halved(
        self, document: ParsedDocument, source: VisibleText, chunk: Chunk
    ) -> Iterator[tuple[Chunk, int]]:
        """Yield a chunk with its number of tokens; a chunk that does not fit is cut until its parts do, in order.

        A tokenizer may make more tokens of context and text together than of the two separately. This is rare, so it
        matters little where the chunk is cut.
        """
        todo = [chunk]
        while todo:
            chunk = todo.pop()
            n_tokens = self._tokens.count(_encoded(document, chunk))
            length = chunk.end - chunk.start
            if n_tokens <= self._room:
                yield chunk, n_tokens
            elif chunk.context and length <= _TOO_SHORT_TO_CUT:
                todo.append(replace(chunk, context=""))
            elif length > 1:
                middle = safe_stop(document.text, chunk.start, chunk.start + max(1, length * 2 // 3))
                for start, end in ((middle, chunk.end), (chunk.start, middle)):
                    start, end = _stripped(document.text, start, end)
                    if start < end:
                        todo.append(replace(chunk, start=start, end=end))
            else:
                line, _ = document.lines.span(*source.span(chunk.start, chunk.end))
                whole = n_tokens + self._tokens.special
                detail = f"line {line}: one character takes {whole} tokens, but the model reads {self.max_tokens}"
                raise ReadError(document.name, Reason.INDIVISIBLE, detail)


def _encoded(document: ParsedDocument, chunk: Chunk) -> str:
    text = document.text[chunk.start : chunk.end]
    return f"{chunk.context}\n{text}" if chunk.context else text


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip whitespace from both ends of a span; start == end if nothing is left."""
    span = text[start:end]
    end -= len(span) - len(span.rstrip())
    return min(start + len(span) - len(span.lstrip()), end), end


def without_markup(document: ParsedDocument) -> tuple[ParsedDocument, VisibleText]:
    """Return a document without its markup, with adjusted offsets, and the mapping back to the source."""
    source = VisibleText(document.text, markup(document))
    if not source.text.strip():  # nothing but marks: keep them, so that the document can be found
        source = VisibleText(document.text, ())
    sections = tuple(
        replace(
            section, start=source.visible_offset(section.start), end=source.visible_offset(section.end)
        )
        for section in document.sections
    )
    places = (document.pages, document.apart, document.tables)
    pages, apart, tables = (tuple(map(source.visible_offset, offsets)) for offsets in places)
    read = replace(document, text=source.text, sections=sections, pages=pages, apart=apart, tables=tables)
    return read, source


def _passage_with_marks(
    document: ParsedDocument, source: VisibleText, chunk: Chunk, n_tokens: int, after: int
) -> Passage:
    """Map a chunk to its span in the source, including adjacent marks on its first and last line.

    Args:
        after: end of the previous passage.
    """
    start, end = source.span(chunk.start, chunk.end)
    start, end = source.with_marks(document.text, start, end, after)
    passage = _passage(document, source, start, end, chunk.context, n_tokens)
    return replace(passage, heading=chunk.heading)


def _passage(
    document: ParsedDocument,
    source: VisibleText,
    start: int,
    end: int,
    context: str,
    n_tokens: int,
    vector: bytes = b"",
) -> Passage:
    """Return the passage of a span of the source."""
    line_start, line_end = document.lines.span(start, end)
    return Passage(
        start=start,
        end=end,
        text=document.text[start:end],
        heading="",
        context=context,
        line_start=line_start,
        line_end=line_end,
        n_tokens=n_tokens,
        page=document.page(start),
        hidden=source.hidden(start, end),
        vector=vector,
    )


# Words, split only at characters that every tokenizer treats as whitespace; some tokenizers drop the others.
_WORD = re.compile(r"[^ \t\n\r]+")
# ASCII characters at which `str.split` splits, too.
_OTHER_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f"

_WORDS_KEPT = 2**18
_LONGEST_WORD = 100  # characters of a word that is kept


class TokenCounter:
    """Counts the tokens of texts. Safe to share between threads.

    If the tokenizer never merges across whitespace (WordPiece does not), a text has as many tokens as its words, so
    each distinct word is tokenised once, all new ones of a document together; this takes a fraction of the time.
    Byte-pair and unigram tokenizers include the space in their tokens, so every text is tokenised whole.

    Args:
        tokenizer: a copy is used, without truncation and padding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special = self._tokenizer.num_special_tokens_to_add(False)
        self._by_words = goes_by_words(self._tokenizer)
        self._of_word: dict[str, int] = {}  # number of tokens

    def learn(self, text: str) -> None:
        """Tokenise the new words of a text at once, so that its parts are counted quickly."""
        if self._by_words:
            if len(self._of_word) > _WORDS_KEPT:
                self._of_word = {}
            self._learn(_words(text))

    def _learn(self, words: list[str]) -> None:
        new = [word for word in {*words}.difference(self._of_word) if len(word) <= _LONGEST_WORD]
        if new:
            self._of_word |= zip(new, self._tokenised(new), strict=True)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without special tokens."""
        if self._by_words:
            words, counts = _words(text), self._of_word
            with suppress(KeyError):
                return sum(map(counts.__getitem__, words))
            self._learn(words)  # a part of a word, at the end of a piece
            with suppress(KeyError):
                return sum(map(self._of_word.__getitem__, words))
        (n_tokens,) = self._tokenised([text])
        return n_tokens

    def _tokenised(self, texts: list[str]) -> list[int]:
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]


def _words(text: str) -> list[str]:
    if text.isascii() and not any(space in text for space in _OTHER_SPACES):
        return text.split()  # four times as fast
    return _WORD.findall(text)


def goes_by_words(tokenizer: Tokenizer) -> bool:
    """Return True if a text always has as many tokens as its words, split at whitespace."""
    from tokenizers import models, normalizers, pre_tokenizers

    return (
        isinstance(tokenizer.model, models.WordPiece)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and isinstance(tokenizer.normalizer, normalizers.BertNormalizer)
        and not any(
            re.search(r"\s", token.content) for token in tokenizer.get_added_tokens_decoder().values()
        )
    )
