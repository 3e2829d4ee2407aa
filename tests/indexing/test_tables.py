"""Documents as rows of tables: DataFrames, Arrow tables, Parquet files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Index, InputError
from tests.conftest import Run

ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "text": "The key opens the door.",
        "year": 2023,
        "price": 1.5,
        "tags": ["a", "b"],
        "day": None,
    },
    {
        "id": 2,
        "text": "The water is cold.",
        "year": 2024,
        "price": None,
        "tags": [],
        "day": datetime.date(2024, 5, 1),
    },
]
EXPECTED = [
    {"year": 2023, "price": 1.5, "tags": ["a", "b"]},
    {"year": 2024, "tags": [], "day": "2024-05-01"},
]


def table_of(library: str) -> Any:
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame(ROWS)
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(ROWS)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pylist(ROWS)
    return table if library == "pyarrow" else table.to_batches()[0]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "batch", "polars"])
def test_a_table_has_a_document_in_each_row(tiny: Encoder, library: str) -> None:
    with Index.create(encoder=tiny) as index:
        assert index.upsert(table_of(library)).added == 2
        documents = index.get()
        assert [document.id for document in documents] == ["1", "2"]
        assert [dict(document.metadata) for document in documents] == EXPECTED
        assert index.ids(where={"day": "2024-05-01"}) == ["2"]
        assert index.upsert(table_of(library)).unchanged == 2


def test_cells_of_all_kinds_become_json_types(tiny: Encoder) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "id": ["x", "y"],
            "text": ["key", "cup"],
            "time": pandas.to_datetime(["2024-05-01 10:00", None]),
            "whole": pandas.array([1, None], dtype="Int64"),
            "yes": [True, False],
            "numbers": [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
            "nested": [{"a": np.int64(1), "b": np.nan}, {}],
        }
    )
    with Index.create(encoder=tiny) as index:
        index.upsert(table)
        first, second = (dict(document.metadata) for document in index.get())
    assert first == {
        "time": "2024-05-01T10:00:00", "whole": 1, "yes": True, "numbers": [1.0, 2.0], "nested": {"a": 1, "b": None},
    }  # fmt: skip
    assert second == {"yes": False, "numbers": [3.0, 4.0], "nested": {}}


def test_a_table_without_a_column_is_refused(tiny: Encoder) -> None:
    table = pytest.importorskip("pandas").DataFrame({"text": ["key"]})
    with Index.create(encoder=tiny) as index, pytest.raises(InputError, match="a document has no 'id'"):
        index.upsert(table)


def test_a_parquet_file_is_upserted_by_the_command(tmp_path: Path, tiny_model: Path, run: Run) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "rows.parquet"
    parquet.write_table(arrow.Table.from_pylist(ROWS), file)
    code, out, _ = run("upsert", file, "-i", "rows", "--model", tiny_model)
    assert (code, out.startswith("2 documents added")) == (0, True)
    assert Index.open("rows").ids() == ["1", "2"]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    for name in ("bad.parquet", "none.parquet"):
        code, _, err = run("upsert", tmp_path / name, "-i", "rows")
        assert code == 1 and f"cannot read '{tmp_path / name}'" in err
    assert len(Index.open("rows")) == 2
