"""Passages as they stand: lines, numbers, marks, and what is left out."""

from __future__ import annotations

import re
from dataclasses import replace

from rich.text import Text

from search.records.contents import StoredFile
from search.records.explanations import Highlight
from search.records.hits import Hit, Surroundings
from search.render import hits as draw
from search.render.hits import pointed
from tests.render.test_render import HIT

PROSE = "\n".join(f"line {number} says this and that" for number in range(1, 21))


def hit(text: str, kind: str = "text", **more: object) -> Hit:
    lines = text.count("\n")
    made = replace(
        HIT,
        text=text,
        end=len(text),
        file=StoredFile(kind),
        heading="",
        line_start=7,
        line_end=7 + lines,
        path="/notes/a.txt",
    )
    return replace(made, **more)  # type: ignore[arg-type]


def marks_of(text: str, **weights: float) -> list[Highlight]:
    return [
        Highlight(*found.span(), weight)
        for word, weight in weights.items()
        for found in re.finditer(rf"\b{word}\b", text)
    ]


def drawn(shown: Hit, marks: list[Highlight] | None = None, width: int = 60, **options: object) -> list[str]:
    """The lines of the passage, without what stands above."""
    lines = draw.hits([shown], marks=[marks or []], width=width, **options).splitlines()  # type: ignore[arg-type]
    return lines[1 + bool(shown.title or shown.heading) :]


def test_lines_are_numbered_as_in_the_file_and_keep_their_indentation() -> None:
    text = "def turn(key):\n    if key:\n\n\treturn 1"
    assert drawn(hit(text, "code")) == [
        "   7  def turn(key):",
        "   8      if key:",
        "   9",
        "  10      return 1",
    ]
    assert drawn(hit("a\r\nb", line_end=8)) == ["   7  a", "   8  b"]


def test_the_rows_whose_words_add_most_are_shown() -> None:
    shown = drawn(hit(PROSE), marks_of(PROSE, **{"12": 0.2, "14": 0.1, "3": 0.25}))
    lines = [f"{number + 6:>4}  line {number} says this and that" for number in range(9, 15)]
    assert shown == [*lines[:5], f"{lines[5]} …"]
    assert [line.strip() for line in drawn(hit(PROSE))] == [
        *(f"{n + 6}  line {n} says this and that" for n in range(1, 6)),
        "12  line 6 says this and that …",
    ]
    whole = "\n".join(PROSE.split("\n")[:8])
    assert len(drawn(hit(whole), marks_of(whole, **{"8": 1}))) == 8


def test_a_long_line_is_wrapped_below_its_first_word_and_cut_around_the_match() -> None:
    text = "- item " + "of words and more " * 40 + "the key is here " + "and so on " * 20
    shown = drawn(hit(text), marks_of(text, key=1.0))
    assert len(shown) == 6
    assert shown[0].startswith("   7  … ")
    assert {line[:6] for line in shown[1:]} == {" " * 6}
    assert any("key" in line for line in shown)
    assert shown[-1].endswith(" …")
    assert all(len(line) <= 60 for line in shown)


def test_its_own_heading_is_not_said_twice() -> None:
    text = "## Find\n\nThe key.\n"
    assert drawn(hit(text, "markdown", heading="Keys > Find", title="Keys", line_end=9)) == ["   9  The key."]
    text = "Find\n====\n\nThe key."
    assert drawn(hit(text, "rst", heading="Find", title="")) == ["  10  The key."]
    assert drawn(hit("## Find", "markdown", heading="Find", title="")) == ["   7  ## Find"]


def test_words_are_marked_in_colour_alone() -> None:
    text = "Open \x1b[31m the key \u202e of it, the lock"
    marks = marks_of(text, key=1.0, lock=0.1)
    (plain,) = drawn(hit(text), marks)
    assert plain == "   7  Open \\x1b[31m the key \\u202e of it, the lock"
    (coloured,) = drawn(hit(text), marks, colour=True)
    line = Text.from_ansi(coloured)
    assert line.plain == plain
    styles = {line.plain[span.start : span.end]: span.style for span in line.spans}
    assert (styles["key"].bold, styles["key"].color.number) == (True, 2)
    assert (styles["lock"].bold, styles["lock"].color.number) == (None, 2)


def test_code_has_the_colours_of_its_language() -> None:
    text = "def turn(key):\n    return 'door'  # of it"
    code = draw.hits([hit(text, "code", path="/notes/a.py")], colour=True)
    assert code != draw.hits([hit(text, "text", path="/notes/a.py")], colour=True)
    assert [line.plain for line in map(Text.from_ansi, code.splitlines()[2:])] == drawn(hit(text, "code"))
    unknown = draw.hits([hit(text, "code", path="/notes/a.unknown")], colour=True)
    assert "\x1b[35mdef" in code and "\x1b[35m" not in unknown


def test_what_stands_around_is_numbered_alike_and_nothing_is_cut() -> None:
    beside = Surroundings(((5, "\x07before"), (6, "")), ((27, "after"),))
    shown = drawn(hit(PROSE), around=[beside])
    assert shown[:3] == ["   5  \\x07before", "   6", "   7  line 1 says this and that"]
    assert shown[-1] == "  27  after"
    assert len(shown) == 23


def test_lines_and_places_for_other_programs() -> None:
    shown = hit(PROSE)
    marks = marks_of(PROSE, **{"12": 0.2})
    assert pointed(shown, marks, Surroundings()) == (18, 6, "line 12 says this and that")
    assert pointed(hit("## Find\n\nThe key.", heading="Find"), [], Surroundings()) == (9, 1, "The key.")
    first = marks_of(PROSE, **{"1": 0.2})
    assert pointed(shown, first, Surroundings(start="More: ")) == (7, 12, "More: line 1 says this and that")
    assert pointed(hit("a\nb", "csv", line_end=7), [], Surroundings(start="1,")) == (7, 1, "a")
    assert pointed(hit("a\nb", "docx"), [], Surroundings()) == (1, 1, "a")
    assert pointed(hit(""), [], Surroundings()) == (7, 1, "")
