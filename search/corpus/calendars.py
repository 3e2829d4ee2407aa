"""Reader for calendars (iCalendar) and address books (vCard): one document per event, task or contact.

Both consist of lines `NAME;PARAMETER=VALUE:VALUE`; a line that begins with a space continues the one before it.
"""

from __future__ import annotations

import quopri
import re
from collections import defaultdict
from collections.abc import Iterator

from search.corpus.sources import Reason, Skipped, file_stem
from search.corpus.text import KEPT_LINE, one_line
from search.records.documents import LineMap, ParsedDocument, Section

_RECORDS = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:\"[^\"]*\"|[^;:\"])*)*):(.*)", re.DOTALL)
_ESCAPE, _SEPARATOR = re.compile(r"\\(.)", re.DOTALL), re.compile(r"(?<!\\);")
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)\S*)?")
_ABOUT = re.compile(r";(?:CN|TYPE)=\"?([^;:\"]+)", re.IGNORECASE)
# The words before the value of each property, in the order in which they are added.
_WORDS = {
    "SUMMARY": "", "FN": "", "DTSTART": "Date: ", "DTEND": "Until: ", "DUE": "Due: ", "LOCATION": "Place: ",
    "ORGANIZER": "Organiser: ", "ATTENDEE": "With: ", "DESCRIPTION": "", "CATEGORIES": "Categories: ",
    "NICKNAME": "Called ", "ORG": "Organisation: ", "TITLE": "Position: ", "TEL": "Telephone: ", "EMAIL": "Mail: ",
    "ADR": "Address: ", "BDAY": "Birthday: ", "URL": "Page: ", "NOTE": "",
}  # fmt: skip
_METADATA = {
    "DTSTART": "date",
    "LOCATION": "place",
    "ORGANIZER": "organiser",
    "CATEGORIES": "categories",
}
_TITLES = ("SUMMARY", "FN", "N", "ORG")


def documents(path: str, kind: str, text: str) -> Iterator[ParsedDocument | Skipped]:
    """Yield a document per event, task, journal entry or contact, numbered from 1."""
    for number, (first, last, values) in enumerate(_records(text), 1):
        title = next((values[name][0] for name in _TITLES if values[name]), "")
        pieces = [words + value for name, words in _WORDS.items() for value in values[name]]
        body = "\n".join(pieces) or title
        if not body:
            yield Skipped(f"{path}#{number}", Reason.EMPTY, f"line {first}: without text")
            continue
        yield ParsedDocument(
            path,
            kind,
            body,
            one_line(title) or file_stem(path),
            LineMap((0, len(body)), (first, last), whole=True),
            (Section(0, len(body)),),
            number,
            {key: one_line(", ".join(values[name])) for name, key in _METADATA.items() if values[name]},
        )


def _records(text: str) -> Iterator[tuple[int, int, defaultdict[str, list[str]]]]:
    """Yield each event, task or contact: its first and last line, and its values by property."""
    record, start, depth = "", 0, 0  # the open record, and how many components are open within it
    values = defaultdict[str, list[str]](list)
    for first, last, line in _unfolded(text):
        name, parameters, value = match.groups() if (match := _LINE.match(line)) else ("", "", "")
        name, component = name.upper(), value.strip().upper()
        if name == "BEGIN" and component in _RECORDS:
            record, start, depth, values = component, first, 0, defaultdict(list)
        elif name == "BEGIN":
            depth += 1
        elif name == "END" and record and component == record:
            yield start, last, values
            record = ""
        elif name == "END":
            depth = max(0, depth - 1)
        elif record and not depth and (words := _words(name, parameters, value)).strip():
            values[name].append(words)


def _unfolded(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each line with its continuations, and its first and last line in the file."""
    first, pieces, is_quoted = 1, [""], False
    for number, line in enumerate([*KEPT_LINE.findall(text), ""], 1):
        line = line.rstrip("\r\n")
        if is_quoted and pieces[-1].endswith("="):
            pieces[-1] = pieces[-1][:-1]
            pieces.append(line)
        elif line[:1] in ("\t", " ") and line:
            pieces.append(line[1:])
        else:
            yield first, number - 1, "".join(pieces)
            first, pieces, is_quoted = number, [line], "QUOTED-PRINTABLE" in line.upper()


def _words(name: str, parameters: str, value: str) -> str:
    """Return the value of a property as text."""
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
    if name in ("DTSTART", "DTEND", "DUE", "BDAY"):
        return _DATE.sub(
            lambda at: "-".join(at.group(1, 2, 3)) + (f" {at[4]}:{at[5]}" if at[4] else ""), value
        )
    parts = _SEPARATOR.split(value) if name in ("N", "ADR", "ORG") else [value]
    texts = (_ESCAPE.sub(lambda at: "\n" if at[1] in "nN" else at[1], part) for part in parts)
    words = re.sub("(?i)^mailto:", "", ", ".join(filter(str.strip, texts)))
    about = ", ".join(_ABOUT.findall(parameters)) if name not in ("N", "FN", "NOTE") else ""
    return f"{words} ({about})" if about and words else words
