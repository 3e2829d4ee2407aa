"""The two matrices, against examples worked by hand and against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from search.errors import InputError
from search.explaining.explanation import contribution_matrix, similarity_matrix

# Query tokens (1, 0) and (0, 2); passage tokens (3, 4), (0, 1) and (-1, 0).
QUERY = np.array([[1, 0], [0, 2]], dtype=np.float32)
PASSAGE = np.array([[3, 4], [0, 1], [-1, 0]], dtype=np.float32)


def test_similarity_by_hand() -> None:
    expected = [[0.6, 0, -1], [0.8, 1, 0]]
    np.testing.assert_allclose(similarity_matrix(QUERY, PASSAGE), expected, atol=1e-7)


def test_contributions_by_hand() -> None:
    # means (1/2, 1) and (2/3, 5/3); lengths sqrt(5)/2 and sqrt(29)/3; n m = 6, so each dot product
    # is divided by 6 * sqrt(145) / 6 = sqrt(145)
    expected = np.array([[3, 0, -1], [8, 2, 0]]) / 145**0.5
    found = contribution_matrix(QUERY, PASSAGE)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.sum() == pytest.approx(12 / 145**0.5)
    np.testing.assert_allclose(contribution_matrix(QUERY, PASSAGE, "mean_sqrt_len"), expected, rtol=1e-12)


def test_contributions_of_max_pooling_by_hand() -> None:
    # largest values: query (1, 2) from tokens 0 and 1, passage (3, 4) both from token 0
    expected = np.array([[3, 0, 0], [8, 0, 0]]) / (5**0.5 * 5)
    np.testing.assert_allclose(contribution_matrix(QUERY, PASSAGE, "max"), expected, rtol=1e-12)


@pytest.mark.parametrize("pooling", ["mean", "max"])
@given(data=st.data())
def test_addends_sum_to_the_cosine(pooling: str, data: st.DataObject) -> None:
    q, p, d = (data.draw(st.integers(1, 6)) for _ in range(3))
    numbers = st.floats(-5, 5, width=32)
    query = data.draw(arrays(np.float32, (q, d), elements=numbers))
    passage = data.draw(arrays(np.float32, (p, d), elements=numbers))
    pooled = [getattr(m.astype(np.float64), pooling)(axis=0) for m in (query, passage)]
    lengths = [np.linalg.norm(vector) for vector in pooled]
    if min(lengths) < 1e-3:
        return
    cosine = pooled[0] @ pooled[1] / lengths[0] / lengths[1]
    assert contribution_matrix(query, passage, pooling).sum() == pytest.approx(cosine, abs=1e-8)


def test_zero_vectors() -> None:
    assert similarity_matrix(np.zeros((1, 2)), PASSAGE).tolist() == [[0, 0, 0]]
    with pytest.raises(InputError, match="cancel out"):
        contribution_matrix(np.array([[1.0, 0.0], [-1.0, 0.0]]), PASSAGE)
