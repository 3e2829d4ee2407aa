"""Searches and encoders that MTEB evaluates, on tasks made of local files: the figures are those of `seewhy eval`."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mteb
import pytest
import pytest_socket
from mteb.models import EncoderProtocol, SearchProtocol

from search import Encoder, InputError, evaluate
from search.integrations.mteb import SeewhyEncoder, SeewhySearch, task
from tests.conftest import WORDS


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SEEWHY_HOME", str(tmp_path / "home"))
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()


def figures(model: Any, what: Any) -> dict[str, Any]:
    (result,) = mteb.evaluate(model, what, cache=None, show_progress_bar=False).task_results
    return result.scores["test"][0]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Forty documents, of which each text stands in two, and ten queries; of the twins the first alone is relevant."""
    folder = tmp_path / "twins"
    (folder / "qrels").mkdir(parents=True)
    texts = [" ".join(WORDS[(7 * i + 3 * j) % len(WORDS)] for j in range(12)) for i in range(20)]
    documents = [
        {"_id": f"d{2 * i + twin}", "title": f"page {i}" if i % 2 else "", "text": text}
        for i, text in enumerate(texts)
        for twin in (0, 1)
    ]
    queries = [{"_id": f"q{i}", "text": " ".join(texts[i].split()[2:5])} for i in range(10)]
    for name, records in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
        )
    judged = [
        f"q{i}\td{2 * i}\t2\nq{i}\td{2 * ((i + 4) % 20)}\t1\nq{i}\td{2 * i + 1}\t0\n" for i in range(10)
    ]
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(judged), encoding="utf-8"
    )
    return folder


@pytest.mark.parametrize(
    "options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"rerank": "late", "weight": 0.5}], ids=str
)
def test_a_search_has_the_figures_of_seewhy_eval(
    collection: Path, tiny: Encoder, options: dict[str, Any]
) -> None:
    search = SeewhySearch(tiny.model, **options)
    assert isinstance(search, SearchProtocol) and search.mteb_model_meta.name.startswith("seewhy/")
    found = figures(search, task(collection))
    said = ",".join([options.get("mode", "hybrid"), *(f"{k}={v}" for k, v in options.items() if k != "mode")])
    ours = evaluate(collection, model=tiny.model, settings=[said]).settings[0].metrics
    assert 0.1 < ours["ndcg@10"].mean < 1
    for theirs, name in (("ndcg_at_10", "ndcg@10"), ("recall_at_10", "recall@10"), ("mrr_at_10", "mrr@10")):
        assert found[theirs] == pytest.approx(ours[name].mean, abs=5.1e-6), (
            name
        )  # MTEB rounds to five decimals


def test_candidates_of_another_model_are_ranked_again(collection: Path, tiny: Encoder) -> None:
    search, what = SeewhySearch(tiny.model), task(collection)
    data = what.dataset["default"]["test"]
    search.index(data["corpus"], task_metadata=what.metadata, hf_split="test", hf_subset="default")
    candidates = {query: ["d5", "d38", "d0"] for query in data["queries"]["id"]}
    found = search.search(data["queries"], top_k=10, top_ranked=candidates)
    assert all(sorted(scores) == ["d0", "d38", "d5"] for scores in found.values())


def test_an_encoder_has_the_figures_of_whole_documents_and_of_pairs(
    collection: Path, tiny: Encoder, tmp_path: Path
) -> None:
    encoder = SeewhyEncoder(tiny)
    assert isinstance(encoder, EncoderProtocol)
    pairs = tmp_path / "pairs.tsv"
    with pairs.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, delimiter="\t")
        rows.writerow(["sentence1", "sentence2", "score"])
        rows.writerows(
            [(" ".join(WORDS[i : i + 4]), " ".join(WORDS[i + 2 : i + 7]), i % 6) for i in range(20)]
        )
    ours = evaluate(pairs, model=tiny.model).settings[0].metrics
    found = figures(encoder, task(pairs))
    assert found["cosine_spearman"] == pytest.approx(ours["spearman"].mean, abs=5.1e-6)
    assert found["main_score"] == found["cosine_spearman"]

    # Twins have one cosine, and MTEB sorts them by name: one of each pair is left.
    corpus = (collection / "corpus.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (collection / "corpus.jsonl").write_text("".join(corpus[::2]), encoding="utf-8")
    qrels = (collection / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (collection / "qrels" / "test.tsv").write_text(
        "".join(row for row in qrels if not row.endswith("\t0\n")), encoding="utf-8"
    )
    whole = evaluate(collection, model=tiny.model, whole_documents=True).settings[0].metrics
    assert figures(encoder, task(collection))["ndcg_at_10"] == pytest.approx(
        whole["ndcg@10"].mean, abs=5.1e-6
    )


def test_what_is_no_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("query,path\nkeys,keys.md\n", encoding="utf-8")
    with pytest.raises(InputError, match="neither a collection"):
        task(tmp_path / "mine.csv")
    with pytest.raises(InputError, match="Call index before search"):
        SeewhySearch().search([], top_k=3)
