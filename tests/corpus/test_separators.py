"""Plain text of many short records: each is a passage, none is cut in the middle or joined with another."""

import pytest

from search import Encoder
from search.corpus.separators import with_records
from search.corpus.text import file_document
from search.indexing.read import cutter_for
from search.records.documents import Section
from search.store.settings import PassageSettings

SAYINGS = [
    f"Saying {n} is about the number {n}, which is neither the first nor the last of its kind, and is as good "
    f"as any other number that a person can think of.\n\t\t-- Someone {n}\n"
    for n in range(9)
]


def passages(encoder: Encoder, text: str) -> list[str]:
    plain = file_document("sayings", "text", text, "", sections=(Section(0, len(text)),))
    cutter = cutter_for(encoder, PassageSettings())
    return [passage.visible_text for passage in cutter.cut(with_records(plain))]


@pytest.mark.parametrize("line", ["%", "---", "***", "* * *", "%%"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_each_record_is_a_passage(real: Encoder, line: str, line_end: str) -> None:
    text = f"{line}\n".join(SAYINGS).replace("\n", line_end)
    of_text = passages(real, text)
    assert [" ".join(passage.split()) for passage in of_text] == [
        " ".join(saying.split()) for saying in SAYINGS
    ]


def test_few_separators_or_long_parts_are_ordinary_text(real: Encoder) -> None:
    few = "%\n".join(SAYINGS[:4])
    assert len(passages(real, few)) < 4
    long = "---\n".join("A sentence of a long chapter. " * 60 + "\n" for _ in range(7))
    plain = file_document("a.txt", "text", long, "", sections=(Section(0, len(long)),))
    assert with_records(plain) is plain


def test_underlined_titles_are_no_separators(real: Encoder) -> None:
    text = "".join(f"Title {n}\n-------\n\nText of part {n}.\n\n" for n in range(9))
    plain = file_document("a.txt", "text", text, "", sections=(Section(0, len(text)),))
    assert with_records(plain) is plain


def test_records_of_a_few_words_are_joined(real: Encoder) -> None:
    of_text = passages(real, "%\n".join(f"Saying {n}.\n" for n in range(9)))
    assert of_text == ["\n\n".join(f"Saying {n}." for n in range(9))]
