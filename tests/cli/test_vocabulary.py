"""`seewhy lab vocabulary`."""

import json
from pathlib import Path

import pytest

from search.bert import find_entries, neighbours
from tests.conftest import Run


def test_what_there_is(run: Run, tiny_model: Path) -> None:
    code, out, err = run("lab", "vocabulary", "--model", tiny_model)
    assert (code, err) == (0, "")
    assert "WordPiece" in out and "which go on with a word" in out
    found = json.loads(run("lab", "vocabulary", "--model", tiny_model, "--json")[1])
    assert found["entries"] == len(
        json.loads((tiny_model / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    )


def test_numbers_entries_and_texts(run: Run, tiny_model: Path) -> None:
    for args in (["the keys"], [f"--tokens={token}" for token in ("[CLS]", "the", "key", "##s", "[SEP]")]):
        code, out, err = run("lab", "vocabulary", *args, "--model", tiny_model)
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines()[1:6]]
        assert [row[1] for row in rows] == ["[CLS]", "the", "key", "##s", "[SEP]"]
        assert out.endswith("reads as: [CLS] the key ##s [SEP]\n")  # this tokenizer has no decoder
        assert (
            run("lab", "vocabulary", "--ids", ",".join(row[0] for row in rows), "--model", tiny_model)[1]
            == out
        )
    found = json.loads(run("lab", "vocabulary", "--tokens", "key", "--model", tiny_model, "--json")[1])
    assert found["entries"][0]["piece"] == "key"


def test_entries_by_their_spelling(run: Run, tiny_model: Path) -> None:
    known = find_entries(contains="e", model=str(tiny_model))
    code, out, err = run("lab", "vocabulary", "--contains", "e", "-k", 3, "--model", tiny_model)
    assert (code, err) == (0, "")
    assert out.startswith(f"Entries that contain 'e': {len(known)}")
    assert [line.split()[1] for line in out.splitlines()[3:6]] == [entry.piece for entry in known[:3]]
    assert f"-k {len(known)} or --json shows all" in out
    found = json.loads(
        run("lab", "vocabulary", "--begins", "t", "--contains", "e", "--model", tiny_model, "--json")[1]
    )
    assert all(entry["piece"].startswith("t") and "e" in entry["piece"] for entry in found)
    assert (
        run("lab", "vocabulary", "--begins", "T", "--model", tiny_model)[1]
        == "Entries that begin with 'T': 0\n"
    )


def test_neighbours(run: Run, tiny_model: Path) -> None:
    known = neighbours("keys", k=2, model=str(tiny_model))
    code, out, err = run("lab", "vocabulary", "--near", "keys", "-k", 2, "--model", tiny_model)
    assert (code, err) == (0, "")
    for entry, cosine in zip(known.entries, known.cosines, strict=True):
        assert any(
            line.split()[:3] == [str(entry.id), entry.piece, f"{cosine:.4f}"] for line in out.splitlines()
        )
    assert "It is spelled key ##s; the mean of their rows is compared." in " ".join(out.split())
    found = json.loads(
        run("lab", "vocabulary", "--near", "keys", "-k", 2, "--model", tiny_model, "--json")[1]
    )
    assert found["cosines"] == pytest.approx(known.cosines)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--ids", "9999"], 1, "has no number 9999: it has those from 0 to"),
        (["--ids", "key"], 2, "Invalid value for '--ids'"),
        (["--ids", "1,9999"], 1, "has no number 9999: it has those from 0 to"),
        (["--tokens", "keyed"], 1, "has no entry 'keyed'. A text spells it with 2: key ##ed."),
        (["--near", " "], 1, "the word is empty"),
        (["--begins", ""], 1, "say what entries begin with"),
        (["the key", "--near", "key"], 2, "TEXT and --near exclude each other"),
        (["--ids", "1", "--begins", "k"], 2, "--ids and --begins exclude each other"),
        (
            ["the", "key"],
            2,
            "unexpected extra argument",
        ),
        ([""], 1, "the text is empty"),
    ],
)
def test_what_cannot_be_answered_is_said(
    run: Run, tiny_model: Path, args: list[str], code: int, message: str
) -> None:
    found, out, err = run("lab", "vocabulary", "--model", tiny_model, *args)
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
