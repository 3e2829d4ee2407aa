"""Labels of an index: their storage, filters by them, and labels after an update."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder
from search.bert import LinearHead, label, label_index
from search.errors import FingerprintMismatch, InputError
from search.index import searcher_of
from tests.conftest import REPOSITORY
from tests.lab.bert.conftest import save_tiny_head
from tests.lab.bert.test_labelling import LONG, MOODS, head_for, with_config
from tests.render.test_notebook import Cells, needs


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


@pytest.fixture
def head(index: search.Index) -> LinearHead:
    return head_for(index.encoder)


def passages_of(index: search.Index) -> dict[int, tuple[str, np.ndarray]]:
    """Text and embedding of every passage."""
    ids = [hit.passage_id for hit in index.query("the", k=100)]
    with searcher_of(index).store.reading() as snapshot:
        records = snapshot.stored(ids)
        return {
            id_: (records[id_].text, vector)
            for id_, vector in zip(ids, snapshot.embeddings(ids), strict=True)
        }


@needs("matplotlib")
@needs("pandas")
def test_the_report_draws_itself(index: search.Index, head: LinearHead) -> None:
    report = label_index(index.path, head=head)
    rows = Cells(report._repr_html_()).rows
    assert {row[0]: int(row[1]) for row in rows[1:]} == report.counts
    assert f"mood: {report.labelled} passages labelled" in repr(report)
    assert [bar.get_width() for bar in report.plot().patches] == list(report.counts.values())
    assert report.to_pandas()["passages"].to_dict() == report.counts


def test_a_head_reads_the_stored_embeddings(index: search.Index, head: LinearHead) -> None:
    report = label_index(index.path, head=head)
    passages = passages_of(index)
    assert (report.passages, report.labelled, report.before) == (len(passages), len(passages), 0)
    expected = {id_: head.probabilities(vector[None])[0] for id_, (_, vector) in passages.items()}
    for hit in index.query("the", k=100):
        row = expected[hit.passage_id]
        assert hit.annotations["mood"] == MOODS[int(row.argmax())]
        assert hit.annotations["mood_score"] == pytest.approx(row.max(), abs=1e-6)
    for mood in MOODS:
        ids = {id_ for id_, row in expected.items() if MOODS[int(row.argmax())] == mood}
        assert report.counts[mood] == len(ids)
        assert {hit.passage_id for hit in index.query("the", k=100, where=f"mood={mood}")} == ids
        confident = {id_ for id_ in ids if expected[id_].max() >= 0.8}
        where = f"mood={mood} and mood_score>=0.8"
        assert {hit.passage_id for hit in index.query("the", k=100, where=where)} == confident


def test_only_passages_without_a_label_are_labelled(
    index: search.Index, head: LinearHead, notes: Path
) -> None:
    before = label_index(index.path, head=head)
    (notes / "new.md").write_text("A new text about the water.\n", encoding="utf-8")
    index.update()
    after = label_index(index.path, head=head)
    assert (after.labelled, after.before) == (1, before.passages)
    assert label_index(index.path, head=head).labelled == 0


def test_labels_of_two_heads_are_not_mixed(index: search.Index, head: LinearHead) -> None:
    first = label_index(index.path, head=head)
    other = LinearHead("mood", MOODS, -head.coefficients, head.intercepts, head.fingerprint, {})
    with pytest.raises(InputError, match="--replace"):
        label_index(index.path, head=other)
    second = label_index(index.path, head=other, name="second")
    assert index.query("the", k=1)[0].annotations.keys() == {
        "mood",
        "mood_score",
        "second",
        "second_score",
    }
    third = label_index(index.path, head=other, replace=True)
    assert (third.labelled, third.before) == (first.passages, 0)
    assert third.counts == second.counts
    with pytest.raises(InputError, match="'path'"):
        label_index(index.path, head=head, name="path")


def test_a_head_of_other_embeddings_is_refused(
    index: search.Index, other_model: Path, tmp_path: Path
) -> None:
    other = head_for(Encoder(str(other_model)))
    with pytest.raises(FingerprintMismatch, match="the index"):
        label_index(index.path, head=other)
    with pytest.raises(InputError, match="no head.safetensors"):
        label_index(index.path, head=tmp_path)
    assert index.query("the", k=1)[0].annotations == {}


def test_a_checkpoint_reads_the_texts(index: search.Index, notes: Path, tmp_path: Path) -> None:
    (notes / "long.txt").write_text(LONG, encoding="utf-8")
    index.update()
    folder = save_tiny_head(tmp_path / "head", "label", labels=MOODS)
    label_index(index.path, model=str(folder), name="mood")
    passages = passages_of(index)
    expected = label([text for text, _ in passages.values()], model=str(folder)).texts
    by_id = dict(zip(passages, expected, strict=True))
    for hit in index.query("the", k=100):
        assert hit.annotations["mood"] == by_id[hit.passage_id].label
        assert hit.annotations["mood_score"] == pytest.approx(by_id[hit.passage_id].score, abs=1e-5)


def test_a_checkpoint_is_identified_by_its_weights_classes_and_tokenizer(
    index: search.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the name of its folder; and the same weights with other classes or another tokenizer are another."""
    monkeypatch.chdir(tmp_path)
    save_tiny_head(tmp_path / "here", "label", labels=MOODS)
    label_index(index.path, model="here")
    (annotation,) = index.status().annotations
    assert (
        annotation.made_with["command"]
        == f"seewhy lab label apply --model {(tmp_path / 'here').resolve()}"
    )
    copy = shutil.copytree("here", "there")
    assert label_index(index.path, model=str(copy)).labelled == 0
    renamed = shutil.copytree("here", "renamed")
    with_config(Path(renamed), id2label=dict(enumerate(reversed(MOODS))))
    spelled = shutil.copytree("here", "spelled")
    with (Path(spelled) / "tokenizer.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    for other in (renamed, spelled):
        with pytest.raises(InputError, match=r"from another model or settings .*--replace$"):
            label_index(index.path, model=str(other))


def test_a_head_needs_no_model(index: search.Index, head: LinearHead, tmp_path: Path) -> None:
    head.save(tmp_path / "head")
    script = (
        "import sys; from search.bert import label_index; "
        f"label_index({str(index.path)!r}, head={str(tmp_path / 'head')!r}); "
        "print([m for m in ('torch', 'transformers', 'openvino', 'sklearn', 'scipy', 'faiss') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
        encoding="utf-8",
    )
    assert process.stdout.strip() == "[]"
