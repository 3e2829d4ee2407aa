"""Reader for mail: one document per message of a mailbox, and one per attachment of a kind that is read.

The text is the plain text of a message, or else its HTML. Quoted replies and signatures are set apart: they are in
other passages than the message's own text. The ">" before quoted lines is markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import getaddresses
from itertools import count, pairwise
from mimetypes import guess_extension
from typing import Any, TypeAlias

from search.corpus.dates import iso
from search.corpus.sources import Reason, Skipped, file_stem
from search.corpus.text import one_line
from search.corpus.writing import clean
from search.errors import ReadError
from search.records.documents import LineMap, ParsedDocument, Section

Read: TypeAlias = Callable[[str, bytes], "list[ParsedDocument | Skipped]"]
Begin: TypeAlias = Callable[[str], "AbstractContextManager[None]"]

# "From " separates messages only if the line has a time or nothing, and a header follows; in a text it may begin a
# sentence.
_SEPARATOR = re.compile(rb"(?m)^From ([^\n]*)\n(?=[!-9;-~]+:)")
_CLOCK_TIME = re.compile(rb"\d:\d\d")
_ESCAPED = re.compile(rb"(?m)^>(>*From )")

_QUOTATION = re.compile(r"(?m)(?:^>[^\n]*\n?)+")
_FEWEST_QUOTED = 6  # lines; a shorter quotation in the middle of a message stays with the answer to it
_MESSAGE_END = re.compile(r"(?m)\s*(?:\Z|^--[ ]?$)")
# A signature, or a message that is forwarded or answered below the answer: the rest of the text is set apart.
_SIGNATURE = re.compile(
    r"""(?mx)^(?:--[ ]?$ | _{20,}$ | From:[ ][^\n]+\n(?:Sent|Date):[ ]
        | -{4,}[ ]?(?!BEGIN\ PGP\ SIGNED)[A-Za-z][^\n]{0,60}-{4,}[ \t]*$)"""
)
_SAYS_WHO = re.compile(r"On\b[^\n>]*\n")
_LONGEST_HEADER = (
    10_000  # characters; encoded words of longer ones are not decoded, which takes quadratic time
)
_QUOTE_MARKS = re.compile(r"(?m)^(?:>[ \t]?)+")


def documents(path: str, raw: bytes, read: Read, begin: Begin) -> Iterator[ParsedDocument | Skipped]:
    """Yield the messages of a file, each followed by its attachments.

    Messages and attachments have consecutive record numbers: from 1 in a mailbox; from 0 in an .eml file, which is the
    message itself.

    Args:
        read: reads the documents of a text or an attachment, given a file name and the bytes.
        begin: a message is parsed in this context, which raises ReadError for one that is to be left out.
    """
    is_mailbox = raw.lstrip().startswith(b"From ")
    separators = _SEPARATOR.finditer(raw) if is_mailbox else ()
    starts = [line.span() for line in separators if not line[1].strip() or _CLOCK_TIME.search(line[1])]
    starts = starts or [(0, 0)]
    numbers, line, at = count(int(is_mailbox)), 1, 0
    for (_, start), (end, _) in pairwise([*starts, (len(raw), 0)]):
        line, at = line + raw.count(b"\n", at, start), start
        yield from _Mail(path, _ESCAPED.sub(rb"\1", raw[start:end]), line, read).items(numbers, begin)


class _AsSent(Compat32):
    """Parser policy: headers keep encoded words, folded lines are joined, bytes beyond ASCII are decoded."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        return one_line(value.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


_POLICY: Any = _AsSent(mangle_from_=False)


class _Mail:
    """A message: its bytes, and the line of the file where they start."""

    def __init__(self, path: str, source: bytes, line: int, read: Read) -> None:
        self._path, self._source, self._line, self._read = path, source, line, read

    def items(self, numbers: Iterator[int], begin: Begin) -> Iterator[ParsedDocument | Skipped]:
        """Yield the message and its attachments, numbered."""
        try:
            with begin(self._path):
                items = list(self._items())
        except ReadError as error:
            items = [Skipped("", error.reason, f"line {self._line}; {error.detail}".rstrip("; "))]
        except (MemoryError, SystemError):
            raise
        except Exception as error:  # the parser raises errors of many kinds
            items = [Skipped("", Reason.DAMAGED, f"line {self._line}: {error}")]
        for item, number in zip(items, numbers, strict=False):
            if isinstance(item, ParsedDocument):
                yield replace(item, path=self._path, kind="mail", record=number)
            else:
                yield replace(item, path=f"{self._path}#{number}" if number else self._path)

    def _items(self) -> Iterator[ParsedDocument | Skipped]:
        message: Message = message_from_bytes(self._source, policy=_POLICY)
        parts, metadata = self._located(_leaves(message)), _metadata(message)
        title = metadata.get("subject", "")
        items = [item for part, line in parts if _is_body(part) for item in self._body(part, line)]
        bodies = [item for item in items if isinstance(item, ParsedDocument)]
        if not bodies and title:
            whole = Section(0, len(title))
            bodies = [ParsedDocument("", "", title, "", LineMap((0,), (self._line,)), (whole,))]
        if bodies:
            title = title or file_stem(self._path)
            yield replace(_joined(bodies), title=title, metadata=metadata)
        else:
            items.append(Skipped("", Reason.NO_TEXT, f"line {self._line}"))
        yield from (item for item in items if isinstance(item, Skipped))
        for part, line in parts:
            if not _is_body(part):
                yield from self._attached(part, line, title, metadata)

    def _located(self, parts: Iterable[Message]) -> list[tuple[Message, int]]:
        """Return parts, which are in order, with the lines of the file where their texts start.

        A part whose text is not found has the line of the part before it.
        """
        located: list[tuple[Message, int]] = []
        line, at = self._line, 0
        for part in parts:
            sent = (_content(part), str(part.get_payload()).encode("ascii", "replace"))
            start = max(self._source.find(b"\n" + raw, at) for raw in sent)
            if start >= 0:
                line, at = line + self._source.count(b"\n", at, start + 1), start + 1
            located.append((part, line))
        return located

    def _body(self, part: Message, first: int) -> Iterator[ParsedDocument | Skipped]:
        """Yield a part as a document, with its lines in the file; nothing if it is blank."""
        raw = _content(part)
        is_verbatim = raw in self._source
        with suppress(LookupError, ValueError):  # else the encoding is detected
            raw = clean(raw.decode(part.get_content_charset("ascii"))).encode()
        for item in self._read(f"message.{part.get_content_subtype()}", raw):
            if isinstance(item, ParsedDocument):
                # Lines of a decoded part cannot be located.
                lines = [first + line - 1 if is_verbatim else first for line in item.lines.lines]
                yield replace(item, lines=LineMap(item.lines.offsets, lines))
            elif item.reason not in (Reason.EMPTY, Reason.NO_TEXT):
                yield replace(item, detail=f"line {first}; {item.detail}")

    def _attached(
        self, part: Message, line: int, title: str, metadata: dict[str, Any]
    ) -> Iterator[ParsedDocument | Skipped]:
        """Yield the documents of an attachment. Its own metadata override those of the message."""
        name = _name(part)
        for item in self._read(name, _content(part)):
            if isinstance(item, ParsedDocument):
                merged = {**metadata, **item.metadata, "attachment": name}
                item = replace(item, title=f"{title}: {item.title}", lines=LineMap((0,), (line,)))
                yield replace(item, metadata=merged)
            else:
                yield replace(item, detail=f"attachment '{name}' {item.detail}".strip())


def _leaves(part: Message) -> list[Message]:
    """Return the parts that are not containers; of alternatives with plain text, only the plain text."""
    children: Any = part.get_payload()
    if part.get_content_maintype() != "multipart" or not isinstance(children, list):
        return [part]
    leaves = [leaf for child in children for leaf in _leaves(child)]
    bodies = [leaf for leaf in leaves if _is_body(leaf)]
    plain = [leaf for leaf in bodies if leaf.get_content_type() == "text/plain"]
    if part.get_content_subtype() == "alternative" and any(_content(leaf).strip() for leaf in plain):
        others = {id(leaf) for leaf in bodies} - {id(leaf) for leaf in plain}
        return [leaf for leaf in leaves if id(leaf) not in others]
    return leaves


def _is_body(part: Message) -> bool:
    """Return True if a part is text of the message itself; a multipart without parts counts as damaged text."""
    is_text = part.get_content_maintype() in ("text", "multipart") and not part.get_filename()
    is_shown = part.get_content_disposition() != "attachment"
    return is_text and is_shown and part.get_content_subtype() != "calendar"


def _content(part: Message) -> bytes:
    """Return the decoded bytes of a part; of an attached message, its source."""
    raw: Any = part.get_payload(decode=True)
    children: Any = part.get_payload()
    return raw if raw is not None else b"\n".join(child.as_bytes() for child in children)


def _name(part: Message) -> str:
    """Return the file name of an attachment; without a suffix, it gets that of its type."""
    name = _words(part.get_filename() or part.get_content_maintype())
    return name if "." in name else name + (guess_extension(part.get_content_type()) or "")


def _metadata(message: Message) -> dict[str, Any]:
    values = {
        "from": ", ".join(_people(message, "from")),
        "to": _people(message, "to", "cc"),
        "date": iso(message.get("date"))[:10],
        "subject": _words(message.get("subject", "")),
    }
    return {name: value for name, value in values.items() if value}


def _people(message: Message, *fields: str) -> list[str]:
    """Return the names of the people in some headers; for people without a name, the address."""
    values = [value for field in fields for value in message.get_all(field, [])]
    names = [_words(name) or address for name, address in getaddresses(values)]
    return list(filter(None, names)) or list(map(_words, values))


def _words(value: str) -> str:
    """Decode the encoded words of a header; a header with damaged words stays as it was sent."""
    with suppress(HeaderParseError, LookupError, ValueError):
        if len(value) <= _LONGEST_HEADER:
            value = str(make_header(decode_header(value)))
    return one_line(clean(value))


def _joined(bodies: list[ParsedDocument]) -> ParsedDocument:
    """Return the texts of a message as one document, with quotations set apart."""
    first, *others = bodies
    text = "\n\n".join(body.text for body in bodies)
    rest = [Section(len(first.text), len(text))] if others else []
    apart = first.apart or tuple(_apart(text))
    marks = tuple(offset for match in _QUOTE_MARKS.finditer(text) for offset in match.span())
    return replace(first, text=text, sections=(*first.sections, *rest), apart=apart, marks=marks)


def _apart(text: str) -> Iterator[int]:
    """Yield start and end offsets, alternating, of long or final quotations, and of a signature."""
    signature = _SIGNATURE.search(text)
    stop = signature.start() if signature else len(text)
    for quotation in _QUOTATION.finditer(text, 0, stop):
        start, end = quotation.span()
        n_lines = quotation[0].count("\n") + (not quotation[0].endswith("\n"))
        if n_lines >= _FEWEST_QUOTED or _MESSAGE_END.match(text, end):
            yield from (_introduction(text, start), end)
    if signature:
        yield from (stop, len(text))


def _introduction(text: str, quotation: int) -> int:
    """Return where "On Monday, Ann wrote:" above a quotation starts; `quotation` if there is nothing like it."""
    end = quotation - text.endswith("\n\n", 0, quotation)
    start = text.rfind("\n", 0, max(end - 1, 0)) + 1
    line = text[start:end]
    if ">" in line or not line.rstrip(" \t\n").endswith(":"):
        return quotation
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return above if _SAYS_WHO.fullmatch(text, above, start) else start
