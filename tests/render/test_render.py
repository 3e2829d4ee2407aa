"""Output for a terminal and as JSON, CSV and Markdown: whole, harmless, readable without colour."""

from __future__ import annotations

import json as standard_json
import re
import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from search.explaining.explainer import contrast_of
from search.ranking.where import parse
from search.records.comparisons import Similarities, WhyNot
from search.records.contents import StoredFile
from search.records.documents import filter_argument, in_filter
from search.records.explanations import Highlight
from search.records.hits import Hit, Surroundings, Verdict
from search.records.option_tools import Ranking
from search.records.reports import Report, SkippedGroup
from search.records.shares import Share, Term
from search.render import heatmap, hits, json, reports, why
from search.render.format import (
    escape,
    headings,
    letters,
    no_hits,
    one_line,
    percentile_of,
    snippet,
    where,
    without_invisible,
)
from search.render.heatmap import largest_addend, left_out, part, units
from search.render.hits import line_of
from tests.explaining.test_explanation import by_hand, computed, with_offsets

EVIL = "\x1b[31mred\x07\x9b2J \u202egnirts \u2066x\u2069 \udcff"

HIT = Hit(
    rank=1, score=0.6132, cosine=0.6132, lexical=None, ranking=Ranking.of(mode="dense"),
    path="/notes/keys.md", document="keys.md", title="Keys", heading="Keys > Rotate",
    text="## Rotate\n\nTurn the lock.",
    start=8, end=33, line_start=3, line_end=5, passage_id=12, metadata={"tags": ["door"]},
)  # fmt: skip


OTHER = replace(
    HIT,
    rank=2,
    passage_id=13,
    document="a b.pdf",
    path="/notes/a b.pdf",
    page=3,
    title="A [b]*",
    heading="",
)


REPORT = Report(
    folder="/notes", index="/index", added=2, changed=0, renamed=0, removed=1, unchanged=3, documents=5, passages=1234,
    tokens=56789, encoded=10, reused=2, truncated_tokens=0,
    skipped=(SkippedGroup("binary", 7, ("a.png", "b.png")),), seconds=2.0,
)  # fmt: skip


def sentences(n: int = 3) -> Similarities:
    cosines = np.array([[1, 0.5, -0.25], [0.5, 1, 0.75], [-0.25, 0.75, 1]], dtype=np.float32)
    if n != 3:
        cosines = np.eye(n, dtype=np.float32)
    texts = tuple(f"sentence {i}" for i in range(n))
    return Similarities(texts, texts, cosines, True, "a-model", "mean")


def ranked(rank: int, percentile: float | None) -> Hit:
    pairs = 0 if percentile is None else 2000
    fields = {"rank": rank, "passage_id": 800 + rank, "line_start": 1, "line_end": 1, "path": "/a.txt"}
    fields |= {"score": 0.5, "text": "text", "title": "", "heading": "", "start": 0, "end": 4}
    return replace(HIT, **fields, percentile=percentile, random_pairs=pairs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u200db\u200cc\u00ad", "abc"),  # joiners join nothing in ASCII
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("é\u200d\u200dé\u200d", "éé"),
        ("é\ufe00\U000e0100\ufe0f", "é"),  # a message may be coded in selectors
        ("\U0001f3f4\U000e0067\U000e007f", "\U0001f3f4"),
        ("\ufe0f\u202eabc\u2069\t\r\n ", "abc\t\r\n "),
    ],
)
def test_only_invisible_characters_that_join_signs_are_kept(text: str, expected: str) -> None:
    assert without_invisible(text) == expected


def test_a_hit_is_drawn_with_place_heading_and_numbered_lines() -> None:
    assert hits.hits([HIT], width=60).split("\n") == [
        " 1  0.613  /notes/keys.md:3-5  p12",
        "    Keys > Rotate",
        "   5  Turn the lock.",
    ]
    assert hits.hits([]) == "No hits."


@pytest.mark.parametrize(
    ("query", "limits", "options", "expected"),
    [
        ("tapir", (), {}, "There are no hits."),
        ("tapir", (), {"by_keywords": True}, 'No passage contains "tapir".'),
        ("a tapir", (), {"by_keywords": True}, 'No passage contains any word of "a tapir".'),
        ("a\x1btapir", (), {"by_keywords": True}, 'No passage contains "a\\x1btapir".'),
        (
            "a tapir",
            (),
            {"by_keywords": True, "ignored": ("tapir",)},
            'No passage contains any word of "a tapir" except tapir.',
        ),
        ("tapir", ("--where", "--since"), {}, "No passage passes --where and --since."),
        ("tapir", ["--where"], {"by_keywords": True}, 'No passage passes --where and contains "tapir".'),
        (
            "tapir in a row",
            (),
            {"by_keywords": True, "restricts": True},
            "No passage passes the query's quotes, minus signs or filters and contains any word of "
            '"tapir in a row".',
        ),
    ],
)
def test_a_query_without_hits_says_why(
    query: str, limits: list[str], options: dict[str, Any], expected: str
) -> None:
    assert no_hits(query, 85, limits, **options) == expected
    assert no_hits(query, 0, limits, **options) == "The index has no passages yet."


@pytest.mark.parametrize(
    ("path", "page", "place"),
    [
        ("/notes/paper.pdf", 3, "/notes/paper.pdf page 3"),
        ("/notes/talk.PPTX", 3, "/notes/talk.PPTX slide 3"),
        ("/notes/data.xlsm", 1, "/notes/data.xlsm sheet 1"),
        ("/notes/report.docx", None, "/notes/report.docx"),
        ("/notes/book.epub", None, "/notes/book.epub"),
        ("/notes/keys.md", None, "/notes/keys.md:3-5"),
    ],
)
def test_the_place_of_a_hit_is_its_page_or_its_lines(path: str, page: int | None, place: str) -> None:
    hit = replace(HIT, path=path, page=page)
    assert where(hit) == place
    assert place in hits.hits([hit])
    assert standard_json.loads(json.document([hit]))[0]["page"] == page


def test_a_report_names_the_extra_that_skipped_files_need() -> None:
    from search.corpus.sources import Reason

    group = SkippedGroup(Reason.NEEDS_EXTRA, 3, ("a.pdf", "b.docx"))
    assert reports.report(replace(REPORT, skipped=(group,)), width=80).endswith(
        "  needs seewhy[documents]: a.pdf, b.docx and 1 more\n"
        "    to read them, run: pip install 'seewhy[documents]'"
    )


@pytest.mark.parametrize(
    ("heading", "text", "expected"),
    [
        ("Rotate", "Rotate\n======\n\nTurn the lock.", "Turn the lock."),
        ("Rotate", "Rotate", "Rotate"),
        (
            "Keys > Rotate \u00b7 Find",
            "## Rotate\n\nTurn it.\n\n## Find\n\nLook.",
            "Turn it. ## Find Look.",
        ),
        ("Rotate \u00b7 Find", "Rotate \u00b7 Find\n\nTurn it.", "Turn it."),
        ("", "word " * 100, f"{'word ' * 64}…"),
    ],
)
def test_a_snippet_omits_the_heading_and_marks_a_cut(heading: str, text: str, expected: str) -> None:
    assert snippet(replace(HIT, heading=heading, text=text)) == expected


def assert_harmless(drawing: str, colour: bool) -> None:
    """Check that `EVIL` is in a drawing, without its control characters."""
    assert not {"\x07", "\x9b", "\u202e", "\u2066"} & set(drawing)
    assert "\x1b[31mred" not in drawing and "\\x1b[31mred" in drawing
    assert colour or "\x1b" not in drawing
    drawing.encode()


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_file_reaches_the_terminal_raw(colour: bool) -> None:
    hit = replace(HIT, text=EVIL, title=EVIL, heading=EVIL, path=f"/{EVIL}")
    explanation = replace(by_hand(), query=EVIL, passage=EVIL)
    similarities = Similarities(
        (EVIL, EVIL), (EVIL, EVIL), np.eye(2, dtype=np.float32), True, EVIL, "mean"
    )
    around = Surroundings(((2, EVIL),), ((6, EVIL),), EVIL)
    for drawing in (
        hits.hits([hit], around=[around], grouped=True, colour=colour),
        why.explanation(explanation, hit, colour=colour),
        heatmap.sentences(similarities, colour=colour),
        heatmap.matrices(explanation, units(explanation), colour=colour),
    ):
        assert_harmless(drawing, colour)


@given(st.text())
def test_escaped_text_can_be_shown(text: str) -> None:
    for output in (escape(text), one_line(text)):
        output.encode("utf-8")
        assert all(c in "\t\n" or c.isprintable() or c.isspace() or ord(c) > 0x9F for c in output)


def test_a_report_counts_files_passages_tokens_and_skipped_files() -> None:
    output = reports.report(REPORT, width=80)
    assert "Indexed /notes: 2 files added, 1 removed." in output
    assert "1,234 (10 encoded, 2 reused)" in output
    assert "56,789 (truncated: 0)" in output
    assert "7 (7 binary)" in output
    assert "binary: a.png, b.png and 5 more" in output
    assert "Nothing changed in /notes." in reports.report(replace(REPORT, added=0, removed=0))


def test_an_explanation_without_colour_has_sums_pairs_and_marks() -> None:
    drawing = why.explanation(replace(by_hand(), score=1.0), HIT, width=80)
    lines = drawing.split("\n")
    (row,) = (line for line in lines if line.startswith("Keys "))
    assert "+0.5000" in row
    assert "key, lock, door" in row  # most similar first
    assert "Keys ~ Key; 100 % meaning." in drawing
    (row,) = (line for line in lines if line.startswith("rest "))
    assert "+0.5000" in row and "residual" not in drawing and "[CLS]" not in drawing
    (row,) = (line for line in lines if line.startswith("sum"))
    assert "+1.0000" in row
    assert "«lock», «Key»" in drawing
    assert "title and headings: +0.1449" in drawing
    assert "Keys  ~  Key" in drawing
    assert "layer 3" in drawing
    assert "\x1b" not in drawing


def test_details_of_an_explanation_are_its_sum_and_what_is_no_word() -> None:
    drawing = why.explanation(with_offsets(), HIT, width=80, details=True)
    assert "score 1.250000 = 1.000000 (4 query tokens and any text) + 2.5e-01 (residual)" in drawing
    how = "(4 query tokens x 6 passage tokens, mean pooling, contributions traced to layer 0 of 6)"
    assert how in " ".join(drawing.split())
    for line in ("[CLS] and [SEP]  +0.3333", "any text         +0.2222", "sum              +1.0000"):
        assert line in drawing
    assert "  [CLS] and [SEP]: +0.2222" in drawing and "  any text: +0.3333" in drawing
    assert "(residual)" in why.explanation(with_offsets(), HIT)  # it is no rounding error
    plain = why.explanation(replace(with_offsets(), score=1.0), HIT, width=80)
    assert "(residual)" not in plain
    assert "any text    +0.2222" in plain and "rest        +0.3333" in plain


def test_stop_words_are_the_rest_if_there_are_others() -> None:
    shares = (
        Share("where", "word", 0, 5, 0.1),
        Share("keys", "word", 6, 10, 0.3),
        Share("punctuation", "punctuation", 0, 0, 0.05),
        Share("any text", "offset", 0, 0, 0.02),
    )
    lines = [why.WordLine(share, share.contribution) for share in shares]
    assert [(line.name, round(line.added, 6)) for line in why.content_lines(lines)] == [
        ("keys", 0.3),
        ("rest", 0.15),
        ("any text", 0.02),
    ]
    assert [line.name for line in why.content_lines([lines[0], lines[2]])] == ["where", "rest"]


def test_layers_are_drawn_from_the_last_to_the_words_as_typed() -> None:
    layered = with_offsets()
    tables = {
        side: np.vstack([layered.layers(side), 2 * layered.layers(side)]) for side in ("query", "passage")
    }
    numbers = replace(layered.numbers, tables=tables)
    drawing = heatmap.layers(replace(layered, numbers=numbers), "token", width=100)
    rows = [line.split() for line in drawing.split("\n") if line.startswith("layer")]
    assert [row[:2] for row in rows] == [["layer", "1"], ["layer", "0"]] * 2
    numbers_of = [[float(re.sub("[^0-9.-]", "", cell)) for cell in row[2:]] for row in rows]
    assert [round(sum(row)) for row in numbers_of] == pytest.approx([2000, 1000, 2000, 1000], abs=1)
    assert numbers_of[1] == pytest.approx(
        [15 / 0.414, (51 + 46) / 0.414, 87 / 0.414, 123 / 0.414, 92 / 0.414], abs=0.06
    )


def test_an_explanation_begins_with_one_sentence() -> None:
    terms = (Term("Keys", 0.25, 0, 4), Term("zebra", 0.25, 9, 14))
    hybrid = replace(by_hand(), weight=0.8, terms=terms, score=1.3, mode="hybrid")
    assert why.sentence(hybrid) == "Mainly Keys ~ Key; 62 % meaning, 38 % keywords."
    drawing = why.explanation(hybrid, HIT)
    (keys, zebra) = (
        re.findall(r"[+-]\d\.\d{4}", line)
        for line in drawing.split("\n")
        if line[:5] in ("Keys ", "zebra")
    )
    assert keys == ["+0.6500", "+0.2500"] and zebra == ["+0.2500", "+0.2500"]
    words = replace(hybrid, weight=0.0, score=0.5, mode="lexical")
    assert why.sentence(words) == 'Mainly "Keys", "zebra"; 100 % keywords.'
    against = replace(hybrid, terms=(*terms, Term("unlike p3", -0.25, kind="like")), score=1.05)
    assert why.sentence(against).endswith(
        "; +0.80 meaning, +0.50 keywords, -0.25 similarity to examples."
    )
    judged = replace(hybrid, weight=0.0, terms=(Term("cross-encoder", 0.9, kind="model"),), score=0.9)
    assert why.sentence(judged) == ""


@pytest.mark.parametrize("width", [60, 80, 120])
def test_drawings_keep_to_the_width(width: int) -> None:
    explanation = by_hand()
    for drawing in (
        why.explanation(explanation, None, width=width),
        heatmap.matrices(explanation, units(explanation, "token"), width=width),
        heatmap.sentences(sentences(60), width=width),
        reports.report(replace(REPORT, skipped=()), width=width),
    ):
        assert max(map(len, drawing.split("\n"))) <= width


def test_json_holds_the_fields_of_each_hit() -> None:
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


def test_units_are_words_then_punctuation_and_special_tokens() -> None:
    labels = units(by_hand())
    assert [(unit.label, unit.kind) for unit in labels.query] == [
        ("Keys", "word"),
        ("[CLS] and [SEP]", "special"),
    ]
    assert [unit.label for unit in labels.passage] == [
        "Door",
        "lock",
        "Key",
        "punctuation",
        "[CLS] and [SEP]",
    ]
    # Rows 1 and 2 of the tokens are "Keys"; columns 0 and 5 are the special tokens.
    assert (labels.contributions[0] * 276).round().tolist() == [20, 22, 26, 24, 18 + 28]
    assert (labels.contributions[1] * 276).round().tolist() == [20, 22, 26, 24, 0 + 5 + 18 + 23]
    assert labels.contributions.sum() == pytest.approx(1.0)
    assert (labels.similarity[0] * 24).round().tolist() == [13, 14, 16, 15, 17]
    assert largest_addend(labels) == pytest.approx(26 / 276)  # Keys and Key; no sum of several


def test_the_offset_is_the_last_unit_of_each_text() -> None:
    whole = units(with_offsets())
    assert [unit.label for unit in whole.query] == ["Keys", "[CLS] and [SEP]", "any text"]
    assert [unit.numbered for unit in whole.passage][-2:] == ["0:[CLS] and [SEP]", "any text"]
    assert (whole.contributions[:, -1] * 414).round().tolist() == [46, 0, 92]
    assert whole.contributions.sum() == pytest.approx(1.0)
    for axis, sums in ((1, whole.sums[0]), (0, whole.sums[1])):
        np.testing.assert_allclose(whole.contributions.sum(axis=axis), sums)
    assert whole.similarity.shape == (2, 5)
    assert largest_addend(whole) == pytest.approx(26 / 414)
    excerpt = part(whole, 2, 2)
    assert [unit.label for unit in excerpt.query] == ["Keys", "[CLS] and [SEP]"]
    assert [unit.label for unit in excerpt.passage] == ["[CLS] and [SEP]", "any text"]
    assert excerpt.contributions.shape == (2, 2) and excerpt.similarity.shape == (2, 1)


def test_a_part_keeps_the_largest_sums_and_counts_the_rest() -> None:
    whole = units(by_hand(), "token")
    excerpt = part(whole, 2, 3)
    assert [unit.label for unit in excerpt.query] == ["##s", "[SEP]"]  # the largest sums, in order
    assert [unit.label for unit in excerpt.passage] == [",", "key", "[SEP]"]
    assert left_out(whole, excerpt) == (
        "Left out (smallest contributions): 2 tokens of the query, 3 of the passage."
    )
    assert left_out(whole, part(whole, 4, 6)) == ""


def test_sentences_are_drawn_as_a_table_and_a_list_of_pairs() -> None:
    drawing = heatmap.sentences(sentences(), width=80)
    assert drawing.split("\n") == [
        "1  sentence 0",
        "2  sentence 1",
        "3  sentence 2",
        "",
        "       1      2      3",
        "1 ██1.00 ░░0.50 ·-0.25",
        "2 ░░0.50 ██1.00 ▓▓0.75",
        "3 ·-0.25 ▓▓0.75 ██1.00",
        "",
        "Closest pairs",
        "  0.750  2 ~ 3",
        "  0.500  1 ~ 2",
        "  -0.250  1 ~ 3",
        "  (3 x 3 cosines, mean pooling, a-model)",
    ]
    assert "\x1b[" in heatmap.sentences(sentences(), colour=True)


def test_columns_of_other_sentences_have_letters() -> None:
    similarities = Similarities(
        ("a",), ("x", "y"), np.array([[0.1, 0.9]], dtype=np.float32), False, "m", "mean"
    )
    drawing = heatmap.sentences(similarities)
    assert "A  x\nB  y" in drawing
    assert "0.900  1 ~ B" in drawing
    assert [letters(i) for i in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_matrices_show_sums_cosines_and_the_layer() -> None:
    drawing = heatmap.matrices(by_hand(), units(by_hand(), "token"))
    assert "cosine 1.250000 = 1.000000 (4 query tokens) + 2.5e-01 (residual)" in drawing
    assert "(mean pooling, contributions traced to layer 0 of 6)" in drawing
    lines = drawing.split("\n")
    (first, second) = (i for i, line in enumerate(lines) if line.split()[:2] == ["[CLS]", "door"])
    assert lines[first].split() == ["[CLS]", "door", "lock", ",", "key", "[SEP]", "sum"]
    assert lines[first + 4].split()[-1] == "█445.7"  # 18 + ... + 23 of 276, in thousandths
    assert "0.96" in lines[second + 4]
    assert "layer 3" in drawing
    assert "(4 x 6 tokens)" in drawing


def test_every_token_of_a_long_passage_is_in_a_block() -> None:
    passage = tuple(replace(by_hand().passage_tokens[2], text=f"w{i}") for i in range(99))
    cells = np.arange(396).reshape(4, 99) / 396
    numbers = computed(np.pad(cells, ((0, 1), (0, 1))), cells)
    why = replace(by_hand(), passage_tokens=passage, numbers=numbers)
    whole = heatmap.matrices(why, units(why, "token"), width=60)
    cosines = whole.partition("do not sum to the score")[2]
    assert [word for word in cosines.split() if word.startswith("w")] == [f"w{i}" for i in range(99)]
    assert cosines.count(" key ") == len(range(0, 99, 7))


def test_groups_have_their_document_above() -> None:
    output = hits.hits([HIT, replace(HIT, rank=2, passage_id=14), replace(OTHER, rank=3)], grouped=True)
    lines = [line for line in output.split("\n") if line and not line.startswith(" ")]
    assert lines == ["keys.md  Keys", "a b.pdf  A [b]*"]


def test_hits_end_with_the_verdict_unless_quiet() -> None:
    verdict = Verdict("perhaps", 0.4, 0.5, 0.5)
    output = hits.hits([replace(ranked(1, 100.0), verdict=verdict), ranked(2, 98.0)])
    assert output == (
        " 1  0.500  /a.txt:1  p801\n   1  text\n\n 2  0.500  /a.txt:1  p802\n   1  text\n\nPerhaps (40 %)"
    )
    quiet = " 1  0.500  /a.txt:1  p801\n   1  text"
    assert hits.hits([replace(ranked(1, 100.0), verdict=verdict)], quiet=True) == quiet
    assert hits.hits([ranked(1, 100.0)]) == quiet


def test_a_percentile_is_rounded_down_and_put_in_words() -> None:
    assert percentile_of(ranked(1, 99.8)) == "closer than 99.8 % of random pairs"
    assert percentile_of(ranked(1, 99.99)) == "closer than 99.9 % of random pairs"
    assert percentile_of(ranked(1, None)) == ""


@pytest.mark.parametrize(
    "name", ["topic", "creative-work", "a b", "HAS", "it's", 'a"b', "a.b", "x>y", "$HOME"]
)
def test_a_printed_filter_parses_back_to_its_value(name: str) -> None:
    for value in (
        "water",
        "Ada Lovelace",
        "don't",
        'the "door"',
        "a=b",
        "$HOME `x`",
        "(x)",
        "not",
        "\\n",
        "3.5",
    ):
        expression = in_filter(name, value)
        assert shlex.split(f"seewhy query x --where {filter_argument(expression)}")[-1] == expression
        condition = parse(f"{expression} and kind=text").condition.parts[0]  # type: ignore[union-attr]
        assert (condition.field.name, condition.operator, condition.values[0].text) == (name, "=", value)  # type: ignore[union-attr]
    assert in_filter("topic", "water") == "topic=water"


def test_an_explanation_prints_the_sum_and_the_recomputed_score() -> None:
    drawing = why.explanation(replace(by_hand(), recomputed=1.5), details=True)
    assert "score 1.250000 = 1.000000 (4 query tokens) + 2.5e-01 (residual)" in drawing
    assert "      1.500000 - 2.5e-01, computed from the stored embedding" in drawing
    assert "mean pooling, contributions traced" in drawing
    assert "stored" not in why.explanation(by_hand())


def test_a_hybrid_score_is_printed_as_meaning_plus_keywords() -> None:
    hybrid = replace(
        by_hand(), weight=0.8, terms=(Term("keys", 0.25), Term("lock", 0.125)), score=1.175, mode="hybrid"
    )
    drawing = why.explanation(hybrid, details=True)
    assert "score 1.175000 = 0.8 x 1.000000 (4 query tokens) + 0.375000 (2 keywords)" in drawing
    assert "other addend" not in why.explanation(by_hand())
    assert "lock" in drawing
    assert "+1.1750" in drawing


def test_json_of_an_explanation_has_score_residual_and_shares() -> None:
    record = standard_json.loads(json.explanation(replace(by_hand(), recomputed=1.5)))
    assert [record[name] for name in ("score", "recomputed", "drift")] == [1.25, 1.5, -0.25]
    assert (record["addends"], record["residual"]) == (pytest.approx(1.0), pytest.approx(0.25))
    assert [share["text"] for share in record["shares"]] == ["Keys", "[CLS] and [SEP]"]
    assert sum(share["contribution"] for share in record["shares"]) == pytest.approx(1.0)
    assert (record["layer"], record["weight"], record["terms"]) == (0, 1.0, [])
    assert np.array(record["contributions"]).shape == np.array(record["similarity"]).shape == (4, 6)
    assert [np.shape(record["offsets"][name]) for name in ("query", "passage", "both")] == [
        (4,),
        (6,),
        (),
    ]
    assert np.array(record["layers"]).shape == (1, 5) and "numbers" not in record


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_file_reaches_a_comparison_raw(colour: bool) -> None:
    evil = "\x1b[31mred\x07\x9b2J \u202egnirts \udcff"
    hit = replace(HIT, text=evil, title=evil, heading=evil, path=f"/{evil}")
    explanation = replace(by_hand(), query=evil, passage=evil)
    contrast = contrast_of(hit, explanation, hit, replace(explanation, score=1.0))
    answer = WhyNot(evil, evil, 10, 0, 99, "lower", hit=hit, last=hit, contrast=contrast)
    missing = WhyNot(evil, evil, 10, 0, 99, "not indexed", "ignored", evil)
    for drawing in (
        why.contrast(contrast, colour=colour),
        why.why_not(answer, colour=colour),
        why.why_not(missing, colour=colour),
    ):
        assert "\x07" not in drawing
        assert "\x9b" not in drawing
        assert "\u202e" not in drawing
        assert "\x1b[31mred" not in drawing
        assert "\\x1b[31mred" in drawing
        drawing.encode()


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        ("found", "among the first 10 hits: p12 ranks 1 of 99"),
        ("filtered", "A filter, a quoted word or a word after a minus sign excludes it"),
    ],
)
def test_every_cause_has_its_sentence(cause: str, sentence: str) -> None:
    answer = WhyNot("key", "keys.md", 10, 0, 99, cause, hit=HIT)  # type: ignore[arg-type]
    assert sentence in why.why_not(answer)


PROSE = "\n".join(f"line {number} says this and that" for number in range(1, 21))


def hit(text: str, kind: str = "text", **more: object) -> Hit:
    lines = text.count("\n")
    base = replace(
        HIT,
        text=text,
        end=len(text),
        file=StoredFile(kind),
        heading="",
        line_start=7,
        line_end=7 + lines,
        path="/notes/a.txt",
    )
    return replace(base, **more)  # type: ignore[arg-type]


def marks_of(text: str, **weights: float) -> list[Highlight]:
    return [
        Highlight(*match.span(), weight)
        for word, weight in weights.items()
        for match in re.finditer(rf"\b{word}\b", text)
    ]


def passage_lines(
    hit: Hit, marks: list[Highlight] | None = None, width: int = 60, **options: object
) -> list[str]:
    """The lines of the passage, without the title and the headings above it."""
    lines = hits.hits([hit], marks=[marks or []], width=width, **options).splitlines()  # type: ignore[arg-type]
    return lines[1 + bool(hit.title or hit.heading) :]


def test_lines_are_numbered_as_in_the_file_and_keep_their_indentation() -> None:
    text = "def turn(key):\n    if key:\n\n\treturn 1"
    assert passage_lines(hit(text, "code")) == [
        "   7  def turn(key):",
        "   8      if key:",
        "   9",
        "  10      return 1",
    ]
    assert passage_lines(hit("a\r\nb", line_end=8)) == ["   7  a", "   8  b"]


def test_the_rows_whose_words_add_most_are_shown() -> None:
    rows = passage_lines(hit(PROSE), marks_of(PROSE, **{"12": 0.2, "14": 0.1, "3": 0.25}))
    lines = [f"{number + 6:>4}  line {number} says this and that" for number in range(9, 15)]
    assert rows == [*lines[:5], f"{lines[5]} …"]
    assert [line.strip() for line in passage_lines(hit(PROSE))] == [
        *(f"{n + 6}  line {n} says this and that" for n in range(1, 6)),
        "12  line 6 says this and that …",
    ]
    whole = "\n".join(PROSE.split("\n")[:8])
    assert len(passage_lines(hit(whole), marks_of(whole, **{"8": 1}))) == 8


def test_a_long_line_is_wrapped_below_its_first_word_and_cut_around_the_match() -> None:
    text = "- item " + "of words and more " * 40 + "the key is here " + "and so on " * 20
    lines = passage_lines(hit(text), marks_of(text, key=1.0))
    assert len(lines) == 6
    assert lines[0].startswith("   7  … ")
    assert {line[:6] for line in lines[1:]} == {" " * 6}
    assert any("key" in line for line in lines)
    assert lines[-1].endswith(" …")
    assert all(len(line) <= 60 for line in lines)


def test_a_heading_is_not_repeated_in_the_text() -> None:
    text = "## Find\n\nThe key.\n"
    assert passage_lines(hit(text, "markdown", heading="Keys > Find", title="Keys", line_end=9)) == [
        "   9  The key."
    ]
    text = "Find\n====\n\nThe key."
    assert passage_lines(hit(text, "rst", heading="Find", title="")) == ["  10  The key."]
    assert passage_lines(hit("## Find", "markdown", heading="Find", title="")) == ["   7  ## Find"]


@pytest.mark.parametrize("pages", [3, "3", [3], None])
def test_a_field_of_the_user_does_not_say_that_a_page_was_read_by_ocr(pages: Any) -> None:
    own = hit("text", "markdown", metadata={"ocr_pages": pages}, page=3)
    assert "OCR" not in hits.hits([own])
    assert ("read by OCR" in hits.hits([replace(own, file=StoredFile("pdf"))])) == (pages == [3])


def test_a_title_is_not_repeated() -> None:
    event = hit("Ferry to Kirkwall\nMonday at nine", title="Ferry to Kirkwall")
    assert passage_lines(event) == ["   8  Monday at nine"]
    assert snippet(event) == "Monday at nine"
    joined = hit("1. Roof\n", title="Minutes", heading="Minutes \u00b7 1. Roof")
    assert headings(joined) == "Minutes \u00b7 1. Roof"


HARD = {
    "tex": (
        r"\emph{Nail to nail}, \cite{a}as \textbf{it} is.",
        [r"\emph{", "}", r"\cite{a}", r"\textbf{"],
    ),
    "markdown": ("| what | price |\n|:-----|------:|\n| **key** | 3.20 |", ["|", "|:-----|------:|"]),
    "text": ("N\bNA\bAM\bM and \x1b[31mred\x1b[0m", ["N\b", "A\b", "M\b", "\x1b[31m", "\x1b[0m"]),
}
EASY = {
    "tex": ["   7  Nail to nail, as it is."],
    "markdown": ["   7   what  price", "   9   **key**  3.20"],
    "text": ["   7  NAM and red"],
}


@pytest.mark.parametrize("kind", HARD)
def test_marks_that_are_hard_to_read_are_not_drawn(kind: str) -> None:
    text, marks = HARD[kind]
    pattern = "|".join(map(re.escape, sorted(marks, key=len, reverse=True)))
    hidden = [match.span() for match in re.finditer(pattern, text)]
    assert passage_lines(hit(text, kind, hidden=tuple(hidden))) == EASY[kind]


def test_words_beside_such_marks_are_marked() -> None:
    text = "K\bKe\bey\by of the lock"
    passage = hit(text, hidden=((0, 2), (3, 5), (6, 8)))
    (line,) = passage_lines(passage, [Highlight(2, 9, 1.0), Highlight(17, 21, 0.9)], colour=True)
    drawn = Text.from_ansi(line)
    assert drawn.plain == "   7  Key of the lock"
    assert {drawn.plain[span.start : span.end] for span in drawn.spans} >= {"Key", "lock"}


def test_words_are_marked_only_in_colour() -> None:
    text = "Open \x1b[31m the key \u202e of it, the lock"
    marks = marks_of(text, key=1.0, lock=0.1)
    (plain,) = passage_lines(hit(text), marks)
    assert plain == "   7  Open \\x1b[31m the key \\u202e of it, the lock"
    (colour_line,) = passage_lines(hit(text), marks, colour=True)
    line = Text.from_ansi(colour_line)
    assert line.plain == plain
    styles = {line.plain[span.start : span.end]: span.style for span in line.spans}
    assert (styles["key"].bold, styles["key"].color.number) == (True, 2)
    assert (styles["lock"].bold, styles["lock"].color.number) == (None, 2)


def test_surrounding_lines_are_numbered_too_and_nothing_is_cut() -> None:
    around = Surroundings(((5, "\x07before"), (6, "")), ((27, "after"),))
    lines = passage_lines(hit(PROSE), around=[around])
    assert lines[:3] == ["   5  \\x07before", "   6", "   7  line 1 says this and that"]
    assert lines[-1] == "  27  after"
    assert len(lines) == 23


def test_an_editor_opens_the_line_of_the_best_match() -> None:
    passage = hit(PROSE)
    assert line_of(passage, marks_of(PROSE, **{"12": 0.2})) == 18
    assert line_of(passage, marks_of(PROSE, **{"1": 0.2})) == 7
    assert line_of(hit("## Find\n\nThe key.", heading="Find"), []) == 9
    assert line_of(hit("a\nb", "csv", line_end=7), []) == 7
    assert line_of(hit(""), []) == 7
