"""`seewhy lab tag`: tags of an index, added, resumed, filtered by and removed; tags of a text; pages."""

import json
import re
import shutil
from pathlib import Path

import pytest

import search
from search.bert import tag
from tests.conftest import Run
from tests.lab.bert.conftest import BIO, save_tagger
from tests.render.test_notebook import Cells, needs


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(tmp_path_factory.mktemp("models") / "ner", BIO)


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def test_entities_of_an_index_are_exact_and_can_be_filtered_by(
    run: Run, index: search.Index, tagger: Path, notes: Path
) -> None:
    code, out, _ = run("lab", "tag", "--model", tagger, "--json")
    assert code == 0
    output = json.loads(out)
    assert (output["name"], output["tagged"], output["annotated"], output["passages"]) == ("ner", 5, 5, 5)
    assert "person" in {item["field"] for item in output["fields"]}

    # Each span is where the document has it, and the values are those of the text tagged by itself.
    hits = index.query("time", k=50)
    annotations = search.bert.annotations_of(index, [hit.passage_id for hit in hits])
    mentions = 0
    for hit in hits:
        (annotation,) = annotations[hit.passage_id]
        for span in annotation.spans:
            assert hit.text[span.start - hit.start : span.end - hit.start] == span.text
        alone = tag(hit.text, model=str(tagger)).mentions
        assert [(item.field, item.start + hit.start, item.text) for item in alone] == [
            (span.field, span.start, span.text) for span in annotation.spans
        ]
        assert {value for values in hit.annotations.values() for value in values} <= {
            " ".join(item.text.split()) for item in alone
        }
        mentions += len(alone)
    assert sum(item["mentions"] for item in output["fields"]) == mentions > 5

    # A filter by the most frequent value finds the passages that it was counted in, and no other.
    (first, *_) = (item for item in output["fields"] if item["mentions"])
    value = first["frequent"][0][0]
    condition = f"{first['field']}='{value.upper()}'"
    _, out, err = run("query", "time", "--where", condition, "-k", 50, "--json")
    expected = {
        hit.document
        for hit in hits
        if value.casefold() in map(str.casefold, hit.annotations.get(first["field"], []))
    }
    assert {hit["document"] for hit in json.loads(out)} == expected != set()
    assert "note:" not in err


def test_a_second_run_tags_only_new_passages(
    run: Run, index: search.Index, tagger: Path, notes: Path
) -> None:
    _, out, _ = run("lab", "tag", "--model", tagger)
    assert out.startswith("ner: tagged all 5 passages, ")
    assert re.search(r"^field +mentions +most frequent$", out, re.MULTILINE)
    assert "To filter by tag: --where " in out
    _, out, _ = run("lab", "tag", "--model", tagger)
    assert out.startswith("ner: nothing new to tag; all 5 passages")
    (notes / "new.txt").write_text("The door is new.\n", encoding="utf-8")
    assert run("index", notes)[0] == 0
    assert re.search(r"annotations +ner: 5 of 6 passages", run("status")[1])
    _, out, _ = run("lab", "tag", "--model", tagger, "--json")
    assert (json.loads(out)["tagged"], json.loads(out)["annotated"]) == (1, 6)


def test_a_run_that_is_stopped_keeps_its_tags(
    index: search.Index, tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.lab.annotating.passages._PASSAGES_A_BATCH", 2)

    def stop(state: search.Progress) -> None:
        assert (state.stage, state.total) == ("tagging", 5)
        if state.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.bert.tag_index(index, str(tagger), progress=stop)
    assert index.status().annotations[0].annotated == 4
    report = search.bert.tag_index(index, str(tagger))
    assert (report.tagged, report.annotated) == (1, 5)
    assert index.check().ok


def test_another_checkpoint_is_never_mixed_in(
    run: Run, index: search.Index, tagger: Path, tmp_path: Path
) -> None:
    run("lab", "tag", "--model", tagger)
    other = save_tagger(tmp_path / "other", ("O", "B-PER", "X-y"))
    code, _, err = run("lab", "tag", "--model", other)
    assert code == 1 and "from another model or settings" in err and "--replace" in err
    same = shutil.copytree(
        tagger, tmp_path / "same"
    )  # of another name, and then with classes of another meaning
    assert run("lab", "tag", "--model", same, "-q")[1].startswith(
        "ner: nothing new to tag; all 5 passages"
    )
    config = json.loads((same / "config.json").read_text("utf-8"))
    swapped = {"B-PER": "B-LOC", "B-LOC": "B-PER", "I-PER": "I-LOC", "I-LOC": "I-PER"}
    config["id2label"] = {key: swapped.get(value, value) for key, value in config["id2label"].items()}
    shutil.copytree(same, tmp_path / "swapped")
    (tmp_path / "swapped" / "config.json").write_text(json.dumps(config), "utf-8")
    assert "from another model or settings" in run("lab", "tag", "--model", tmp_path / "swapped")[2]
    code, out, _ = run("lab", "tag", "--model", other, "--replace", "--json")
    assert code == 0
    assert [item["field"] for item in json.loads(out)["fields"]].count("person") == 1
    assert [(item.name, item.fields) for item in index.status().annotations] == [
        ("ner", ("person", "x-y"))
    ]
    code, _, err = run("lab", "label", "remove", "other")
    assert code == 1 and "no annotations named 'other'. Choose from: ner" in err
    assert (
        "Removed the annotations 'ner' from 5 passages" in run("lab", "label", "remove", "ner", "-q")[1]
    )


@needs("matplotlib")
@needs("pandas")
def test_parts_of_speech_of_an_index_are_counted(run: Run, index: search.Index, tmp_path: Path) -> None:
    model = save_tagger(tmp_path / "pos", ("NOUN", "PUNCT", "VERB", "ADJ", "PROPN"))
    _, out, _ = run("lab", "tag", "--task", "pos", "--model", model, "--json")
    output = json.loads(out)
    counts = {item["field"]: item["mentions"] for item in output["fields"]}
    assert set(counts) == {"noun", "verb", "adj", "propn"}
    texts = [hit.text for hit in index.query("time", k=50)]
    tags = [item.field for text in texts for item in tag(text, model=str(model), task="pos").mentions]
    assert counts == {field: tags.count(field) for field in counts} and len(tags) > 5
    report = search.bert.tag_index(index, str(model), task="pos")
    rows = Cells(report._repr_html_()).rows
    assert {row[0]: int(row[1]) for row in rows[1:]} == counts
    assert repr(report).startswith("pos: nothing new to tag")
    widths = [bar.get_width() for bar in report.plot().patches]
    assert widths == [field.mentions for field in report.fields]
    table = report.to_pandas()
    values = [value for field in report.fields for value, _ in field.frequent]
    assert table["value"].tolist() == values


def test_long_passages_are_read_in_windows(run: Run, notes: Path, tiny_model: Path, tagger: Path) -> None:
    (notes / "long.txt").write_text(
        "zyx " * 60, encoding="utf-8"
    )  # three tokens a word; the tagger reads 64
    index = search.Index.build(notes, model=str(tiny_model))
    long = [hit for hit in index.query("zyx", k=50) if hit.document == "long.txt"]
    report = search.bert.tag_index(index, str(tagger))
    assert report.passages == report.annotated == 5 + len(long)


def test_a_text_is_printed_with_its_mentions(run: Run, tagger: Path, tmp_path: Path) -> None:
    text = "Ada\x1b[31m wrote <b>to</b> Charles."
    result = tag(text, model=str(tagger))
    code, out, _ = run("lab", "tag", "--text", text, "--model", tagger)
    assert code == 0 and "\x1b" not in out and "\\x1b" in out
    for mention in result.mentions:
        assert f"[{mention.field}]" in out
    for piece in (piece for word in result.words for piece in word.pieces):
        line = [piece.text, piece.label, f"{piece.score:.4f}", f"{piece.start}-{piece.end}"]
        assert line in [row.split()[-4:] for row in out.splitlines()] or "\x1b" in piece.text
    _, out, _ = run("lab", "tag", "--text", text, "--model", tagger, "--json")
    output = json.loads(out)
    assert [word["label"] for word in output["words"]] == [word.label for word in result.words]
    assert output["words"][-2]["pieces"] == [vars(piece) for piece in result.words[-2].pieces]
    assert output["mentions"] == [vars(mention) for mention in result.mentions]
    assert "\x1b[" in run("lab", "tag", "--text", "Ada", "--model", tagger, "--color", "always")[1]
    assert run("lab", "tag", "--text", text, "--model", tagger, "--html", tmp_path / "a.html")[0] == 0
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<b>to</b>" not in html and "&lt;" in html and "\x1b" not in html
    for mention in result.mentions:
        assert f"<small>{mention.field}</small></mark>" in html
    assert html.count("<tr>") == 1 + sum(len(word.pieces) for word in result.words)


def test_wrong_usage_is_refused_and_tags_nothing(
    run: Run, index: search.Index, tagger: Path, tiny_model: Path
) -> None:
    for options in (("--model", tagger, "--text", "a", "--replace"), ("--html", "a.html")):
        code, out, err = run("lab", "tag", *options)
        assert (code, out) == (2, "") and err, options
    for options in (
        (),
        ("--model", tagger, "--task", "pos"),
        ("--model", tiny_model),
        ("--model", tagger, "-i", "none"),
    ):
        code, out, err = run("lab", "tag", *options)
        assert (code, out) == (1, "") and err.startswith("seewhy: ") and err.count("\n") == 1
    assert index.status().annotations == ()
