"""How the audit of a score is drawn, and its JSON."""

import json as standard_json
from dataclasses import replace

import pytest

from search.explaining.explainer import contrast_of
from search.records.comparisons import WhyNot
from search.records.explanations import Term
from search.render import json, why
from tests.explaining.test_explanation import by_hand
from tests.render.test_render import HIT


def test_the_sum_and_the_stored_score() -> None:
    drawn = why.explanation(replace(by_hand(), recomputed=1.5))
    assert "score 1.250000 = 1.000000 (24 token pairs) + 2.5e-01 (residual)" in drawn
    assert "      1.500000 - 2.5e-01 by the embedding that is stored" in drawn
    assert "mean pooling)" in drawn
    assert "stored" not in why.explanation(by_hand())


def test_a_score_of_two_parts() -> None:
    hybrid = replace(
        by_hand(), weight=0.8, terms=(Term("keys", 0.25), Term("lock", 0.125)), score=1.175, mode="hybrid"
    )
    drawn = why.explanation(hybrid)
    assert "score 1.175000 = 0.8 x 1.000000 (24 token pairs) + 0.375000 (2 words found)" in drawn
    assert "words found" not in why.explanation(by_hand())
    assert "lock" in drawn
    assert "+1.1750" in drawn


def test_integrated_gradients_say_so() -> None:
    drawn = " ".join(why.explanation(replace(by_hand(), pooling="cls", steps=32)).split())
    assert "cls pooling; by integrated gradients in 32 steps, so the residual is their error" in drawn


def test_json() -> None:
    found = standard_json.loads(json.explanation(replace(by_hand(), recomputed=1.5)))
    assert found["audit"] == {
        "returned": 1.25,
        "recomputed": 1.5,
        "addends": pytest.approx(1.0),
        "residual": pytest.approx(0.25),
        "drift": -0.25,
    }
    assert [share["text"] for share in found["shares"]] == ["Keys", "[CLS] and [SEP]"]
    assert sum(share["contribution"] for share in found["shares"]) == pytest.approx(1.0)
    assert (found["steps"], found["weight"], found["terms"]) == (0, 1.0, [])


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_file_reaches_the_terminal_raw(colour: bool) -> None:
    evil = "\x1b[31mred\x07\x9b2J \u202egnirts \udcff"
    hit = replace(HIT, text=evil, title=evil, heading=evil, path=f"/{evil}")
    made = replace(by_hand(), query=evil, passage=evil)
    found = contrast_of(hit, made, hit, replace(made, score=1.0))
    answer = WhyNot(evil, evil, 10, 0, 99, "lower", hit=hit, last=hit, contrast=found, shares=made.shares())
    missing = WhyNot(evil, evil, 10, 0, 99, "not indexed", "ignored", evil)
    for drawn in (
        why.contrast(found, colour=colour),
        why.why_not(answer, colour=colour),
        why.why_not(missing, colour=colour),
    ):
        assert "\x07" not in drawn
        assert "\x9b" not in drawn
        assert "\u202e" not in drawn
        assert "\x1b[31mred" not in drawn
        assert "\\x1b[31mred" in drawn
        drawn.encode()


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("found", "among the first 10 hits: p12 ranks 1 of 99"),
        ("filtered", "A filter leaves it out"),
    ],
)
def test_every_cause_has_its_sentence(cause: str, said: str) -> None:
    answer = WhyNot("key", "keys.md", 10, 0, 99, cause, hit=HIT, shares=by_hand().shares())  # type: ignore[arg-type]
    assert said in why.why_not(answer)
    assert "What it was matched on" in why.why_not(answer)
    assert standard_json.loads(json.document(answer))["matched_on"][0]["text"] == "Keys"
