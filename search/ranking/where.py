"""The language of filters: which passages a search chooses from.

    path:docs/** and lang=en and date>=2024-01-01
    (tags in (python, "C++") or title:rotat*) and not has draft

    filter      = condition, joined by "and" and "or"; "and" binds closer
    condition   = "not" condition | "(" filter ")" | "has" field
                | field ("=" | "!=" | "<" | "<=" | ">" | ">=" | ":") value
                | field ["not"] "in" "(" value {"," value} ")"
    field       = path | kind | title | heading | page, or a name from the metadata or from annotations: parts
                  joined by "."
    part, value = a word, or quoted: "a b" or 'a b', in which a doubled quote stands for one

The words of the language and names of fields may be in any case. Every condition is either true or false
of a passage: `lang != en` is `not lang = en`, so it is true where there is no `lang`. What values
mean is in `search.store.conditions`; how passages are found, in `search.store.filters`.

Written by hand, as a parser library would save some thirty lines and cost its import (pyparsing: 40 ms)
in a query that takes milliseconds, and its errors would have to be put in these words anyway.
"""

from __future__ import annotations

import re

from search.corpus.patterns import parse as parsed_glob
from search.errors import InputError
from search.records.annotations import BUILT_IN_FIELDS
from search.store.conditions import (
    ORDERS,
    And,
    Comparison,
    Condition,
    Field,
    Has,
    Not,
    Or,
    Value,
    Where,
    wrong,
)

KINDS = (
    "markdown", "rst", "html", "csv", "jsonl", "code", "text", "pdf", "docx", "pptx", "xlsx", "epub",
)  # fmt: skip

_METADATA = "metadata"
_KEYWORDS = ("and", "or", "not", "in", "has")
_OPERATOR = re.compile(r"!=|<=|>=|=|<|>|:")
_PART = re.compile(r"""[^\s()=!<>:,'".]+""")
_WORD = re.compile(r"""[^\s(),'"=<>!:][^\s(),'"]*""")
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""")

# SQLite's parser has room for 100 words that are not done with, and for trees of a depth of 1,000.
_DEEPEST = 20
_MOST_CONDITIONS = 256


def parse(text: str) -> Where:
    """Read a filter.

    Raises:
        InputError: it cannot be read; the message shows where.

    Example:
        >>> parse("page>=3").condition.operator
        '>='
    """
    return Where(text, _Parser(text).whole())


class _Parser:
    """Reads a text from left to right; each method reads one rule of the grammar, or raises InputError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.conditions = 0

    def whole(self) -> Condition:
        self.skip_space()
        if self.is_at_end():
            raise InputError(
                "the filter is empty. Write a condition, such as kind=markdown, or leave it out."
            )
        found = self.any_of(0)
        if not self.is_at_end():
            raise self.unexpected("'and', 'or' or the end")
        return found

    def any_of(self, depth: int) -> Condition:
        parts = [self.all_of(depth)]
        while self.take_keyword("or"):
            parts.append(self.all_of(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def all_of(self, depth: int) -> Condition:
        parts = [self.one(depth)]
        while self.take_keyword("and"):
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def one(self, depth: int) -> Condition:
        start = self.at
        if depth > _DEEPEST:
            raise wrong(self.text, start, f"more than {_DEEPEST} conditions within one another")
        if self.take_keyword("not"):
            return Not(self.one(depth + 1))
        if self.take("("):
            found = self.any_of(depth + 1)
            if not self.take(")"):
                raise self.unexpected(f"'and', 'or' or ')' for the '(' in column {start + 1}")
            return found
        self.conditions += 1
        if self.conditions > _MOST_CONDITIONS:
            raise wrong(
                self.text,
                start,
                f"more than {_MOST_CONDITIONS} conditions; many values fit into: FIELD in (A, B)",
            )
        if self.take_keyword("has"):
            return Has(self.field())
        return self.comparison()

    def comparison(self) -> Condition:
        field = self.field()
        at = self.at
        if self.take_keyword("not"):
            if not self.take_keyword("in"):
                raise self.unexpected("'in'")
            return Not(self.one_of(field, at))
        if self.take_keyword("in"):
            return self.one_of(field, at)
        found = _OPERATOR.match(self.text, self.at)
        if found is None:
            raise self.unexpected(f"one of = != < <= > >= : in, behind the field '{field.name}'")
        self.move_to(found.end())
        operator = found[0]
        value = self.value(f"a value behind '{operator}'")
        self.check(field, operator, value)
        if operator == "!=":
            return Not(Comparison(field, "=", (value,), at))
        return Comparison(field, operator, (value,), at)

    def one_of(self, field: Field, at: int) -> Condition:
        if not self.take("("):
            raise self.unexpected("'(' and a list of values")
        values = [self.value("a value")]
        while self.take(","):
            values.append(self.value("a value"))
        if not self.take(")"):
            raise self.unexpected("',' or ')'")
        for value in values:
            self.check(field, "=", value)
        return Comparison(field, "=", tuple(values), at)

    def field(self) -> Field:
        start = self.at
        if self.peek_keyword():
            raise self.unexpected("the name of a field (in quotes, if it really is called so)")
        parts = [self.part()]
        while self.text.startswith(".", self.at):
            self.at += 1
            parts.append(self.part())
        self.skip_space()
        first = parts[0].casefold()
        if len(parts) == 1 and first in BUILT_IN_FIELDS:
            return Field(first, (first,), start)
        if len(parts) > 1 and first == _METADATA:
            parts = parts[1:]
        return Field(_METADATA, tuple(parts), start)

    def part(self) -> str:
        quoted = self.quoted()
        if quoted is not None:
            return quoted
        found = _PART.match(self.text, self.at)
        if found is None:
            raise self.unexpected("the name of a field")
        self.at = found.end()
        return found[0]

    def value(self, expected: str) -> Value:
        at = self.at
        quoted = self.quoted()
        if quoted is not None:
            self.skip_space()
            return Value(quoted, True, at)
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise self.unexpected(expected)
        self.at = found.end()
        if self.text[self.at : self.at + 1] in ("'", '"'):
            raise wrong(self.text, self.at, "a quote within a value; put the whole value in quotes")
        self.skip_space()
        return Value(found[0], False, at)

    def quoted(self) -> str | None:
        if self.text[self.at : self.at + 1] not in ("'", '"'):
            return None
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            raise wrong(self.text, self.at, "this quote is opened and never closed")
        mark = found[0][0]
        self.at = found.end()
        return found[0][1:-1].replace(mark * 2, mark)

    def check(self, field: Field, operator: str, value: Value) -> None:
        """Refuse what can match nothing, whatever the index holds."""
        if field.column == "path" and operator == ":":
            pattern = parsed_glob(value.text)
            if pattern is None or pattern.negated:
                problem = (
                    "this matches no path; write it as in .gitignore, such as docs/**, and 'not' for the rest"
                )
                raise wrong(self.text, value.at, problem)
        if field.column == "kind" and operator in ("=", "!=") and value.text.casefold() not in KINDS:
            raise wrong(self.text, value.at, f"there is no kind '{value.text}'; there are {', '.join(KINDS)}")
        if field.column == "page" and operator != ":" and (value.quoted or value.number is None):
            raise wrong(self.text, value.at, "a page is a number, such as page>=3")
        if operator in ORDERS and value.is_no_date:
            raise wrong(self.text, value.at, f"there is no such date as {value.text}")

    def take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.move_to(self.at + len(mark))
        return True

    def take_keyword(self, keyword: str) -> bool:
        if self.peek_keyword() != keyword:
            return False
        self.move_to(self.at + len(keyword))
        return True

    def peek_keyword(self) -> str:
        """The word of the language that stands here, "" if none does."""
        found = _PART.match(self.text, self.at)
        word = found[0].casefold() if found else ""
        return word if word in _KEYWORDS else ""

    def move_to(self, at: int) -> None:
        self.at = at
        self.skip_space()

    def skip_space(self) -> None:
        while not self.is_at_end() and self.text[self.at].isspace():
            self.at += 1

    def is_at_end(self) -> bool:
        return self.at >= len(self.text)

    def unexpected(self, expected: str) -> InputError:
        if self.is_at_end():
            return wrong(self.text, self.at, f"expected {expected}, found the end")
        found = _PART.match(self.text, self.at)
        shown = found[0] if found else self.text[self.at]
        hint = "; a value with spaces or brackets needs quotes" if "'and'" in expected else ""
        return wrong(self.text, self.at, f"expected {expected}, found '{shown:.40}'{hint}")
