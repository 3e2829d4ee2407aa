"""An index that is large enough to be ranked in, for all tests of ranking."""

import random
from pathlib import Path

import pytest

import search

WORDS = "key lock door water time people sound search find text token vector model turn open rotate long".split()


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> search.Index:
    """Four hundred short files of random words, some of them equal."""
    rng = random.Random(3)
    folder = tmp_path_factory.mktemp("many")
    rows = [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(400)]
    (folder / "rows.csv").write_text(
        "id,text\n" + "".join(f"{i},{row}\n" for i, row in enumerate(rows)), encoding="utf-8"
    )
    return search.Index.build(folder, index=str(folder.with_name("index")), model=str(tiny_model))
