"""An index whose passages are cut where a model says that the text goes on least: remembered, kept up, refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from search import FingerprintMismatch, Index, InputError, ModelError, Progress
from search.bert.heads import load_head
from search.bert.next_sentence import BoundarySignal
from search.corpus import Cutter
from search.encoding import Encoder
from search.index.database import connect_to_write, read_meta, reading
from search.index.layout import DATABASE
from search.index.settings import PassageSettings, Source
from search.index.update import update
from search.render import reports
from tests.bert.conftest import save_tiny_head

DEFAULT = '{"context_tokens": 48, "heading_context": true, "overlap": 0, "passage_tokens": 120}'
SENTENCES = [
    f"{one.capitalize()} {two} the {three} and look at it."
    for one in ("open", "turn", "find")
    for two in ("of", "with", "for")
    for three in ("door", "key", "water", "lock", "word")
]


@pytest.fixture(scope="module")
def boundary_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_head(tmp_path_factory.mktemp("next") / "model", "next")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "texts"
    made.mkdir()
    (made / "long.txt").write_text(" ".join(SENTENCES), encoding="utf-8")
    (made / "short.txt").write_text("The door is open.", encoding="utf-8")
    return made


def build(folder: Path, tiny_model: Path, model: Path | None = None, **options: Any) -> Index:
    if model is not None:
        options |= {"boundaries": "next-sentence", "boundary_model": str(model)}
    return Index.build(folder, model=str(tiny_model), **options)


def passages(index: Index) -> list[tuple[str, int, int, str]]:
    with reading(index.path / DATABASE) as connection:
        return connection.execute(
            """SELECT CAST(path AS TEXT), start, "end", text FROM passages JOIN documents ON documents.id = document
               JOIN files ON files.id = file ORDER BY 1, 2"""
        ).fetchall()


def settings_of(index: Index) -> str:
    return str(read_meta(index.path / DATABASE)["fingerprint"]["passages"])


def by_hand(folder: Path, tiny: Encoder, model: Path) -> list[tuple[str, int, int, str]]:
    follows = BoundarySignal(str(model))
    cutter = Cutter(tiny.tokenizer, max_tokens=tiny.max_tokens, boundary=follows)
    from search.corpus import documents, load, walk
    from search.records.documents import Document

    found = []
    for file in walk(folder):
        assert hasattr(file, "absolute")
        for document in documents(file, load(file)):
            assert isinstance(document, Document)
            found += [(file.path, p.start, p.end, p.text) for p in cutter.cut(document)]
    return sorted(found)


def test_the_default_is_byte_for_byte_what_it_was(folder: Path, tiny_model: Path) -> None:
    assert PassageSettings().as_json() == DEFAULT
    assert settings_of(build(folder, tiny_model)) == DEFAULT
    assert PassageSettings.from_json(DEFAULT) == PassageSettings()


def test_the_index_remembers_its_boundaries(
    folder: Path, tiny_model: Path, tiny: Encoder, boundary_model: Path
) -> None:
    by_size = passages(build(folder, tiny_model, index="size"))
    index = build(folder, tiny_model, boundary_model, index="bounded")
    first = passages(index)
    assert first == by_hand(folder, tiny, boundary_model) != by_size
    said = json.loads(settings_of(index))
    files = BoundarySignal(str(boundary_model)).head.files
    assert said == json.loads(DEFAULT) | {
        "boundaries": "next-sentence",
        "boundary_model": str(boundary_model),
        "boundary_weights": files.weights_sha256,
        "boundary_tokenizer": files.tokenizer_sha256,
    }
    assert index.status().boundary_model == str(boundary_model)
    assert f"next sentence, by {boundary_model}" in " ".join(
        reports.status(index.status(), width=400).split()
    )
    (folder / "more.txt").write_text(" ".join(reversed(SENTENCES)), encoding="utf-8")
    again = Index.build(folder, index="bounded")
    assert again.report is not None and again.report.added == 1
    assert passages(again) == by_hand(folder, tiny, boundary_model)
    (folder / "long.txt").write_text(" ".join(SENTENCES[7:]), encoding="utf-8")
    assert Index.open("bounded").update(verify=True).changed == 1
    assert passages(index) == by_hand(folder, tiny, boundary_model)
    rebuilt = Index.build(folder, index="bounded", rebuild=True)
    assert passages(rebuilt) == by_hand(folder, tiny, boundary_model)
    plain = Index.build(folder, index="bounded", rebuild=True, boundaries="none")
    assert settings_of(plain) == DEFAULT
    assert plain.status().boundary_model == "" and "boundaries" not in reports.status(plain.status())


def test_a_repair_cuts_as_the_index_was_cut(folder: Path, tiny_model: Path, boundary_model: Path) -> None:
    index = build(folder, tiny_model, boundary_model)
    expected = passages(index)
    connection = connect_to_write(index.path / DATABASE)
    connection.execute("UPDATE passages SET text = 'nonsense' WHERE id = 1")
    connection.commit()
    connection.close()
    assert not index.check().ok
    assert index.repair().check.ok
    assert passages(index) == expected


def test_another_way_to_cut_is_refused_until_a_rebuild(
    folder: Path, tiny_model: Path, boundary_model: Path, tmp_path: Path
) -> None:
    build(folder, tiny_model)
    with pytest.raises(
        FingerprintMismatch, match="boundaries: the index has 'none', you asked for 'next-sentence'"
    ):
        build(folder, tiny_model, boundary_model)
    build(folder, tiny_model, boundary_model, rebuild=True)
    with pytest.raises(
        FingerprintMismatch, match="boundaries: the index has 'next-sentence', you asked for 'none'"
    ):
        build(folder, tiny_model, boundaries="none")
    other = save_tiny_head(tmp_path / "other", "next", seed=8)
    with pytest.raises(FingerprintMismatch, match="boundary weights"):
        build(folder, tiny_model, other)


def test_a_model_that_moved_is_named_anew(
    folder: Path, tiny_model: Path, boundary_model: Path, tmp_path: Path
) -> None:
    model = shutil.copytree(boundary_model, tmp_path / "here")
    index = build(folder, tiny_model, model)
    model.rename(tmp_path / "there")
    load_head.cache_clear()  # as in a new process
    assert Index.build(folder).report is not None  # nothing is to be cut, so nothing is missing
    before = passages(index)
    (folder / "more.txt").write_text(" ".join(SENTENCES), encoding="utf-8")
    with pytest.raises(ModelError, match=r"here' .* --boundary-model FOLDER, or cut by size alone with"):
        Index.build(folder)
    assert passages(index) == before
    index = build(folder, tiny_model, tmp_path / "there")
    assert json.loads(settings_of(index))["boundary_model"] == str(tmp_path / "there")
    (folder / "more.txt").unlink()
    Index.build(folder)
    save_tiny_head(tmp_path / "there", "next", seed=9)
    load_head.cache_clear()
    (folder / "new.txt").write_text(" ".join(SENTENCES), encoding="utf-8")
    with pytest.raises(ModelError, match="is not what it was when the index was made"):
        Index.build(folder)


def test_what_cannot_be_asked_for(
    folder: Path, tiny_model: Path, boundary_model: Path, own_home: Path
) -> None:
    for options, said in (
        ({"boundaries": "next-sentence"}, "Name one with --boundary-model, bert-base-uncased for instance"),
        ({"boundary_model": str(boundary_model)}, "ask for boundaries next-sentence, too"),
        ({"boundaries": "none", "boundary_model": str(boundary_model)}, "ask for boundaries next-sentence"),
        ({"boundaries": "paragraph"}, "there are no boundaries 'paragraph'"),
    ):
        with pytest.raises(InputError, match=said):
            build(folder, tiny_model, **options)
    with pytest.raises(ModelError, match="has no head for the next sentence"):
        build(folder, tiny_model, tiny_model)
    assert not (own_home / "indexes").exists()


def test_who_cannot_tell_boundaries_does_not_cut_by_size_instead(
    folder: Path, tiny: Encoder, tmp_path: Path
) -> None:
    settings = PassageSettings(boundaries="next-sentence", boundary_model="x")
    with pytest.raises(InputError, match="nobody tells where they are"):
        update(folder, tmp_path / "index", tiny, settings=settings, source=Source())


def test_progress_counts_boundaries(
    folder: Path, tiny: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a batch is cut, the one who waits is told, in its own thread."""
    import threading

    monkeypatch.setattr("search.index.reading._SECONDS_BETWEEN_SIGNS", 0.01)
    told: list[Progress] = []
    threads = set[int]()
    seen = threading.Event()

    def progress(state: Progress) -> None:
        threads.add(threading.get_ident())
        told.append(state)
        if state.boundaries:
            seen.set()

    class Follows:
        weighed = 0

        def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            self.weighed += len(pairs)
            assert seen.wait(30), "nothing was told meanwhile"
            return [0.0] * len(pairs)

    settings = PassageSettings(boundaries="next-sentence", boundary_model="x")
    update(
        folder,
        tmp_path / "index",
        tiny,
        settings=settings,
        source=Source(),
        progress=progress,
        boundary=Follows(),
    )
    assert max(state.boundaries for state in told) == len(SENTENCES) - 1
    assert threads == {threading.get_ident()}
