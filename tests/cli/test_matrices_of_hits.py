"""The matrices of hits: `seewhy query --matrices`; and files and ranges of all matrices."""

import csv
import json
from importlib import util
from pathlib import Path

import numpy as np
import pytest

import search
from search.render.csv import table
from tests.conftest import Run

QUERY = "find the key"

needs_pictures = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture
def index(notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> search.Index:
    index = search.Index.build(notes, index=str(tmp_path / "index"), model=str(tiny_model))
    monkeypatch.setenv("SEEWHY_INDEX", str(index.path))
    return index


def read(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """The names of the rows and columns of a CSV file, and its numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return [row[0] for row in rows], head[1:], np.array([row[1:] for row in rows], dtype=float)


def test_each_hit_is_followed_by_its_grid(run: Run, index: search.Index) -> None:
    first, second = index.query(QUERY, k=2, explain=True, layer="last")
    code, out, err = run("query", QUERY, "-k", 2, "--matrices", "--layer", "last")
    assert code == 0 and "Explain hit 1" in err
    plain = run("query", QUERY, "-k", 2)[1]
    assert "Cosines" not in plain
    above, below = out.split(f"p{second.passage_id}")
    for part, hit in ((above, first), (below, second)):
        why = hit.explanation
        assert why is not None
        key = [token.text for token in why.query_tokens].index("key")
        cells = [f"{value:.2f}" for value in why.similarity[key]][:3]
        row, *_ = [line for line in part.splitlines() if line.startswith("  key")]
        assert all(cell in row for cell in cells)
        assert part.count("(Cosines at layer 3 of 3, the last one") == 1
    assert "[CLS]" in out and "[CLS]" not in run("query", QUERY, "--matrices", "--no-special")[1]


def test_json_has_the_matrices_only_on_request(run: Run, index: search.Index) -> None:
    plain = json.loads(run("query", QUERY, "-k", 1, "--json")[1])[0]
    assert "explanation" not in plain
    out = run("query", QUERY, "-k", 1, "--json", "--matrices", "--layer", "2")[1]
    record = json.loads(out)[0]
    (hit,) = index.query(QUERY, k=1, explain=True, layer=2)
    why, explanation = hit.explanation, record.pop("explanation")
    assert why is not None and record == plain
    np.testing.assert_allclose(explanation["similarity"], why.similarity, atol=1e-6)
    np.testing.assert_allclose(explanation["contributions"], why.contributions, atol=1e-9)
    assert (explanation["layer"], explanation["similarity_layer"], explanation["n_layers"]) == (2, 2, 3)
    assert [token["text"] for token in explanation["query_tokens"]] == [
        token.text for token in why.query_tokens
    ]
    offsets = explanation["offsets"]
    total = np.sum(explanation["contributions"]) + sum(map(np.sum, offsets.values()))
    assert total == pytest.approx(why.cosine, abs=1e-5)
    assert sum(share["contribution"] for share in explanation["shares"]) == pytest.approx(why.addends)
    assert f"[{', '.join(map(str, explanation['similarity'][0]))}]" in out  # a row is a line
    words = json.loads(run("query", QUERY, "-k", 1, "--jsonl", "--matrices", "--words")[1])["explanation"]
    assert np.shape(words["words"]["similarity"]) == why.words().similarity.shape
    assert "similarity" not in words


def test_csv_files_have_the_tokens_as_header(run: Run, index: search.Index, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "csv"
    hits = index.query(QUERY, k=2, explain=True)
    for options in ([], ["--no-special"], ["--words"]):  # files that exist are replaced
        code, out, err = run("query", QUERY, "-k", 2, "--matrices", "--csv", folder, *options)
        assert code == 0 and f"wrote {folder}" in err and "Cosines" not in out
        assert len(list(folder.iterdir())) == 4
        for hit in hits:
            why, name = hit.explanation, f"{hit.rank}-p{hit.passage_id}"
            assert why is not None
            rows, columns, cells = read(folder / f"{name}-cosines.csv")
            if not options:
                assert rows == [token.text for token in why.query_tokens]
                assert columns == [token.text for token in why.passage_tokens]
                np.testing.assert_allclose(cells, why.similarity, atol=1e-7)
                *_, cells = read(folder / f"{name}-contributions.csv")
                assert cells.sum() == pytest.approx(why.meaning, abs=1e-6)
            elif options == ["--no-special"]:
                assert rows == [token.text for token in why.query_tokens if not token.special]
                np.testing.assert_allclose(cells, why.similarity[1:-1, 1:-1], atol=1e-7)
            else:
                assert rows == ["find", "the", "key", "[CLS] and [SEP]"]


@needs_pictures
def test_a_picture_of_each_hit_is_that_of_explain(run: Run, index: search.Index, tmp_path: Path) -> None:
    hits = index.query(QUERY, k=2)
    options = ("--no-special", "--scale", "-0.5", "0.5")
    assert run("query", QUERY, "-k", 2, "--matrices", *options, "--png", tmp_path / "png")[0] == 0
    for hit in hits:
        alone = tmp_path / "alone.png"
        run("explain", QUERY, hit.rank, "--matrix", *options, "--png", alone, "-k", 2)
        assert (tmp_path / "png" / f"{hit.rank}-p{hit.passage_id}.png").read_bytes() == alone.read_bytes()
    run("explain", QUERY, 2, "--matrix", "--png", tmp_path / "other.png", "-k", 2)
    assert (tmp_path / "other.png").read_bytes() != alone.read_bytes()


def test_the_same_options_work_for_explain_and_similarity(
    run: Run, index: search.Index, tiny_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "csv"
    code, out, _ = run("explain", QUERY, 1, "--csv", folder, "--no-special", "--tokens")
    assert (code, out) == (0, "")
    assert read(folder / "cosines.csv")[0] == ["find", "the", "key"]
    run("explain", QUERY, 1, "--layers", "--csv", folder)
    rows, columns, cells = read(folder / "query-layers.csv")
    assert rows == ["layer 3", "layer 2", "layer 1", "layer 0"] and columns[-1] == "any text"
    (hit,) = index.query(QUERY, k=1, explain=True)
    assert hit.explanation is not None
    np.testing.assert_allclose(cells.sum(axis=1), hit.explanation.meaning, atol=1e-6)
    pair = ("similarity", "the key", "the lock", "--model", tiny_model)
    out = run(*pair, "--tokens", "--no-special")[1]
    assert "[CLS]" not in out and "which are left out, add" in " ".join(out.split())
    assert "(2 x 2 tokens)" in out
    assert "[CLS]" in run(*pair, "--tokens")[1]
    dark, pale = (run(*pair, "--tokens", "--scale", *ends)[1] for ends in ((-0.1, 0.1), (0.99, 2)))
    assert dark.partition("do not sum")[2].count("█") > 10 * pale.partition("do not sum")[2].count("█")
    run(*pair, "--csv", folder)
    assert read(folder / "cosines.csv")[:2] == (["the key", "the lock"],) * 2
    assert "[CLS]" not in run("explain", QUERY, 1, "--layers", "--tokens", "--no-special")[1]


@pytest.mark.parametrize(
    ("command", "options", "code", "advice"),
    [
        ("query", "--csv x", 2, "--csv is about the matrices of hits: add --matrices"),
        ("query", "--png x", 2, "--png is about the matrices of hits: add --matrices"),
        ("query", "--layer 1", 2, "--layer is about the matrices of hits: add --matrices"),
        ("query", "--words", 2, "--words is about the matrices of hits: add --matrices"),
        ("query", "--tokens", 2, "--tokens is about the matrices of hits: add --matrices"),
        ("query", "--no-special", 2, "--no-special is about the matrices of hits: add --matrices"),
        ("query", "--scale 0 1", 2, "--scale is about the matrices of hits: add --matrices"),
        ("query", "--matrices --scale 1 0", 1, "the first number must be below the second. Example: 0.2 0.8"),
        ("query", "--matrices --scale 1 1", 1, "--scale 1 1 is no range"),
        ("query", "--matrices --layer 9", 1, "no layer 9. Choose from 0 to 3"),
        ("query", "--matrices --layer up", 1, "no layer 'up'. Choose from 0 to 3, 'middle', 'last'"),
        ("query", "--matrices --format paths", 2, "--matrices prints text or JSON: drop --format paths"),
        ("explain", "--scale 1 0 --matrix", 1, "--scale 1 0 is no range"),
        ("explain", "--scale 0 1", 2, "--scale is about matrices: add --matrix, --words, --csv DIR or --png FILE"),
        ("explain", "--no-special", 2, "--no-special is about matrices: add --matrix"),
        ("explain", "--layers --scale 0 1", 2, "drop one of them"),
        ("similarity", "a b --no-special", 2, "--no-special is about tokens: add --tokens or --words"),
    ],
)  # fmt: skip
def test_wrong_options_get_a_line_that_names_what_to_type(
    run: Run, index: search.Index, command: str, options: str, code: int, advice: str
) -> None:
    texts = [] if command == "similarity" else [QUERY]
    returned, out, err = run(command, *texts, *options.split())
    assert (returned, out) == (code, "")
    assert advice in err and err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_named(run: Run, index: search.Index, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = run("query", QUERY, "--matrices", "--csv", tmp_path / "file")
    assert code == 1 and f"'{tmp_path / 'file'}' is no folder to write to: it is a file." in err


def test_a_spreadsheet_computes_no_label() -> None:
    assert table(["=1+1", "-"], ["@a", "b,c"], np.eye(2)) == ",'@a,\"b,c\"\r\n'=1+1,1,0\r\n-,0,1\r\n"
