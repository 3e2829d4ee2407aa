"""`seewhy lab vocabulary`."""

import json
from pathlib import Path

import pytest

from search.bert import vocabulary
from tests.conftest import Run


def test_the_vocabulary_is_summarized(run: Run, tiny_model: Path) -> None:
    code, out, err = run("lab", "vocabulary", "--model", tiny_model)
    assert (code, err) == (0, "")
    assert "WordPiece" in out and "which continue a word" in out
    output = json.loads(run("lab", "vocabulary", "--model", tiny_model, "--json")[1])
    assert output["entries"] == vocabulary(str(tiny_model)).entries


def test_ids_entries_and_texts_name_each_other(run: Run, tiny_model: Path) -> None:
    pieces = ["[CLS]", "the", "key", "##s", "[SEP]"]
    for args in (["the keys"], [part for piece in pieces for part in ("--token", piece)]):
        code, out, err = run("lab", "vocabulary", *args, "--model", tiny_model)
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines()[1:6]]
        assert [row[1] for row in rows] == pieces
        assert out.endswith("reads as: [CLS] the key ##s [SEP]\n")  # this tokenizer has no decoder
        assert (
            run("lab", "vocabulary", "--ids", ",".join(row[0] for row in rows), "--model", tiny_model)[1]
            == out
        )


def test_all_tokens_are_looked_up_although_some_are_missing(run: Run, tiny_model: Path) -> None:
    tokens = ["keyed", "key", "doors", "##s"]
    args = ["--model", tiny_model, *(part for token in tokens for part in ("--token", token))]
    code, out, err = run("lab", "vocabulary", *args)
    assert code == 1
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["key", "##s"]
    assert (
        "has no entry 'keyed', 'doors'. The tokenizer splits 'keyed' into key ##ed; 'doors' into door ##s."
        in err
    )
    output = json.loads(run("lab", "vocabulary", *args, "--json")[1])
    assert [entry["piece"] for entry in output["entries"]] == ["key", "##s"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--ids", "1,9999"], 1, "has no ID 9999. IDs range from 0 to"),
        (["--ids", "key"], 2, "Invalid value for '--ids'"),
        (
            ["--token", "keyed"],
            1,
            "has no entry 'keyed'. The tokenizer splits 'keyed' into key ##ed.",
        ),
        (["the key", "--ids", "1"], 2, "TEXT and --ids cannot be combined"),
        ([""], 1, "the text is empty"),
    ],
)
def test_an_impossible_request_is_refused_with_a_reason(
    run: Run, tiny_model: Path, args: list[str], code: int, message: str
) -> None:
    status, out, err = run("lab", "vocabulary", "--model", tiny_model, *args)
    assert (status, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
