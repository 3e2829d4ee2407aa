"""Labelled examples from CSV and TSV files."""

from __future__ import annotations

from pathlib import Path

import pytest

from search.errors import InputError
from search.evaluating.formats import read_examples
from search.records.predictions import Example


def written(folder: Path, content: str, name: str = "examples.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_texts(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffLabel,Text,other\ngood,"a, ""b""\nc",1\n\n bad , d ,2\n')
    assert read_examples(path) == [
        Example("good", text='a, "b"\nc', line=3),
        Example("bad", text=" d ", line=5),
    ]
    path = written(tmp_path, "mood\ttweet\ngood\ta, b\n", "examples.tsv")
    assert read_examples(path, text_column="Tweet", label_column="mood") == [
        Example("good", text="a, b", line=2)
    ]


def test_passages_and_paths(tmp_path: Path) -> None:
    assert read_examples(written(tmp_path, "passage,label\n12,a\np7,b\n")) == [
        Example("a", passage=12, line=2),
        Example("b", passage=7, line=3),
    ]
    assert read_examples(written(tmp_path, "path,label\nx.csv#3,a\n")) == [
        Example("a", path="x.csv#3", line=2)
    ]
    asked = read_examples(written(tmp_path, "path,label\nx,a\n"), text_column="path")
    assert asked == [Example("a", text="x", line=2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,mood\na,b\n", r"csv:1: no column 'label' for the label; there is 'text', 'mood'\. .*--label-column"),
        ("tweet,label\na,b\n", r"no column 'text' \(or 'passage' or 'path'\) .*--text-column"),
        ("text,label,label\na,b,c\n", "two columns are called 'label'"),
        ("text,label\na,b\nc\n", r"examples\.csv:3: 1 fields, but the first line has 2"),
        ("text,label\n ,b\n", r'examples\.csv:2: "text" is empty'),
        ("text,label\na,\n", '"label" is empty'),
        ("text,label\n", "no rows below the first line"),
        ("", "there is none"),
        ("passage,label\nx,b\n", "'x' is no id of a passage"),
        ('text,label\n"a,b\n', "no table"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_examples(written(tmp_path, content))


def test_other_mistakes(tmp_path: Path) -> None:
    path = written(tmp_path, "text,label\na,b\n")
    with pytest.raises(InputError, match="no column 'tweet'"):
        read_examples(path, text_column="tweet")
    with pytest.raises(InputError, match="both the text and the label"):
        read_examples(path, text_column="label")
    with pytest.raises(InputError, match="cannot be read"):
        read_examples(tmp_path / "gone.csv")
