"""Models in the hub's cache: commits, pinned revisions, and missing ones."""

from pathlib import Path

import pytest

from search import Encoder, Index
from search.errors import ModelError
from tests.conftest import save_tiny_bert

FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache with two commits of one model: `main` is the second, the tag `v1` the first."""
    model = tmp_path / "hub" / "models--nobody--tiny"
    save_tiny_bert(model / "snapshots" / FIRST, seed=21)
    save_tiny_bert(model / "snapshots" / SECOND, seed=22)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(SECOND, encoding="utf-8")
    (model / "refs" / "v1").write_text(FIRST, encoding="utf-8")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return model


def test_the_commit_is_recorded_and_not_compared(hub: Path) -> None:
    encoder = Encoder("nobody/tiny", offline=True)
    assert (encoder.files.source, encoder.fingerprint.revision) == ("hub", SECOND)
    same = Encoder(str(hub / "snapshots" / SECOND))  # a folder is a folder, wherever it lies
    assert same.fingerprint.revision == ""
    same.fingerprint.require_equal(encoder.fingerprint)


@pytest.mark.parametrize(("revision", "commit"), [("v1", FIRST), (FIRST, FIRST), ("main", SECOND)])
def test_a_revision_can_be_pinned(hub: Path, revision: str, commit: str) -> None:
    files = Encoder(f"nobody/tiny@{revision}", offline=True).files
    assert files.folder.samefile(hub / "snapshots" / commit)
    assert (files.name, files.revision) == (f"nobody/tiny@{revision}", commit)


def test_an_index_keeps_the_revision_that_was_pinned(hub: Path, notes: Path) -> None:
    index = Index.build(notes, model="nobody/tiny@v1", offline=True)
    fingerprint = index.status().fingerprint
    assert (fingerprint["model"], fingerprint["revision"]) == ("nobody/tiny@v1", FIRST)
    (notes / "more.txt").write_text("more water", encoding="utf-8")
    assert Index.build(notes, offline=True).status().fingerprint["revision"] == FIRST
    opened = Index.open(notes, offline=True)
    assert opened.query("water")
    assert opened.encoder.fingerprint.revision == FIRST


def test_a_missing_revision_is_named(hub: Path) -> None:
    with pytest.raises(
        ModelError, match="no revision 'v9' of the model 'nobody/tiny'.*--offline.*a branch, a tag"
    ):
        Encoder("nobody/tiny@v9", offline=True)
    with pytest.raises(ModelError, match="no revision 'v9' of the model 'nobody/tiny'.*unreachable"):
        Encoder("nobody/tiny@v9")


def test_the_default_model_with_a_revision_is_not_the_offline_package(real: Encoder, hub: Path) -> None:
    with pytest.raises(ModelError, match="no revision 'v1' of the model 'all-MiniLM-L6-v2'"):
        Encoder("all-MiniLM-L6-v2@v1", offline=True)


def test_the_name_of_a_folder_may_contain_an_at_sign(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model@home")
    files = Encoder(str(folder)).files
    assert (files.folder, files.revision) == (folder.resolve(), "")
    (tmp_path / "empty@home").mkdir()
    with pytest.raises(ModelError, match="contains no model"):
        Encoder(str(tmp_path / "empty@home"))
