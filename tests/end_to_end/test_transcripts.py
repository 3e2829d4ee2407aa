"""What the pages show is what the command prints, run on the handbook with the real model."""

import os
from pathlib import Path

import pytest

from tests.transcripts import (
    PAGES,
    REPOSITORY,
    Transcript,
    differences,
    remade,
    terminal,
    transcripts,
    write,
)

PRINTED = [
    " 1  0.684  notes/keys.md:1-3  p7",
    "    Keys",
    "",
    "score +0.2027  ████    - 4.5e-08 (residual)",
]


@pytest.mark.skipif(os.name == "nt", reason="the pages show paths of other systems")
def test_all_transcripts_are_what_is_printed(handbook_home: Path) -> None:
    shown = [transcript for page in PAGES for transcript in transcripts(page) if not transcript.left_out]
    assert len(shown) >= 20
    with terminal(handbook_home) as run:
        wrong = {one.place: found for one in shown if (found := differences(one, remade(one, run)))}
    assert wrong == {}, "if that is meant: python tests/transcripts.py --write"


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        (PRINTED, True),
        (
            [
                " 2  0.681  notes/keys.md:2-4  p123",
                *PRINTED[1:3],
                "score +0.1981  ███     + 2.1e-08 (residual)",
            ],
            True,
        ),
        ([PRINTED[0], "…", PRINTED[3]], True),
        (["…"], True),
        (["…", *PRINTED, "…"], True),
        ([PRINTED[0].replace("keys", "doors"), *PRINTED[1:]], False),
        ([*PRINTED[:3], PRINTED[3].replace("+0", "-0")], False),
        ([*PRINTED[:3], PRINTED[3].replace("0.2027", "0.203")], False),
        ([PRINTED[0], *PRINTED[2:]], False),
        ([*PRINTED[2:], *PRINTED[:2]], False),
        ([PRINTED[0], "…", "Locks", "…"], False),
    ],
)
def test_digits_and_bars_may_differ_and_nothing_else(
    lines: list[str], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEWHY_CONFIG", str(tmp_path / "config.toml"))
    transcript = Transcript(REPOSITORY / "page.md", 1, ["$ seewhy query keys", *lines])
    assert (differences(transcript, remade(transcript, lambda command: PRINTED)) == []) is same


def test_what_is_printed_now_is_put_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEWHY_CONFIG", str(tmp_path / "config.toml"))
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```\n$ seewhy one\n…\nrow 6  0.91\n$ seewhy two\nold\n```\n\nText.\n",
        encoding="utf-8",
    )
    [transcript] = transcripts(page)
    printed = {"seewhy one": ["a", "row 5  0.35", "row 6  0.92"], "seewhy two": ["new", "lines"]}
    write(page, [(transcript, remade(transcript, printed.__getitem__))])
    assert page.read_text(encoding="utf-8") == (
        "# Page\n\n```\n$ seewhy one\n…\nrow 6  0.92\n$ seewhy two\nnew\nlines\n```\n\nText.\n"
    )
