"""What is drawn: harmless, whole, readable without colour; and JSON."""

import json as standard_json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.records.explanations import Term
from search.records.hits import Hit
from search.records.options import Ranking
from search.records.reports import Report, SkippedGroup
from search.records.tokens import ConvertedModel
from search.render import hits, json, reports, why
from search.render.format import cut_in_the_middle, escape, fixed, one_line, snippet, where
from tests.explaining.test_explanation import by_hand

HIT = Hit(
    rank=1,
    score=0.6132,
    cosine=0.6132,
    lexical=None,
    ranking=Ranking.of(mode="dense"),
    path="/notes/keys.md",
    document="keys.md",
    title="Keys",
    heading="Keys > Rotate",
    text="## Rotate\n\nTurn the lock.",
    start=8,
    end=33,
    line_start=3,
    line_end=5,
    passage_id=12,
    metadata={"tags": ["door"]},
)
REPORT = Report(
    folder="/notes",
    index="/index",
    added=2,
    changed=0,
    renamed=0,
    removed=1,
    unchanged=3,
    documents=5,
    passages=1234,
    tokens=56789,
    encoded=10,
    encoded_tokens=1000,
    reused=2,
    truncated_tokens=0,
    skipped=(SkippedGroup("binary", 7, ("a.png", "b.png")),),
    seconds=2.0,
)


def test_hits() -> None:
    assert hits.hits([HIT], width=60).split("\n") == [
        " 1  0.613  /notes/keys.md:3-5  p12",
        "    Keys > Rotate",
        "   5  Turn the lock.",
    ]
    assert "No hits" in hits.hits([])


@pytest.mark.parametrize(
    ("path", "page", "shown"),
    [
        ("/notes/paper.pdf", 3, "/notes/paper.pdf page 3"),
        ("/notes/talk.PPTX", 3, "/notes/talk.PPTX slide 3"),
        ("/notes/data.xlsm", 1, "/notes/data.xlsm sheet 1"),
        ("/notes/report.docx", None, "/notes/report.docx"),
        ("/notes/book.epub", None, "/notes/book.epub"),
        ("/notes/keys.md", None, "/notes/keys.md:3-5"),
    ],
)
def test_where_a_hit_stands(path: str, page: int | None, shown: str) -> None:
    hit = replace(HIT, path=path, page=page)
    assert where(hit) == shown
    assert shown in hits.hits([hit])
    assert standard_json.loads(json.document([hit]))[0]["page"] == page


@pytest.mark.parametrize("length", [5, 60, 300])
def test_a_long_path_in_a_table_lacks_its_middle(length: int) -> None:
    model = ConvertedModel(f"/{'x' * length}/tiny", "0123456789abcdef", 3, 616_800, "/cache")
    table = reports.model_list([model], width=80)
    row = table.splitlines()[1]
    assert len(table.splitlines()) == 2
    assert row.endswith("x/tiny  0123456789ab       3  616.8 kB")
    assert (f"{'x' * 10}…{'x' * 10}" in row) == (length > 40)
    assert max(map(len, table.splitlines())) <= 80


def test_a_name_is_cut_in_the_middle() -> None:
    assert cut_in_the_middle("0123456789", 10) == "0123456789"
    assert cut_in_the_middle("0123456789", 7) == "01…6789"
    assert cut_in_the_middle("0123456789", 3) == "0…9"


def test_a_reason_with_a_way_out_names_it() -> None:
    from search.corpus.files import Reason

    group = SkippedGroup(Reason.NEEDS_EXTRA, 3, ("a.pdf", "b.docx"))
    assert reports.report(replace(REPORT, skipped=(group,)), width=80).endswith(
        "  needs seewhy[documents]: a.pdf, b.docx and 1 more\n"
        "    read them with: pip install 'seewhy[documents]'"
    )


def test_a_heading_is_not_repeated_in_the_snippet_of_restructured_text() -> None:
    hit = replace(HIT, heading="Rotate", text="Rotate\n======\n\nTurn the lock.")
    assert snippet(hit) == "Turn the lock."
    assert snippet(replace(hit, text="Rotate")) == "Rotate"


def test_the_first_heading_of_joined_sections_is_not_repeated_in_the_snippet() -> None:
    hit = replace(HIT, heading="Keys > Rotate \u00b7 Find", text="## Rotate\n\nTurn it.\n\n## Find\n\nLook.")
    assert snippet(hit) == "Turn it. ## Find Look."
    of_one = replace(hit, heading="Rotate \u00b7 Find", text="Rotate \u00b7 Find\n\nTurn it.")
    assert snippet(of_one) == "Turn it."


def test_a_long_passage_says_that_there_is_more() -> None:
    assert snippet(replace(HIT, text="word " * 100)).endswith("word …")


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_file_reaches_the_terminal_raw(colour: bool) -> None:
    evil = "\x1b[31mred\x07\x9b2J \u202egnirts \u2066x\u2069 \udcff"
    hit = replace(HIT, text=evil, title=evil, heading=evil, path=f"/{evil}")
    explained = replace(by_hand(), query=evil, passage=evil)
    for drawn in (hits.hits([hit], colour=colour), why.explanation(explained, hit, colour=colour)):
        assert "\x07" not in drawn
        assert "\x9b" not in drawn
        assert "\u202e" not in drawn
        assert "\x1b[31mred" not in drawn
        assert "\\x1b[31mred" in drawn
        drawn.encode()
    if not colour:
        assert "\x1b" not in hits.hits([hit])


@given(st.text())
def test_escaped_text_can_be_shown(text: str) -> None:
    for shown in (escape(text), one_line(text)):
        shown.encode("utf-8")
        assert all(c in "\t\n" or c.isprintable() or c.isspace() or ord(c) > 0x9F for c in shown)


def test_report() -> None:
    drawn = reports.report(REPORT, width=80)
    assert "Indexed /notes: 2 files added, 1 removed." in drawn
    assert "1,234 (10 encoded, 2 known already)" in drawn
    assert "56,789 (truncated: 0)" in drawn
    assert "7 (7 binary)" in drawn
    assert "binary: a.png, b.png and 5 more" in drawn
    assert "500 tokens/s" in drawn
    assert "Nothing changed in /notes." in reports.report(replace(REPORT, added=0, removed=0))


def test_explanation_without_colour() -> None:
    drawn = why.explanation(by_hand(), HIT, width=80)
    assert "score 1.250000 = 1.000000 (24 token pairs) + 2.5e-01 (residual)" in drawn
    lines = drawn.split("\n")
    (row,) = (line for line in lines if line.startswith("Keys "))
    assert "+0.5000" in row
    assert "key 0.094, door 0.072, lock 0.080" not in row  # sorted by size
    assert "key, lock, door" in row
    assert "Keys ~ Key; 100 % meaning." in drawn
    (row,) = (line for line in lines if line.startswith("all else"))
    assert "+0.5000" in row and "[CLS] and [SEP]" in row
    (row,) = (line for line in lines if line.startswith("sum"))
    assert "+1.0000" in row
    assert "«lock», «Key»" in drawn
    assert "title and headings: +0.1449" in drawn
    assert "Keys  ~  Key" in drawn
    assert "layer 3" in drawn
    assert "\x1b" not in drawn


def test_a_full_explanation_has_a_line_for_every_addend() -> None:
    drawn = why.explanation(by_hand(), HIT, width=80, full=True)
    assert "key 0.094" in drawn and "all else" not in drawn
    assert re.search(r"^\[CLS\] and \[SEP\] +\+0.5000", drawn, re.M)


def test_words_are_shown_also_where_the_special_tokens_hold_most() -> None:
    made = by_hand()
    drawn = why.explanation(
        replace(made, contributions=made.contributions * np.array([[50.0], [1], [1], [50]]))
    )
    assert re.search(r"^Keys +\+0\.5000  █+", drawn, re.M) and re.search(
        r"^all else +\+25\.0000", drawn, re.M
    )


def test_an_explanation_begins_with_one_sentence() -> None:
    terms = (Term("Keys", 0.25, 0, 4), Term("zebra", 0.25, 9, 14))
    hybrid = replace(by_hand(), weight=0.8, terms=terms, score=1.3, mode="hybrid")
    assert why.sentence(hybrid) == "Mainly Keys ~ Key; 62 % meaning, 38 % words."
    drawn = why.explanation(hybrid, HIT)
    (keys, zebra) = (
        re.findall(r"[+-]\d\.\d{4}", line) for line in drawn.split("\n") if line[:5] in ("Keys ", "zebra")
    )
    assert keys == ["+0.6500", "+0.2500"] and zebra == ["+0.2500", "+0.2500"]
    words = replace(hybrid, weight=0.0, score=0.5, contributions=0 * hybrid.contributions, mode="lexical")
    assert why.sentence(words) == 'Mainly "Keys", "zebra"; 100 % words.'
    against = replace(hybrid, terms=(*terms, Term("unlike p3", -0.25, kind="like")), score=1.05)
    assert why.sentence(against).endswith("; +0.80 meaning, +0.50 words, -0.25 what hits shall be like.")
    judged = replace(hybrid, weight=0.0, terms=(Term("cross-encoder", 0.9, kind="model"),), score=0.9)
    assert why.sentence(judged) == ""


def test_colour_only_where_it_is_asked_for() -> None:
    assert "\x1b[" in why.explanation(by_hand(), HIT, colour=True)
    assert "\x1b[" in hits.hits([HIT], colour=True)
    assert "«lock»" not in why.explanation(by_hand(), HIT, colour=True)


def test_each_pair_of_words_keeps_its_bar_beside_it() -> None:
    drawn = why.explanation(by_hand(), None, width=60)
    (row,) = (line for line in drawn.split("\n") if "Keys  ~  Key" in line)
    assert row.endswith("█")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_explanation_keeps_to_the_width(width: int) -> None:
    drawn = why.explanation(by_hand(), None, width=width)
    assert max(len(line) for line in drawn.split("\n")) <= width


def test_json() -> None:
    assert json.document([]) == "[]"
    assert json.lines([]) == ""
    (hit,) = standard_json.loads(json.document([HIT]))
    assert (hit["score"], hit["lexical"], hit["line_start"], hit["metadata"]) == (
        0.6132,
        None,
        3,
        {"tags": ["door"]},
    )
    assert standard_json.loads(json.lines([HIT, HIT]).split("\n")[1]) == hit
    assert standard_json.loads(json.document([replace(HIT, path="/\udcff")]))[0]["path"] == "/\udcff"
    assert "é" in json.document([replace(HIT, text="é")])


def test_json_of_an_explanation() -> None:
    found = standard_json.loads(json.explanation(by_hand(), HIT))
    assert found["residual"] == pytest.approx(0.25)
    assert found["sum_of_contributions"] == pytest.approx(1.0)
    assert found["hit"]["passage_id"] == 12
    assert len(found["contributions"]) == len(found["query_tokens"]) == 4
    assert len(found["contributions"][0]) == len(found["passage_tokens"]) == 6
    assert [word["text"] for word in found["words"]["query"]] == ["[CLS]", "Keys", "[SEP]"]
    assert found["alignment"][0]["passage"]["text"] == "Key"
    assert found["highlights"][0] == {"start": 0, "end": 4, "weight": pytest.approx(44 / 276)}


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [fixed(value, 3) for value in (-0.0004, 0.0, -0.0006, 1.2)] == [
        "0.000",
        "0.000",
        "-0.001",
        "1.200",
    ]
    assert [fixed(value, 2, signed=True) for value in (-0.004, 0.5, -0.5)] == ["+0.00", "+0.50", "-0.50"]
