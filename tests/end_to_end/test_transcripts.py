"""Transcripts of the pages are what the command prints, run on the handbook with the real model."""

import os
from pathlib import Path

import pytest

from tests.transcripts import (
    PAGES,
    REPOSITORY,
    Transcript,
    differences,
    rerun,
    terminal,
    transcripts,
    write,
)

OUTPUT = [
    " 1  0.684  notes/keys.md:1-3  p7",
    "    Keys",
    "",
    "score +0.2027  ████    - 4.5e-08 (residual)",
]


@pytest.mark.skipif(os.name == "nt", reason="the pages show paths of other systems")
def test_every_transcript_is_what_its_commands_print(handbook_home: Path) -> None:
    examples = [
        transcript for page in PAGES for transcript in transcripts(page) if not transcript.left_out
    ]
    assert len(examples) >= 20
    with terminal(handbook_home) as run:
        wrong = {
            example.place: errors
            for example in examples
            if (errors := differences(example, rerun(example, run)))
        }
    assert wrong == {}, "if that is meant: python tests/transcripts.py --write"


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        (OUTPUT, True),
        (
            [
                " 2  0.681  notes/keys.md:2-4  p123",
                *OUTPUT[1:3],
                "score +0.1981  ███     + 2.1e-08 (residual)",
            ],
            True,
        ),
        ([OUTPUT[0], "…", OUTPUT[3]], True),
        (["…"], True),
        (["…", *OUTPUT, "…"], True),
        ([OUTPUT[0].replace("keys", "doors"), *OUTPUT[1:]], False),
        ([*OUTPUT[:3], OUTPUT[3].replace("+0", "-0")], False),
        ([*OUTPUT[:3], OUTPUT[3].replace("0.2027", "0.203")], False),
        ([OUTPUT[0], *OUTPUT[2:]], False),
        ([*OUTPUT[2:], *OUTPUT[:2]], False),
        ([OUTPUT[0], "…", "Locks", "…"], False),
    ],
)
def test_digits_and_bars_may_differ_and_nothing_else(
    lines: list[str], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEWHY_CONFIG", str(tmp_path / "config.toml"))
    transcript = Transcript(REPOSITORY / "page.md", 1, ["$ seewhy query keys", *lines])
    assert (differences(transcript, rerun(transcript, lambda command: OUTPUT)) == []) is same


def test_writing_replaces_the_output_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEWHY_CONFIG", str(tmp_path / "config.toml"))
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```\n$ seewhy one\n…\nrow 6  0.91\n$ seewhy two\nold\n```\n\nText.\n",
        encoding="utf-8",
    )
    [transcript] = transcripts(page)
    outputs = {"seewhy one": ["a", "row 5  0.35", "row 6  0.92"], "seewhy two": ["new", "lines"]}
    write(page, [(transcript, rerun(transcript, outputs.__getitem__))])
    assert page.read_text(encoding="utf-8") == (
        "# Page\n\n```\n$ seewhy one\n…\nrow 6  0.92\n$ seewhy two\nnew\nlines\n```\n\nText.\n"
    )
