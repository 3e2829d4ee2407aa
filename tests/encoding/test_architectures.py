"""Models of every architecture, with random weights: the same embeddings as sentence-transformers, exact sums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from search import Encoder
from tests.encoding import zoo


@pytest.mark.parametrize("name", ["modernbert"])
def test_embeddings_equal_those_of_sentence_transformers_for_short_beside_long_texts(
    tmp_path: Path, name: str
) -> None:
    model = zoo.save(name, tmp_path)
    encoder = Encoder(str(tmp_path / "model"))
    for role, encode, texts in (
        ("document", model.encode_document, zoo.TEXTS),
        ("query", model.encode_query, zoo.QUERIES),
    ):
        reference = encode(texts, normalize_embeddings=True)
        embeddings = encoder.encode(texts, role=role, truncate=True)  # type: ignore[arg-type]
        np.testing.assert_allclose(embeddings, reference, atol=1e-5)
