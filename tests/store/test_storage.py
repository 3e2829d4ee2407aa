"""Places that are not fit for an index, told by what is mounted there and by names."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from search import Index
from search.store.layout import warning


def mount(monkeypatch: pytest.MonkeyPatch, *mounts: tuple[str, str, str]) -> None:
    disks = [SimpleNamespace(mountpoint=str(at), fstype=kind, opts=opts) for at, kind, opts in mounts]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: disks)


def test_a_local_disk_is_fine(tmp_path: Path) -> None:
    assert warning(tmp_path / "index") is None


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_a_network_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mount(monkeypatch, (tmp_path.anchor, "ext4", "rw"), (str(tmp_path / "far"), kind, "rw,relatime"))
    assert warning(tmp_path / "near" / "index") is None
    assert f"on a network drive ('{tmp_path / 'far'}', {kind})" in str(warning(tmp_path / "far" / "index"))


def test_a_drive_that_windows_calls_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount(monkeypatch, (tmp_path.anchor, "NTFS", "rw,remote"))
    assert "network drive" in str(warning(tmp_path / "index"))


@pytest.mark.parametrize(
    "name",
    ["Dropbox", "Dropbox (Personal)", "OneDrive - Lab", "Google Drive", "Mobile Documents", "Nextcloud"],
)
def test_a_synced_folder_by_name(tmp_path: Path, name: str) -> None:
    assert f"'{tmp_path / name}'" in str(warning(tmp_path / name / "papers" / "index"))


def test_a_synced_folder_by_what_its_program_leaves(tmp_path: Path) -> None:
    (tmp_path / "shared" / ".stfolder").mkdir(parents=True)
    assert "syncs" in str(warning(tmp_path / "shared" / "index"))


def test_the_run_that_writes_there_says_so(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "Dropbox" / "index")
    first = Index.build(notes, model=str(tiny_model), index=place).report
    again = Index.build(notes, model=str(tiny_model), index=place).report
    assert first is not None and again is not None
    assert any("syncs" in remark and "--index" in remark for remark in first.notes)
    assert not any("syncs" in remark for remark in again.notes)
