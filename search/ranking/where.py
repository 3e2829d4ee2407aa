"""The filter language, which restricts a search to some passages.

    path:docs/** and not kind=code and mtime>=2024-01-01
    (tags in (python, "C++") or title:rotat*) and not has draft

    filter      = condition, joined by "and" and "or"; "and" binds closer
    condition   = "not" condition | "(" filter ")" | "has" field
                | field ("=" | "!=" | "<" | "<=" | ">" | ">=" | ":") value
                | field "in" "(" value {"," value} ")"
    field       = path | name | kind | title | heading | page | size | mtime | text, or a name from the metadata or
                  from annotations: parts joined by "."; "map.topic" is the topic of a document on the map
    part, value = a word, or quoted: "a b" or 'a b'; write a quote inside quotes twice

Case does not matter in keywords and in names of fields. Every condition is either true or false for a passage:
`lang != en` means `not lang = en`, so it is true for a passage without `lang`. `search.store.conditions` defines the
values of fields, and `search.store.filters` finds the passages.

The parser is written by hand: importing a parser library takes longer (pyparsing: 40 ms) than a query, and its error
messages would have to be rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from search.corpus.patterns import parse as parsed_glob
from search.errors import InputError
from search.records.document_map import TOPIC_FIELD
from search.records.documents import BUILT_IN_FIELDS
from search.records.filter_text import Filter, filter_text
from search.store.conditions import (
    Condition,
    Field,
    FieldComparison,
    Joined,
    Not,
    Value,
    Where,
    comparisons,
    local_time,
    wrong,
)

KINDS = (
    "markdown", "rst", "html", "csv", "jsonl", "mail", "code", "text", "pdf", "image", "docx", "pptx", "xlsx", "epub",
    "notebook", "odt", "ods", "odp", "rtf", "org", "asciidoc", "tex", "man", "subtitles", "ics", "vcf",
)  # fmt: skip

# Each also matches the space after it.
_SPACE = re.compile(r"\s*")
_OPERATOR = re.compile(r"(!=|<=|>=|=|<|>|:)\s*")
_OPEN, _COMMA, _CLOSE = (re.compile(rf"(\{mark})\s*") for mark in "(,)")
_WORD = re.compile(r"""([^\s(),'"=<>!:][^\s(),'"]*)\s*""")

# A field name: parts joined by dots, without spaces.
_PART = re.compile(r"""([^\s()=!<>:,'".]+)""")
_QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_DOT = re.compile(r"(\.)")

_AGO = re.compile(r"(?:(\d{1,5})|last) ?(h|hours?|d|days?|w|weeks?|months?|y|years?)", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAY = {"today": 0, "yesterday": 1}
_WORDS = 'to find words of the text, write text:"two words"; for a field named text, write metadata.text'
_TIME = "not a date; use 2024-05-01, 12h, 7d, 2w, 3months, 1y or yesterday"

_KEYWORDS = ("and", "or", "not", "in", "has")

# SQLite's parser has a stack of 100 tokens, and a limit of 1,000 on the depth of trees.
_MAX_DEPTH = 20
_MAX_CONDITIONS = 256


def parse(text: str) -> Where:
    """Read a filter.

    Raises:
        InputError: the filter is invalid; the message shows where.

    Example:
        >>> parse("page>=3").condition.operator
        '>='
    """
    return Where(text, _Parser(text).filter())


def combined(where: Filter | None = None, **limits: str | None) -> Where | None:
    """Combine a filter with `since` and `until`, the first and last date of documents; None if all three are missing.

    Raises:
        InputError: one of them is invalid.
    """
    text = filter_text(where)
    conditions = [] if text is None else [parse(text).condition]
    conditions += [_limit(name, time) for name, time in limits.items() if time is not None]
    joined = Joined("and", tuple(conditions))
    return Where(text or " and ".join(limits), joined) if conditions else None


def is_of_topic(field: Field) -> bool:
    """Return True for the field that means the topics of the map; see `search.ranking.topics`."""
    return field.column == "metadata" and field.name.casefold() == TOPIC_FIELD


def has_topics(where: Where) -> bool:
    """Return True if a filter has conditions on topics."""
    return any(is_of_topic(leaf.field) for leaf in comparisons(where.condition))


def _limit(name: str, time: str) -> Condition:
    value = _time(Value(time.strip(), False))
    if value.date is None:
        raise InputError(f"'{time}' is {_TIME}.")
    return FieldComparison(Field("dated", (name,), 0), ">=" if name == "since" else "<=", (value,))


class _Parser:
    """Reads a text from left to right; each method reads one rule of the grammar, or raises InputError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.conditions = 0

    def filter(self) -> Condition:
        self.take(_SPACE)
        if self.is_at_end():
            raise InputError(
                "the filter is empty. Write a condition such as kind=markdown, or leave the filter out."
            )
        condition = self.any_of(0)
        if not self.is_at_end():
            raise self.unexpected("'and', 'or' or the end")
        return condition

    def any_of(self, depth: int) -> Condition:
        return self.joined("or", self.all_of, depth)

    def all_of(self, depth: int) -> Condition:
        return self.joined("and", self.condition, depth)

    def joined(self, word: str, rule: Callable[[int], Condition], depth: int) -> Condition:
        conditions = [rule(depth)]
        while self.take_keyword(word):
            conditions.append(rule(depth))
        return conditions[0] if len(conditions) == 1 else Joined(word, tuple(conditions))

    def condition(self, depth: int) -> Condition:
        start = self.at
        if depth > _MAX_DEPTH:
            raise wrong(self.text, start, f"conditions nested more than {_MAX_DEPTH} levels deep")
        if self.take_keyword("not"):
            return Not(self.condition(depth + 1))
        if self.take(_OPEN):
            condition = self.any_of(depth + 1)
            self.require(_CLOSE, f"'and', 'or' or ')' for the '(' in column {start + 1}")
            return condition
        self.conditions += 1
        if self.conditions > _MAX_CONDITIONS:
            problem = f"more than {_MAX_CONDITIONS} conditions; for many values of one field, write: FIELD in (A, B)"
            raise wrong(self.text, start, problem)
        if self.take_keyword("has"):
            field = self.field()
            if field.column == "text":
                raise wrong(self.text, field.at, _WORDS)
            return FieldComparison(field, "has", ())
        return self.comparison()

    def comparison(self) -> Condition:
        field = self.field()
        if self.take_keyword("in"):
            return self.one_of(field)
        operator = self.require(_OPERATOR, f"one of = != < <= > >= : in, after the field '{field.name}'")
        value = self.value(field, operator, f"a value after '{operator}'")
        if operator == "!=":
            return Not(FieldComparison(field, "=", (value,)))
        return FieldComparison(field, operator, (value,))

    def one_of(self, field: Field) -> Condition:
        self.require(_OPEN, "'(' and a list of values")
        values = [self.value(field, "=", "a value")]
        while self.take(_COMMA):
            values.append(self.value(field, "=", "a value"))
        self.require(_CLOSE, "',' or ')'")
        return FieldComparison(field, "=", tuple(values))

    def field(self) -> Field:
        start = self.at
        if self.keyword():
            raise self.unexpected(
                "a field name (quote it if it is one of these words: and, or, not, in, has)"
            )
        parts = [self.part()]
        while self.take(_DOT):
            parts.append(self.part())
        self.take(_SPACE)
        first = parts[0].casefold()
        if len(parts) == 1 and first in BUILT_IN_FIELDS:
            return Field(first, (first,), start)
        if len(parts) > 1 and first == "metadata":
            parts = parts[1:]
        return Field("metadata", tuple(parts), start)

    def part(self) -> str:
        quoted = self.quoted()
        return self.require(_PART, "the name of a field") if quoted is None else quoted

    def value(self, field: Field, operator: str, expected: str) -> Value:
        at = self.at
        quoted = self.quoted()
        if quoted is not None:
            self.take(_SPACE)
            value = Value(quoted, True, at)
        else:
            value = Value(self.require(_WORD, expected), False, at)
            if field.column == "mtime":
                value = _time(value)
            elif field.name.casefold() == "date":
                value = _age(value)
            if self.text[self.at : self.at + 1] in ("'", '"') and not self.text[self.at - 1].isspace():
                raise wrong(self.text, self.at, "a quote inside a value; put the whole value in quotes")
        problem = _problem(field, operator, value)
        if problem:
            raise wrong(self.text, at, problem)
        return value

    def quoted(self) -> str | None:
        """Read a quoted text, without its quotes; None if there is no quote here."""
        mark = self.text[self.at : self.at + 1]
        if mark not in ("'", '"'):
            return None
        start = self.at
        text = self.take(_QUOTED)
        if not text:
            raise wrong(self.text, start, "unclosed quote")
        return text[1:-1].replace(mark * 2, mark)

    def keyword(self) -> str:
        """Return the keyword at this position, "" if there is none."""
        match = _PART.match(self.text, self.at)
        word = match[0].casefold() if match else ""
        return word if word in _KEYWORDS else ""

    def take_keyword(self, keyword: str) -> bool:
        if self.keyword() != keyword:
            return False
        self.take(_PART)
        self.take(_SPACE)
        return True

    def take(self, pattern: re.Pattern[str]) -> str:
        """Consume the match of a pattern at this position; "" if there is none."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[match.lastindex or 0]

    def require(self, pattern: re.Pattern[str], expected: str) -> str:
        text = self.take(pattern)
        if not text:
            raise self.unexpected(expected)
        return text

    def is_at_end(self) -> bool:
        return self.at >= len(self.text)

    def unexpected(self, expected: str) -> InputError:
        if self.is_at_end():
            return wrong(self.text, self.at, f"expected {expected}, found the end")
        match = _PART.match(self.text, self.at)
        word = match[0] if match else self.text[self.at]
        hint = "; a value with spaces or brackets needs quotes" if "'and'" in expected else ""
        return wrong(self.text, self.at, f"expected {expected}, found '{word:.40}'{hint}")


def _time(value: Value) -> Value:
    """Convert an age to a date, and a time with a zone to local time; return others unchanged."""
    value = _age(value)
    return Value(local_time(value.text), value.quoted, value.at)


def _age(value: Value) -> Value:
    """Convert an age ("7d") to a date and time to the minute, and "yesterday" to a date; return others unchanged."""
    match, days = _AGO.fullmatch(value.text), _DAY.get(value.text.casefold())
    now = datetime.now()
    try:
        if days is not None:
            return Value(f"{now - timedelta(days):%Y-%m-%d}", False, value.at)
        if match:
            then = now - timedelta(int(match[1] or 1) * _DAYS[match[2][0].lower()])
            return Value(then.isoformat(timespec="minutes"), False, value.at)
    except OverflowError:
        pass
    return value


def _problem(field: Field, operator: str, value: Value) -> str:
    """Return the reason why a comparison can never match; "" if it can."""
    if field.column == "name" and operator == ":" and "/" in value.text:
        return "a file name contains no '/'; use path: for folders"
    if field.column in ("path", "name") and operator == ":":
        pattern = parsed_glob(value.text)
        if pattern is None or pattern.negated:
            return "invalid pattern; write it as in .gitignore, for example docs/**, and use 'not' to exclude"
    if field.column == "text" and operator != ":":
        return _WORDS
    if field.column == "kind" and operator in ("=", "!=") and value.text.casefold() not in KINDS:
        return f"unknown kind '{value.text}'; choose from {', '.join(KINDS)}"
    if field.column in ("page", "size") and operator != ":" and value.number is None:
        return "not a number; write for example page>=3 or size>10000 (bytes)"
    if field.column == "mtime" and (value.date is None or operator == ":"):
        return _TIME
    return ""
