"""Formatting of places, headings, numbers and scores; text from files is escaped for a terminal.

A file may contain escape sequences that recolour, move or fake terminal output, or bidirectional overrides that reorder
it. They become visible codes such as "\\x1b".
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from search.records.documents import OCR_PAGES
from search.records.visible_text import visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.contents import Location
    from search.records.explanations import Explanation
    from search.records.hits import Hit

_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ud800-\udfff]")
# All characters that Unicode calls Default_Ignorable_Code_Point: no font draws them.
_INVISIBLE = re.compile(
    rf"[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d{_BIDI}\u2060-\u2065\u206a-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# An emoji or text presentation, then a joiner.
_JOINER = re.compile("[\ufe0e\ufe0f]?[\u200c\u200d]?")


def escape(text: str) -> str:
    """Replace control characters, bidi controls and surrogates by visible codes; tab and line feed stay."""
    if text.isprintable():  # which is much faster than the search, and nearly always true on a page
        return text
    return CONTROL.sub(_code, text.replace("\r\n", "\n"))


def without_invisible(text: str) -> str:
    """Drop the characters that readers do not see, but programs do: tags, zero-width characters, bidi controls.

    What emoji and scripts such as Persian need stays: after a letter or sign outside ASCII, one variation selector
    U+FE0E or U+FE0F and, before another one, one joiner (ZWJ or ZWNJ).

    Example:
        >>> without_invisible("a\u200bb \u2764\ufe0f")
        'ab \u2764\ufe0f'
    """
    return _INVISIBLE.sub(_joiner, text)


def _joiner(match: re.Match[str]) -> str:
    run, before = match.group(), match.string[max(0, match.start() - 1) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    joins = run[-1] not in "\u200c\u200d" or after > "\x7f"
    return run if _JOINER.fullmatch(run) and before > "\x7f" and joins else ""


def escaped_name(path: str) -> str:
    """Escape a path, also its line feeds, because a file's name could otherwise fake a line of the output."""
    return escape(path).replace("\n", "\\x0a").replace("\t", "\\x09")


def one_line(text: str) -> str:
    """Escape a text, and replace every run of white space by one space."""
    return escape(" ".join(text.split()))


def _code(match: re.Match[str]) -> str:
    number = ord(match.group())
    # A byte of a file name that is not valid UTF-8 (PEP 383).
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


_SNIPPET = 320
_LONGEST_NAME = 200

# Names of pages by the beginning of the file's suffix: .pptx, .potx, .xlsm and so on.
_PAGES = dict.fromkeys((".pp", ".po", ".odp", ".otp", ".fodp"), "slide")
_PAGES |= dict.fromkeys((".xl", ".ods", ".ots", ".fods"), "sheet") | {".ip": "cell"}
_WITHOUT_LINES = (".doc", ".dot", ".epub", ".odt", ".ott", ".fodt", ".rtf")

_UNDERLINE = re.compile(r"^([^\w\s])\1{2,}[ \t]*\r?\n")


def where(location: Location) -> str:
    """Return the place of a hit or an answer as `path:line`, relative to the current folder if it is inside.

    In a format with pages, slides, sheets or cells: `path page 3`. In a format with neither pages nor visible lines:
    the path alone.
    """
    path, suffix = name_of_file(location), Path(location.path).suffix.lower()
    if location.page is not None:
        page = next((name for begin, name in _PAGES.items() if suffix.startswith(begin)), "page")
        return f"{path} {page} {location.page}"
    if suffix.startswith(_WITHOUT_LINES):
        return path
    first, last = location.line_start, location.line_end
    return f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def where_in_index(location: Location) -> str:
    """Return the place of a hit like `where`, by the document's name: a page shows no paths of the server."""
    return where(replace(location, path=location.document))


def read_by(hit: Hit) -> str:
    """Return ", read by OCR" for a hit on a page whose text was recognised in a picture; else ""."""
    pages = hit.metadata.get(OCR_PAGES)  # other kinds may have such a field of their own
    is_read = hit.kind in ("pdf", "image") and isinstance(pages, list) and hit.page in pages
    return ", read by OCR" if is_read else ""


def name_of_file(location: Location) -> str:
    """Return the path of a hit's file, relative to the current folder if it is inside; else the document's name."""
    return escaped_name(shown_path(location.path) if location.path else location.document)


def shown_path(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):  # another drive on Windows; the current folder is gone
        return path
    return path if relative.startswith("..") else relative


def cut_in_the_middle(name: str, longest: int) -> str:
    """Shorten a name or path to `longest` characters by cutting its middle; more is kept of the end."""
    if len(name) <= longest:
        return name
    before = longest // 3
    return f"{name[:before]}…{name[before + 1 - longest :]}"


def name_of(text: str) -> str:
    """Escape and shorten a name from an index, which may come from somebody else."""
    return one_line(cut_in_the_middle(text, _LONGEST_NAME))


_SINCE_INDEXED = {
    "moved": "current lines; the file has changed since indexing",
    "changed": "changed since indexing",
    "gone": "gone",
}


def since_indexed(hit: Hit) -> str:
    """Return the status of a hit's file, such as "gone"; "" if the file has not changed."""
    return _SINCE_INDEXED.get(hit.changed, "")


def named(hit: Hit) -> str:
    """Return `(rank 1, p12)`, or `(p12)` for a passage without a rank, followed by the status of its file."""
    parts = (
        f"rank {hit.rank}" if hit.rank else "",
        f"p{hit.passage_id}",
        escape(hit.index),
        since_indexed(hit),
    )
    return f"({', '.join(filter(None, parts))})"


def headings(hit: Hit) -> str:
    """Return title and headings of a hit; the title is not repeated if it is also the first heading."""
    trail = [hit.title, *(hit.heading.split(" > ") if hit.heading else [])]
    if len(trail) > 1 and trail[0] == trail[1].split(" \u00b7 ")[0]:  # the headings of joined sections
        trail = trail[1:]
    return one_line(" > ".join(part for part in trail if part))


def snippet(hit: Hit) -> str:
    """Return the beginning of a passage's visible text, without its own heading; an ellipsis marks the cut."""
    body, trail = visible(hit.text, hit.hidden), [hit.title, *hit.heading.split(" > ")]
    trail += trail[-1].split(" \u00b7 ")  # the headings of joined sections
    while True:
        first, _, rest = body.partition("\n")
        if not rest.strip() or first.strip(" #\r") not in trail:
            break
        body = _UNDERLINE.sub("", rest.lstrip())
    return shortened(one_line(body), _SNIPPET)


def shortened(text: str, most: int) -> str:
    """Cut a text between words to at most `most` characters; an ellipsis marks the cut."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(n_bytes: float) -> str:
    """Format a number of bytes: "616.8 kB"."""
    return decimal(int(n_bytes))


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """Format a number with a fixed number of decimals; zero never has a minus sign.

    Args:
        places: number of decimals.
        signed: write a plus sign before numbers that are not negative.
    """
    number = f"{value:.{places}f}"
    if float(number) == 0:
        number = number.removeprefix("-")
    return f"+{number}" if signed and not number.startswith("-") else number


def first_values(vector: NDArray[Any], most: int) -> str:
    """Return the first `most` numbers of a vector, and an ellipsis for the others."""
    first = [fixed(float(value), 4) for value in vector[:most]]
    return " ".join([*first, *(["..."] if len(vector) > most else [])])


def letters(number: int) -> str:
    """Return the name of a column or text by its position: A for 0, Z for 25, AA for 26."""
    name = ""
    while number >= 0:
        name = chr(ord("A") + number % 26) + name
        number = number // 26 - 1
    return name


def counted(number: int, name: str) -> str:
    """Return a number with its noun, such as "1 passage" or "2,000 passages"."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


_COMBINATIONS = {"mean": "mean", "sum": "sum", "concat": "concatenation"}


def layer_of(why: Explanation) -> str:
    """Return the layer of the compared token vectors: "layer 3 of 6, the middle one, which is the default"."""
    layer, last = why.similarity_layer, why.n_layers
    if isinstance(layer, str):
        kind, _, count = layer.partition(":")
        return f"the {_COMBINATIONS[kind]} of the last {count} layers"
    names = {
        0: ", the embedding layer",
        last: ", the last one",
        last // 2: ", the middle one, which is the default",
    }
    return f"layer {layer} of {last}{names.get(layer, '')}"


def percentile_of(hit: Hit) -> str:
    """Return the percentile of a score: "closer than 99.8 % of random pairs"; "" if the hit has none."""
    if hit.percentile is None:
        return ""
    share = math.floor(hit.percentile * 10 + 1e-9) / 10  # 99.96 is not rounded to 100
    pairs = f"any of {hit.random_pairs:,}" if share == 100 else f"{share:g} % of"
    return f"closer than {pairs} random pairs"


def verdict_of(hit: Hit) -> str:
    """Return the answerability verdict: "Perhaps (32 %)", or "NLF-88301-Q: found in 2 files"; "" if there is none."""
    verdict = hit.verdict
    if verdict is None:
        return ""
    if verdict.probability is None:
        kind = "file" if hit.path else "document"  # a document from memory has no path
        return "; ".join(
            f"{name_of(count.identifier)}: "
            + (f"found in {counted(count.files, kind)}" if count.files else f"not in your {kind}s")
            for count in verdict.identifiers
        )
    return f"{verdict.says.capitalize()} ({100 * verdict.probability:.0f} %)"


def verdict_line(ranked: Sequence[Hit]) -> str:
    """Return the verdict on a list of hits: "Answered (94 %); see also hit 3"; "" if there is none.

    The other hit is named if the index probably has an answer, and much more of the query's words are in that hit than
    in the first.
    """
    line, verdict = verdict_of(ranked[0]), ranked[0].verdict
    if verdict and verdict.says == "answered" and verdict.evidence:
        line += next(
            (f"; see also hit {hit.rank}" for hit in ranked if hit.passage_id == verdict.evidence), ""
        )
    return line


def no_hits(
    words: str,
    passages: int,
    limits: Sequence[str] = (),
    *,
    restricts: bool = False,
    by_keywords: bool = False,
    ignored: Sequence[str] = (),
) -> str:
    """Return why a query has no hits: 'No passage passes --where and contains "tapir".'

    Args:
        words: the query without its quotes, minus signs and filters.
        passages: number of passages that were searched.
        limits: names of the filters and limits beside the query.
        restricts: True if the query has quotes, minus signs or filters.
        by_keywords: True if passages without a keyword of the query have no score.
        ignored: keywords that do not count.
    """
    if not passages:
        return "The index has no passages yet."
    limits = [*limits, *(["the query's quotes, minus signs or filters"] if restricts else [])]
    reasons = [f"passes {' and '.join(limits)}"] if limits else []
    if by_keywords:
        but = f" except {', '.join(map(name_of, ignored))}" if ignored else ""
        any_of = "any word of " if ignored or " " in words else ""
        reasons.append(f'contains {any_of}"{name_of(words)}"{but}')
    return f"No passage {' and '.join(reasons)}." if reasons else "There are no hits."


def copies_of(hit: Hit) -> str:
    """Return the number of passages that a hit stands for: "and 212 more like this"; "" for none."""
    return f"and {hit.copies:,} more like this" if hit.copies else ""
