"""The map: documents as points, alike ones close together."""

import json
from pathlib import Path

import numpy as np
import pytest

from search import Encoder, Index
from search.index import searcher_of
from tests.conftest import WORDS, Run


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    index = Index.create(tmp_path / "map", encoder=tiny)
    texts = [(f"keys/{i}", f"turn the key {WORDS[i]}") for i in range(12)]
    texts += [(f"water/{i}", f"the water is cold {WORDS[i]} <b>") for i in range(12)]
    texts += [("lone", "people call a number")]
    index.upsert({"id": name, "text": text, "title": text} for name, text in texts)
    return index


def test_the_positions_are_the_principal_components(index: Index) -> None:
    map_ = searcher_of(index).map()
    assert map_.documents == len(map_.points) == 25
    assert map_.groups == {"keys": 12, "water": 12, "other": 1}
    ids = [index.document(point.document_id).passages[0].passage_id for point in map_.points]
    rows = index.embeddings(ids)[1]
    centred = rows - rows.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    for axis, name in enumerate("xy"):
        places = np.array([getattr(point, name) for point in map_.points])
        inside = np.abs(places) < 1
        assert abs(np.corrcoef(places[inside], (centred @ axes[axis])[inside])[0, 1]) > 0.999
    assert map_.explained == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-4)
    assert searcher_of(index).map() is map_
    index.upsert([{"id": "new", "text": "a new sound"}])
    assert searcher_of(index).map().documents == 26


def test_the_command_draws_the_map(index: Index, run: Run, tmp_path: Path) -> None:
    code, out, _ = run("map", "-i", index.path)
    assert code == 0 and "25 documents, 25 on the map, by folder:\n" in out and "12  keys" in out
    code, out, _ = run("map", "-i", index.path, "--json")
    assert [point["group"] for point in json.loads(out)["points"]].count("water") == 12
    html, png = tmp_path / "map.html", tmp_path / "map.png"
    assert run("map", "-i", index.path, "--html", html, "--png", png)[0] == 0
    source = html.read_text(encoding="utf-8")
    assert source.count('<use href="#m') == 25 + 3 and "<b>" not in source and "style=" not in source
    assert png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 10_000


def test_without_folders_documents_are_grouped_by_kind(index: Index, run: Run, indexed: Path) -> None:
    (indexed / "deep" / "time.txt").rename(indexed / "time.txt")
    assert run("index", indexed)[0] == 0
    out = run("map", "-i", "notes")[1].splitlines()
    assert out[0].endswith("on the map, by kind:")
    assert {line.split()[-1] for line in out[1:4]} == {"markdown", "csv", "text"}
    assert json.loads(run("map", "-i", "notes", "--json")[1])["grouped_by"] == "kind"
