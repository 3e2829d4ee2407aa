"""A loss of power leaves the index as it was between two commits."""

from pathlib import Path

import pytest

from tests.faults.disk import CREATE, RENAME, SYNC, UNLINK, WRITE, Change, Disk
from tests.faults.ordering import losses_of_power
from tests.faults.shim import compiled

SEED = 4


@pytest.fixture
def library(place: Path) -> Path:
    library = compiled(place)
    if library is None:
        pytest.skip("needs Linux and a C compiler")
    return library


def test_an_index_survives_losses_of_power(place: Path, library: Path) -> None:
    outcome = losses_of_power(library, place, seed=SEED, states=3, most=3)
    outcome.require_clean()
    assert outcome.runs >= 3 * 3 * 3


def test_the_disk_keeps_synced_bytes_and_names_and_nothing_else(tmp_path: Path) -> None:
    """The model of a disk, by hand: two writes with a sync between them, and a rename."""
    from random import Random

    (tmp_path / "old").write_bytes(b"old")
    disk = Disk(tmp_path)
    new, old = str(tmp_path / "new"), str(tmp_path / "old")

    def change(kind: int, path: str, *, other: str = "", data: bytes = b"", offset: int = 0) -> None:
        disk.apply(Change(kind, path, other, offset, len(data), data, 0))

    def after_loss(keep: str) -> dict[str, bytes]:
        return disk.after_a_loss(keep, Random(0))

    change(CREATE, new)
    change(WRITE, new, data=b"abc")
    change(SYNC, new)
    change(WRITE, new, data=b"x", offset=4)
    assert after_loss("nothing") == {"old": b"old"}
    assert after_loss("names") == {"old": b"old", "new": b"abc"}
    assert after_loss("all") == {"old": b"old", "new": b"abc\0x"}
    change(SYNC, str(tmp_path))
    assert after_loss("nothing") == {"old": b"old", "new": b"abc"}
    change(RENAME, new, other=old)
    assert after_loss("bytes") == {"old": b"old", "new": b"abc\0x"}
    assert after_loss("names") == {"old": b"abc"}
    change(SYNC, str(tmp_path))
    assert after_loss("nothing") == {"old": b"abc"}
    change(UNLINK, old)
    assert after_loss("nothing") == {"old": b"abc"}
    assert after_loss("names") == {}
