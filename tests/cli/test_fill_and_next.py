"""`seewhy lab fill` and `seewhy lab next`."""

import json

import numpy as np
import pytest

from search.bert import fill, next_sentences
from tests.bert.conftest import save_tiny_head
from tests.conftest import Run

TEXTS = ["open the door", "turn the lock", "the water"]


@pytest.fixture(scope="module")
def filler(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("fill"), "fill"))


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("next"), "next"))


def test_fill(run: Run, filler: str) -> None:
    text = "turn the [MASK] and [MASK] it"
    code, out, err = run("lab", "fill", text, "--model", filler, "-k", 3)
    assert (code, err) == (0, "")
    found = fill(text, model=filler, k=3)
    rows = [line.split() for line in out.splitlines()]
    for mask in found.masks:
        for guess in mask.guesses:
            name = guess.piece if guess.piece.startswith("##") else guess.word
            numbers = [str(guess.rank), f"{guess.probability:.4f}", f"{guess.logit:.3f}"]
            assert any(row[: len(name.split()) + 3] == [*name.split(), *numbers] for row in rows)
    assert "mask 1 of 2, characters 9-15" in out and "mask 2 of 2, characters 20-26" in out
    assert "masked at once, and each is guessed by itself" in " ".join(out.split())
    said = json.loads(run("lab", "fill", text, "--model", filler, "-k", 3, "--json")[1])
    assert [len(mask["guesses"]) for mask in said["masks"]] == [3, 3]
    assert said["masks"][1]["guesses"][0]["id"] == found.masks[1].guesses[0].id


def test_fill_among_and_word(run: Run, filler: str) -> None:
    for args in (
        ["turn the [MASK]", "--model", filler, "--among", "key", "--among", "##s", "--json"],
        ["--json", "--among", "key", "--among", "##s", "--model", filler, "--", "turn the [MASK]"],
    ):
        (mask,) = json.loads(run("lab", "fill", *args)[1])["masks"]
        assert {guess["piece"] for guess in mask["among"]} == {"key", "##s"}
        assert len(mask["guesses"]) == 5
    (mask,) = fill("turn the key", model=filler, word="key").masks
    assert mask.hidden is not None
    out = run("lab", "fill", "turn the key", "--word", "key", "--model", filler)[1]
    assert f"'key', characters 9-12: rank {mask.hidden.rank} of 400, probability" in out
    assert "of the words that were asked about" in run(
        "lab", "fill", "the [MASK]", "--model", filler, "--among", "key")[1]  # fmt: skip


def test_next(run: Run, follower: str) -> None:
    code, out, err = run("lab", "next", *TEXTS, "--model", follower)
    assert (code, err) == (0, "")
    one, two = next_sentences(TEXTS, model=follower)
    rows = [line.split()[:6] for line in out.splitlines()]
    for name, likely, logits in (
        ("B after A", one.probability, one.logits),
        ("A after B", one.reverse_probability, one.reverse_logits),
        ("C after B", two.probability, two.logits),
        ("B after C", two.reverse_probability, two.reverse_logits),
    ):
        assert [*name.split(), f"{likely:.4f}", f"{logits[0]:.3f}", f"{logits[1]:.3f}"] in rows
    said = json.loads(run("lab", "next", *TEXTS, "--model", follower, "--json")[1])
    assert said["texts"] == TEXTS
    assert [pair["probability"] for pair in said["pairs"]] == pytest.approx(
        [one.probability, two.probability]
    )


def test_labels_have_numbers(run: Run, follower: str) -> None:
    for number, name in (("0", "is-next"), ("1", "not-next")):
        by_number, by_name = (
            run("lab", "next", "a key", "a door", "--model", follower, "--label", label)
            for label in (number, name)
        )
        assert by_number == by_name and by_number[0] == 0


def test_losses(run: Run, filler: str, follower: str) -> None:
    labels = ["--label", "key", "--label", "lock", "--model", filler]
    found = fill("turn the [MASK] and [MASK]", model=filler, labels=["key", "lock"])
    out = " ".join(run("lab", "fill", "turn the [MASK] and [MASK]", *labels)[1].split())
    for mask in found.masks:
        assert mask.hidden is not None
        assert f"'{mask.hidden.word}', characters {mask.start}-{mask.end}: rank {mask.hidden.rank}" in out
        assert f"loss {mask.hidden.loss:.4f}" in out
    assert f"a guess at random has {np.log(400):.4f}. Their mean is {found.loss:.4f}." in out
    said = json.loads(run("lab", "fill", "turn the [MASK] and [MASK]", *labels, "--json")[1])
    assert said["loss"] == pytest.approx(found.loss)
    pairs = next_sentences(TEXTS, model=follower, follows=[True, False])
    out = run("lab", "next", *TEXTS, "--model", follower, "--label", "is-next", "--label", "not-next")[1]
    assert f"B after A, label 'is-next': loss {pairs[0].loss:.4f}" in out
    assert f"C after B, label 'not-next': loss {pairs[1].loss:.4f}" in out
    said = json.loads(run("lab", "next", *TEXTS, "--model", follower, "--label", "not-next", "--json")[1])
    assert [pair["label"] for pair in said["pairs"]] == ["not-next", "not-next"]
    without = json.loads(run("lab", "next", *TEXTS, "--model", follower, "--json")[1])
    assert [(pair["label"], pair["loss"]) for pair in without["pairs"]] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["lab", "fill", "the [MASK]"], 2, "such as bert-base-uncased"),
        (["lab", "next", "a", "b"], 2, "such as bert-base-uncased"),
        (["lab", "fill", "the key", "--model", "FILL"], 1, "has no mask. Type [MASK]"),
        (["lab", "fill", "the [MASK]", "--model", "NEXT"], 1, "has no head for masked words"),
        (["lab", "fill", "the [MASK]", "--model", "FILL", "--among", "keyed"], 1, "but 2: key ##ed"),
        (["lab", "fill", "the [MASK]", "--model", "FILL", "--among"], 2, "'--among' requires an argument"),
        (["lab", "fill", "the [MASK]", "--model", "FILL", "-k", "0"], 2, "Invalid value for '--top-k'"),
        (["lab", "fill", "the [MASK]", "--model", "FILL", "--html", "x.html"], 2, "No such option: --html"),
        (["lab", "next", "a", "b", "--model", "FILL"], 1, "has no head for the next sentence"),
        (["lab", "next", "a", "--model", "NEXT"], 2, "give at least two texts"),
        (["lab", "next", "a", "b", "--model", "NEXT", "--label", "maybe"], 2, "Invalid value for '--label'"),
        (
            ["lab", "fill", "a [MASK]", "--model", "FILL", "--label", "key", "--label", "lock"],
            1,
            "masks: 1, labels: 2. Give",
        ),
        (["lab", "next", "a", " ", "--model", "NEXT"], 1, "text 2 is empty"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run,
    filler: str,
    follower: str,
    args: list[str],
    code: int,
    message: str,
) -> None:
    names = {"FILL": filler, "NEXT": follower}
    found, out, err = run(*(names.get(arg, arg) for arg in args))
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
