"""seewhy why-not: every cause, from a folder on disk to the answer of the real command."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run

QUERY = "turn the key in the lock"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten short documents, one long one, and one file for each reason to leave it out."""
    folder = tmp_path / "things"
    for name in ("deep", "drafts", "venv"):
        (folder / name).mkdir(parents=True)
    for i in range(10):
        (folder / "deep" / f"{i}.txt").write_text(
            f"To turn the key number {i} in the lock.\n", encoding="utf-8"
        )
    (folder / "far.md").write_text(
        "Many people say that time is water and that no day is so long as this.\n", encoding="utf-8"
    )
    (folder / "long.md").write_text(
        "".join(f"# Part {i}\n\nTurn the key {i} in the lock, then turn the key.\n\n" for i in range(6)),
        encoding="utf-8",
    )
    (folder / "table.csv").write_text(
        "id,name,text\n1,first,the key\n2,,\n3,third,the lock\n", encoding="utf-8"
    )
    (folder / ".gitignore").write_text("ignored.md\ndrafts/\n", encoding="utf-8")
    (folder / "ignored.md").write_text("The key.", encoding="utf-8")
    (folder / "drafts" / "a.md").write_text("The key.", encoding="utf-8")
    (folder / "venv" / "a.md").write_text("The key.", encoding="utf-8")
    (folder / ".hidden.md").write_text("The key.", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "bytes.txt").write_bytes(bytes(range(256)) * 4)
    (folder / "empty.md").write_text("", encoding="utf-8")
    (folder / "header.rst").write_text("PEP: 210\nTitle: The key\n\n.. rejected::\n", encoding="utf-8")
    (folder / "excluded.md").write_text("The key.", encoding="utf-8")
    (folder / "id_rsa").write_text("The key.", encoding="utf-8")
    with (folder / "large.txt").open("wb") as stream:
        stream.truncate(64 * 2**20 + 1)
    (tmp_path / "outside.md").write_text("The key.", encoding="utf-8")
    return folder


@pytest.fixture
def indexed(run: Run, folder: Path, tiny_model: Path) -> Path:
    assert run("index", folder, "--model", tiny_model, "--exclude", "excluded.md", "-q")[0] == 0
    return folder


def why_not(run: Run, what: Any, *more: Any) -> tuple[dict[str, Any], str]:
    """The answer as JSON, and as it is drawn, in one line."""
    code, out, err = run("why-not", QUERY, what, *more, "--json")
    assert (code, err) == (0, "")
    code, drawn, err = run("why-not", QUERY, what, *more)
    assert (code, err) == (0, "")
    assert "Traceback" not in drawn
    return json.loads(out), " ".join(drawn.split())


def ranking(run: Run) -> list[dict[str, Any]]:
    """Every passage of the index, best first."""
    return json.loads(run("query", QUERY, "-k", 1000, "--per-document", 0, "--json")[1])


def lowest(ranked: list[dict[str, Any]]) -> dict[str, Any]:
    """The best passage of the document whose best passage ranks last; random weights choose which."""
    best: dict[str, dict[str, Any]] = {}
    for hit in ranked:
        best.setdefault(hit["document"], hit)
    return max((hit for name, hit in best.items() if "#" not in name), key=lambda hit: int(hit["rank"]))


@pytest.mark.parametrize(
    ("path", "reason", "said"),
    [
        ("ignored.md", "ignored", "Take it back with a line"),
        ("drafts/a.md", "ignored", "its folder drafts is"),
        ("venv/a.md", "ignored", "its folder venv is"),
        (".hidden.md", "hidden", "begins with a dot"),
        ("id_rsa", "secret", "never read"),
        ("picture.png", "binary", "It holds no text"),
        ("bytes.txt", "binary", "It holds no text"),
        ("empty.md", "empty", "nothing in it to find"),
        ("header.rst", "no text", "there is nothing below its header"),
        ("excluded.md", "excluded", "--include and --exclude"),
        ("large.txt", "too large", "the limit is 67,108,864"),
        ("table.csv#2", "empty", "nothing in it to find"),
        ("table.csv#9", "not there", "the file has 2 records with text"),
        ("no-such.md", "not there", "Check the spelling"),
        ("../outside.md", "outside the folder", "the index is of"),
    ],
)
def test_not_indexed_and_why(run: Run, indexed: Path, path: str, reason: str, said: str) -> None:
    found, drawn = why_not(run, indexed / path)
    assert (found["cause"], found["reason"]) == ("not indexed", reason)
    assert (found["hit"], found["rank"], found["gap"], found["contrast"]) == (None, None, None, None)
    assert f"not in the index: {reason}" in drawn
    assert said in drawn


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_not_followed(run: Run, indexed: Path) -> None:
    (indexed / "link.md").symlink_to(indexed / "far.md")
    found, _ = why_not(run, indexed / "link.md")
    assert (found["cause"], found["reason"]) == ("not indexed", "symbolic link")


def test_a_new_file_is_not_indexed_yet(run: Run, indexed: Path) -> None:
    (indexed / "new.md").write_text("Turn the key in the lock.", encoding="utf-8")
    found, drawn = why_not(run, indexed / "new.md")
    assert (found["cause"], found["reason"]) == ("not indexed", "new")
    assert "seewhy index FOLDER" in drawn
    assert run("index", indexed, "-q")[0] == 0
    assert why_not(run, indexed / "new.md")[0]["cause"] == "found"


def test_others_score_higher(run: Run, indexed: Path) -> None:
    ranked = ranking(run)
    mine = lowest(ranked)
    shown = json.loads(run("query", QUERY, "-k", 5, "--json")[1])
    assert mine["passage_id"] not in [hit["passage_id"] for hit in shown]
    found, drawn = why_not(run, mine["path"], "-k", 5)
    assert found["cause"] == "lower"
    assert (found["rank"], found["passages"]) == (mine["rank"], len(ranked))
    assert found["hit"]["passage_id"] == mine["passage_id"]
    assert found["last"]["passage_id"] == shown[-1]["passage_id"]
    assert found["gap"] == pytest.approx(shown[-1]["score"] - mine["score"], abs=1e-6)
    assert found["gap"] > 0
    gaps = [word["gap"] for word in found["contrast"]["words"]]
    assert sum(gaps) == pytest.approx(found["gap"], abs=1e-5)
    strongest = sorted(
        (s for s in found["shares"] if s["kind"] == "word"), key=lambda share: -share["contribution"]
    )
    assert found["matched_on"] == [share for share in strongest[:3] if share["contribution"] > 0] != []
    assert f"ranks {mine['rank']} of {len(ranked)} passages, and 5 hits were asked for" in drawn
    assert "What it was matched on" in drawn


def test_it_is_among_the_hits(run: Run, indexed: Path) -> None:
    best = ranking(run)[0]
    found, drawn = why_not(run, best["path"])
    assert (found["cause"], found["rank"], found["contrast"]) == ("found", 1, None)
    assert "It is among the first 10 hits" in drawn


def test_the_limit_of_a_document_hides_it(run: Run, indexed: Path) -> None:
    """The second passage of a document, where one of each is shown and it would have been among the hits."""
    ranked = ranking(run)
    of_long = [hit for hit in ranked if hit["document"] == "long.md"]
    second = of_long[1]
    k = second["rank"]
    options = ("-k", k, "--per-document", 1)
    found, drawn = why_not(run, f"p{second['passage_id']}", *options)
    assert (found["cause"], found["rank"]) == ("limit", k)
    assert found["document"] == "long.md"
    assert found["gap"] <= 0
    assert "as many hits as may be shown of one" in drawn
    assert why_not(run, f"p{second['passage_id']}", "-k", k, "--per-document", 0)[0]["cause"] == "found"
    line = f"{indexed / 'long.md'}:{second['line_start']}"
    assert why_not(run, line, *options)[0]["hit"]["passage_id"] == second["passage_id"]
    assert why_not(run, indexed / "long.md", *options)[0]["hit"]["passage_id"] == of_long[0]["passage_id"]


def test_the_file_has_changed_or_gone_since(run: Run, indexed: Path) -> None:
    mine = lowest(ranking(run))
    far = Path(mine["path"])
    before = far.read_bytes()
    assert why_not(run, far, "-k", 5)[0]["cause"] == "lower"
    far.write_text("Turn the key in the lock.", encoding="utf-8")
    found, drawn = why_not(run, far, "-k", 5)
    assert found["cause"] == "changed"
    assert found["hit"]["text"] == mine["text"]
    assert "has changed since it was indexed" in drawn
    far.write_bytes(before)  # another time stamp, the same text
    assert why_not(run, far, "-k", 5)[0]["cause"] == "lower"
    far.unlink()
    found, drawn = why_not(run, far, "-k", 5)
    assert found["cause"] == "gone"
    assert "not there any more" in drawn


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["deep"], 1, "'deep' is a folder. Name a file in it"),
        (["p999"], 1, "the index has no passage 999"),
        (["far.md:99"], 1, "no passage of 'far.md' is at line 99"),
        ([], 2, "Missing argument 'PATH'"),
    ],
)
def test_failures(run: Run, indexed: Path, args: list[str], code: int, message: str) -> None:
    found, out, err = run("why-not", QUERY, *args)
    assert (found, out) == (code, "")
    assert message in " ".join(err.split())


def test_a_document_of_which_another_passage_passes_the_filter(run: Run, indexed: Path) -> None:
    found = json.loads(run("why-not", QUERY, indexed / "table.csv", "--where", "id=3", "--json")[1])
    assert found["cause"] == "found"
    assert found["hit"]["document"] == "table.csv#3"
