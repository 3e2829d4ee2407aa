"""`seewhy export` and `search.export`: an index for FAISS, NumPy and Parquet."""

import json
from pathlib import Path

import faiss
import numpy as np
import pytest
from pyarrow import parquet

from search import Index
from search.errors import InputError
from search.export import to_faiss, to_numpy, to_parquet
from tests.conftest import Run


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path, own_home: Path) -> Index:
    lines = [json.dumps({"text": f"key number {n} of the door", "n": n}) for n in range(300)]
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "keys.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "river.md").write_text("# River\n\nThe river.\n", encoding="utf-8")
    return Index.build(folder, model=str(tiny_model))


def test_a_flat_file_has_the_ids_and_cosines_of_the_index(index: Index, tmp_path: Path) -> None:
    report = to_faiss(index, tmp_path / "a.faiss")
    assert (report.type, report.passages, report.dimension) == ("Flat", 301, 32)
    assert (report.exact, report.searches) == (None, ())
    assert report.bytes == (tmp_path / "a.faiss").stat().st_size
    ids, vectors = index.embeddings()
    written = faiss.read_index(str(tmp_path / "a.faiss"))
    for id_, vector in zip(ids.tolist(), vectors, strict=True):
        np.testing.assert_array_equal(written.reconstruct(id_), vector)
    products, _ = written.search(vectors[-1:], 3)
    np.testing.assert_allclose(products[0], np.sort(vectors @ vectors[-1])[::-1][:3], atol=1e-6)


@pytest.mark.parametrize(
    ("type_", "settings"),
    [
        ("IVF4,Flat", ["nprobe 1", "nprobe 4"]),
        ("HNSW8", ["efSearch 16", "efSearch 64", "efSearch 256"]),
        ("SQ8", [""]),
        ("IDMap2,Flat", [""]),
        ("SQ4,RFlat", ["k_factor 1", "k_factor 4", "k_factor 16"]),
    ],
)
def test_a_kind_is_measured_beside_exact_search(
    index: Index, tmp_path: Path, type_: str, settings: list[str]
) -> None:
    report = to_faiss(index, tmp_path / "a.faiss", type_, measure=True)
    assert [search.setting for search in report.searches] == settings
    assert report.exact is not None and report.exact.recall == 1
    assert all(0 < search.recall <= 1 and search.milliseconds > 0 for search in report.searches)
    assert report.searches[-1].recall == 1 if type_ != "SQ8" else report.searches[-1].recall > 0.8
    assert faiss.read_index(str(tmp_path / "a.faiss")).ntotal == 301


def test_recall_tells_an_index_that_loses_neighbours(index: Index, tmp_path: Path) -> None:
    searches = to_faiss(index, tmp_path / "a.faiss", "IVF32,Flat", measure=True).searches
    recalls = [search.recall for search in searches]
    assert recalls == sorted(recalls)
    assert recalls[0] < 0.9


@pytest.mark.parametrize("type_", ["nonsense", "IVF500,Flat", "LSH"])
def test_a_type_that_cannot_be_made_is_named(index: Index, tmp_path: Path, type_: str) -> None:
    with pytest.raises(InputError, match=f"'{type_}' of 301 passages: .*Examples: Flat"):
        to_faiss(index, tmp_path / "a.faiss", type_)
    assert [path.name for path in tmp_path.glob("*a.faiss*")] == []


def test_arrays_have_the_embeddings_in_the_order_of_ids(index: Index, tmp_path: Path) -> None:
    report = to_numpy(index.path, tmp_path / "v.npy")
    assert report.files == (str(tmp_path / "v.npy"), str(tmp_path / "v.ids.npy"))
    ids, vectors = index.embeddings()
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), vectors)
    np.testing.assert_array_equal(np.load(tmp_path / "v.ids.npy"), ids)
    with pytest.raises(InputError, match="ends in .npy"):
        to_numpy(index, tmp_path / "v.bin")


def test_parquet_has_texts_metadata_and_vectors(index: Index, tmp_path: Path) -> None:
    to_parquet(index, tmp_path / "all.parquet")
    table = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert len(table) == 301
    row = next(row for row in table if row["document"] == "keys.jsonl#8")
    assert (row["place"], row["text"]) == ("keys.jsonl#8:8", "key number 7 of the door")
    assert json.loads(row["metadata"]) == {"n": 7}
    _, vector = index.embeddings([row["passage"]])
    np.testing.assert_array_equal(np.array(row["vector"], dtype=np.float32), vector[0])


def test_an_empty_index_has_nothing_to_export(tmp_path: Path, tiny_model: Path, own_home: Path) -> None:
    empty = Index.create("empty", model=str(tiny_model))
    with pytest.raises(InputError, match="has no passages to export"):
        to_faiss(empty, tmp_path / "a.faiss")


def test_the_command_writes_files_and_a_table(index: Index, run: Run, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.faiss", "v.npy", "all.parquet")]
    options = ["--faiss", files[0], "--type", "HNSW8", "--vectors", files[1], "--parquet", files[2]]
    code, out, err = run("export", "many", *options)
    assert (code, err) == (0, "")
    assert f"Wrote {files[0]}: HNSW8, 301 passages, 32 dimensions" in out
    assert "HNSW8 efSearch 64" in out and "recall@10" in out
    assert all(file.is_file() for file in files)
    code, out, err = run("export", "-i", "many", "--faiss", files[0], "--json")
    assert (code, json.loads(out)[0]["exact"]) == (0, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["many", "-i", "many", "--faiss", "x"], "give the index once"),
        (["many", "--type", "Flat"], "--type needs --faiss"),
        (["many", "--json"], "--json needs --faiss, --vectors or --parquet"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(
    index: Index, run: Run, options: list[str], message: str
) -> None:
    code, out, err = run("export", *options)
    assert (code, out) == (2, "")
    assert message in err
