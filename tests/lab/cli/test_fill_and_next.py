"""`seewhy lab fill` and `seewhy lab next`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from search.bert import fill, next_sentence
from tests.conftest import Run
from tests.lab.bert.conftest import save_tiny_head

TEXTS = ["open the door", "turn the lock"]


@pytest.fixture(scope="module")
def filler(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("fill"), "fill"))


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("next"), "next"))


def test_guesses_are_printed_with_rank_probability_and_logit(run: Run, filler: str) -> None:
    args = ["turn the [MASK] and [MASK] it", "--model", filler, "-k", 3]
    args += ["--label", "key", "--label", "lock"]
    code, out, err = run("lab", "fill", *args)
    assert (code, err) == (0, "")
    result = fill(args[0], model=filler, k=3, labels=["key", "lock"])
    rows, text = [line.split() for line in out.splitlines()], " ".join(out.split())
    for mask in result.masks:
        for guess in mask.guesses:
            name = guess.piece if guess.piece.startswith("##") else guess.word
            numbers = [str(guess.rank), f"{guess.probability:.4f}", f"{guess.logit:.3f}"]
            assert any(row[: len(name.split()) + 3] == [*name.split(), *numbers] for row in rows)
        assert mask.label is not None
        assert (
            f"characters {mask.start}-{mask.end}: '{mask.label.word}' has rank {mask.label.rank}" in text
        )
    assert f"The mean loss is {result.loss:.4f}; random guesses have {np.log(400):.4f}." in text
    assert "Each mask is predicted independently" in text
    output = json.loads(run("lab", "fill", *args, "--json")[1])
    assert output["loss"] == pytest.approx(result.loss)
    assert [len(mask["guesses"]) for mask in output["masks"]] == [3, 3]
    assert output["masks"][1]["guesses"][0]["id"] == result.masks[1].guesses[0].id


def test_the_small_head_is_the_default(
    run: Run, filler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(filler, tmp_path / "lab" / "masks")
    monkeypatch.setenv("SEEWHY_CACHE", str(tmp_path))
    out = run("lab", "fill", "turn the [MASK]", "--json")[1]
    assert json.loads(out)["model"] == str(tmp_path / "lab" / "masks")


def test_a_pair_is_printed_with_its_probability_and_loss(run: Run, follower: str) -> None:
    code, out, err = run("lab", "next", *TEXTS, "--model", follower, "--label", 1)
    assert (code, err) == (0, "")
    pair = next_sentence(*TEXTS, model=follower, follows=False)
    lines = [line.split() for line in out.splitlines()]
    for name, share, logit in zip(
        ("is next", "is not next"), (pair.probability, 1 - pair.probability), pair.logits, strict=True
    ):
        assert [*name.split(), f"{share:.4f}", f"{logit:.3f}"] in [line[:-1] for line in lines]
    assert f"of the label, is {pair.loss:.4f}." in out
    output = json.loads(run("lab", "next", *TEXTS, "--model", follower, "--json")[1])
    assert (output["label"], output["probability"]) == (None, pytest.approx(pair.probability))


@pytest.fixture
def small_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small heads as `make lab` leaves it, each with the figures of its training."""
    classes = {"entities": ("O", "B-PER"), "topics": ("door", "water")}
    tasks = {"masks": "fill", "order": "next", "answers": "answer", "entities": "tag", "topics": "label"}
    for i, (name, task) in enumerate(tasks.items()):
        folder = save_tiny_head(tmp_path / "lab" / name, task, labels=classes.get(name, ()))
        figures = {"right": 1200 + i, "total": 3456}
        if task == "answer":
            figures |= {"unanswerable": 1000, "refused": 700}
        held_out = {"held_out": {task: figures}}
        (folder / "training.json").write_text(json.dumps(held_out), encoding="utf-8")
    monkeypatch.setenv("SEEWHY_CACHE", str(tmp_path))
    return tmp_path / "lab"


def test_a_small_head_says_how_often_it_is_right(
    run: Run, small_heads: Path, indexed: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("the key is in the door", encoding="utf-8")
    sentence = "Small head of make lab: right for 1,20{} of 3,456 held-out {} (33 to 36 %)"
    file, page = tmp_path / "a.txt", tmp_path / "a.html"
    for args, number, unit in (
        (("fill", "turn the [MASK]"), 0, "masked tokens"),
        (("next", *TEXTS), 1, "pairs of sentences"),
        (("ask", "where is the key?", "--in", file), 2, "questions"),
        (("ask", "where is the key?"), 2, "questions"),
        (("tag", "--text", "turn the key"), 3, "sentences"),
        (("tag",), 3, "sentences"),
        (("label", "apply", "--text", "turn the key"), 4, "texts"),
        (("label", "apply"), 4, "texts"),
    ):
        refusals = "; it refused 700 of 1,000 without an answer." if args[0] == "ask" else "."
        line = sentence.format(number, unit) + refusals
        assert line in " ".join(run("lab", *args)[1].split()), args
        held_out = json.loads(run("lab", *args, "--json")[1])["held_out"]
        low, high = binomtest(1200 + number, 3456).proportion_ci(method="wilson")
        assert held_out.pop("interval") == pytest.approx([low, high], abs=1e-6)
        counts = (
            {"unanswerable": 1000, "refused": 700}
            if args[0] == "ask"
            else {"unanswerable": 0, "refused": 0}
        )
        assert held_out == {"right": 1200 + number, "total": 3456, "unit": unit, "small": True, **counts}
        if args[0] == "ask" or args[:2] == ("tag", "--text"):
            assert run("lab", *args, "--html", page)[0] == 0
            assert line in page.read_text(encoding="utf-8")


def test_figures_that_cannot_be_read_are_left_out(run: Run, small_heads: Path, tmp_path: Path) -> None:
    """A head that seewhy trained elsewhere is not of `make lab`; other tools may write a file of that name."""
    head = shutil.copytree(small_heads / "answers", tmp_path / "mine")
    (tmp_path / "a.txt").write_text("the key is in the door", encoding="utf-8")
    args = ("lab", "ask", "where is the key?", "--in", tmp_path / "a.txt", "--model")
    assert "Head trained with seewhy: right for 1,202 of 3,456 held-out questions" in run(*args, head)[1]
    for i, content in enumerate(
        (
            "{}",
            "[1]",
            "{",
            '{"held_out": {"answer": [1, 2]}}',
            '{"held_out": {"answer": {"right": "x", "total": 1}}}',
            '{"held_out": {"answer": {"right": 2, "total": 1}}}',
            '{"held_out": {"answer": {"right": 0, "total": 0}}}',
        )
    ):
        other = shutil.copytree(head, tmp_path / str(i))
        (other / "training.json").write_text(content, encoding="utf-8")
        code, out, _ = run(*args, other)
        assert code == 0 and "held-out" not in out
        assert json.loads(run(*args, other, "--json")[1])["held_out"] is None


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["fill", "the [MASK]"], 1, "in about ten minutes: make lab"),
        (["next", "a", "b"], 1, "in about ten minutes: make lab"),
        (["fill", "the key", "--model", "FILL"], 1, "has no mask. Write [MASK]"),
        (["fill", "the [MASK]", "--model", "NEXT"], 1, "has no head for masked words"),
        (["fill", "the [MASK]", "--model", "FILL", "--label", "keyed"], 1, "into 2: key ##ed"),
        (["fill", "the [MASK]", "--model", "FILL", "-k", "0"], 2, "Invalid value for '--top-k'"),
        (["next", "a", "b", "--model", "FILL"], 1, "has no head for the next sentence"),
        (["next", "a", "--model", "NEXT"], 2, "Missing argument 'TEXT2'"),
        (["next", "a", "b", "--model", "NEXT", "--label", "2"], 2, "Invalid value for '--label'"),
    ],
)
def test_an_impossible_request_is_refused_with_a_reason(
    run: Run, filler: str, follower: str, args: list[str], code: int, message: str
) -> None:
    names = {"FILL": filler, "NEXT": follower}
    status, out, err = run("lab", *(names.get(arg, arg) for arg in args))
    assert (status, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
