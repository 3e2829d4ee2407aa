"""A search and an encoder as MTEB takes them: the order of the library's hits, and its embeddings."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from search import Encoder, Index, InputError
from tests.conftest import REPOSITORY, WORDS

TEXTS = [" ".join(WORDS[(7 * i + 3 * j) % len(WORDS)] for j in range(12)) for i in range(20)]
# Each text is in two documents.
DOCUMENTS = [{"id": f"d{i}", "title": f"page {i // 2}", "text": TEXTS[i // 2]} for i in range(40)]
QUERIES = [{"id": f"q{i}", "text": " ".join(TEXTS[i].split()[2:5])} for i in range(10)]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))


@pytest.mark.parametrize("options", [{}, {"rerank": "late", "weight": 0.5}], ids=str)
def test_a_search_has_the_order_of_the_library(
    own_home: Path, tiny: Encoder, options: dict[str, Any]
) -> None:
    from datasets import Dataset
    from mteb.models import SearchProtocol
    from mteb_models import SeewhySearch

    corpus, queries = Dataset.from_list(DOCUMENTS), Dataset.from_list(QUERIES)
    search = SeewhySearch(tiny.model, **options)
    assert isinstance(search, SearchProtocol) and search.mteb_model_meta.name.startswith("seewhy/")
    with pytest.raises(InputError, match="Call index before search"):
        search.search(queries, top_k=3)
    search.index(corpus, task_metadata=SimpleNamespace(name="mine"), hf_split="test", hf_subset="default")
    (place,) = own_home.glob("evaluations/**/index.db")
    index = Index.open(place.parent)
    for id_, scores in search.search(queries, top_k=10).items():
        text = queries["text"][queries["id"].index(id_)]
        hits = index.query(text, 10, per_document=1, all_copies=True, **options)
        assert len(scores) == 10
        assert scores[next(iter(scores))] == pytest.approx(hits[0].score, abs=1e-6)
        assert np.all(np.diff(np.float32(list(scores.values()))) < 0)  # trec_eval would else sort by name
    candidates = {query: ["d5", "d38", "d0"] for query in queries["id"]}
    ranked = search.search(queries, top_k=10, top_ranked=candidates)
    assert all(sorted(scores) == ["d0", "d38", "d5"] for scores in ranked.values())


def test_an_encoder_gives_embeddings_of_batches(tiny: Encoder) -> None:
    from mteb.models import EncoderProtocol
    from mteb_models import SeewhyEncoder

    encoder = SeewhyEncoder(tiny)
    assert isinstance(encoder, EncoderProtocol)
    batches = [{"text": TEXTS[:3]}, {"text": ["key " * 500]}]
    expected = tiny.encode([*TEXTS[:3], "key " * 500], truncate=True)
    np.testing.assert_allclose(encoder.encode(batches), expected, atol=1e-6)
