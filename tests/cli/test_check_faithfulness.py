"""seewhy explain --check, as a person and a program see it."""

import json
from pathlib import Path

import numpy as np
import pytest

from search.records.comparisons import Faithfulness, Removal
from search.records.tokens import Word
from search.render.why import faithfulness
from tests.conftest import Run

QUERY = "find the key, turn the lock"


def record(*removals: Removal, words: int = 40, is_score: bool = True) -> Faithfulness:
    return Faithfulness(QUERY, "the passage", "", 0.5, is_score, words, removals, 0)


def some(count: int, text: str = "key") -> tuple[Word, ...]:
    return tuple(Word(text, i, i + 3, "word", (i, i + 1)) for i in range(count))


def said(found: Faithfulness, width: int = 200) -> str:
    return " ".join(faithfulness(found, width=width).split())


def test_the_sentences() -> None:
    out = said(record(Removal(some(3), 0.21, (0.02, 0.04))))
    assert (
        "Without its 3 words that count most the score falls by 0.210; "
        "without 3 random words it falls by 0.030 ± 0.010 (2 draws, none as much). cut out: key, key, key"
    ) in out
    assert "So the score does rest on the words that add most to it." in out
    out = said(record(Removal(some(1), -0.05, (0.0,)), is_score=False))
    assert (
        "Without its word that counts most the cosine rises by 0.050; "
        "without 1 random word it does not change ± 0.000 (1 draw, 1 as much)."
    ) in out
    assert "the cosine does not rest on the words that add most to it" in out
    assert "the word part of the score is no matter of this check" in out
    out = said(record(Removal(some(12), 0.3, (0.3,)), words=12))
    assert "Without all its 12 words the score falls by 0.300. cut out: key," in out
    assert "key and 2 more" in out
    assert "too few words to tell" in out
    assert "Without its only word the score falls" in said(record(Removal(some(1), 0.3, (0.3,)), words=1))
    assert "no word that could be cut out" in said(record(words=0))


def test_hostile_words_are_harmless() -> None:
    out = faithfulness(record(Removal(some(1, "a\x1b[31m\u202eb\nc"), 0.1, (0.0,))))
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("width", [40, 80])
def test_widths(width: int) -> None:
    found = record(Removal(some(10, "incomprehensibility"), 0.21, (0.02, 0.04)))
    assert max(map(len, faithfulness(found, width=width).splitlines())) <= width
    assert "\x1b[1;32mfalls by 0.210" in faithfulness(found, width=width, colour=True)


def test_the_command(run: Run, indexed: Path, tmp_path: Path) -> None:
    code, plain, err = run("explain", QUERY, 1)
    assert (code, err, "cut out" in plain) == (0, "", False)
    code, out, err = run("explain", QUERY, 1, "--check")
    assert (code, err) == (0, "")
    assert out.startswith(plain)
    assert "(20 draws" in out
    assert max(map(len, out[len(plain) :].splitlines())) <= 80
    assert "Does the score need the words" in run("explain", QUERY, 1, "--check", "--mode", "dense")[1]
    code, out, _ = run("explain", QUERY, 1, "--check", "--html", tmp_path / "a.html")
    assert (code, out.splitlines()[0]) == (0, "Does the cosine need the words that count most?")


def test_json(run: Run, indexed: Path) -> None:
    plain = json.loads(run("explain", QUERY, 1, "--json")[1])
    found = json.loads(run("explain", QUERY, 1, "--check", "--json")[1])
    check = found.pop("faithfulness")
    assert found == plain
    assert set(check) == {"cosine", "words", "removals", "holds", "seed"}
    assert check["cosine"] == pytest.approx(plain["cosine"], abs=1e-5)
    own = [word for word in plain["words"]["passage"] if word["kind"] == "word"]
    assert check["words"] == len(own)
    assert [len(removal["words"]) for removal in check["removals"]] == sorted(
        {min(n, len(own)) for n in (1, 3, 5)}
    )
    first = check["removals"][0]
    places = [(word["kind"], word["start"], word["end"]) for word in plain["words"]["passage"]]
    added = np.array(plain["words"]["contributions"]).sum(axis=0)
    best = max((at for at, place in enumerate(places) if place[0] == "word"), key=lambda at: added[at])
    assert [(word["kind"], word["start"], word["end"]) for word in first["words"]] == [places[best]]
    assert len(first["random"]) == 20
    assert first["random_mean"] == pytest.approx(sum(first["random"]) / 20)
    assert first["as_much"] == sum(drop >= first["drop"] for drop in first["random"])


def test_wrong_usage(run: Run, indexed: Path) -> None:
    code, out, err = run("explain", QUERY, 1, "--check", "--mode", "lexical")
    assert (code, out) == (1, "")
    assert "ranked by its words alone" in " ".join(err.split())
