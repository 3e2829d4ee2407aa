"""Documents put together from their passages, compared with the files that they were cut from."""

import json
from pathlib import Path

import pytest

from search import Index, InputError
from search.index import searcher_of
from search.store.document_text import span_lines

PROSE = "people of the other side of the door say that time is long "
MARKDOWN = f"""---
tags: [a]
---
# Keys

{PROSE * 9}

```
open  door
```

## Find

| a | b |
|---|---|
| key | lock |

- {PROSE * 5}
"""
CODE = f'''def open(door):
    """{PROSE}"""
    turn(door)


class Key:
    def turn(self):
        return "{PROSE * 6}"

        # no
'''
TEXTS = {
    "keys.md": MARKDOWN,
    "door.py": CODE,
    "win.txt": f"{PROSE * 9}.\r\n\r\none\r\ntwo {PROSE * 9}.\r\n\r\n\r\n{PROSE}",
    "page.html": f"<title>Keys</title><h1>Keys</h1><p>{PROSE * 9}</p><p>{PROSE}</p>",
    "table.csv": "name,text\nfirst,the first side\nsecond,a long sound\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.fixture
def index(folder: Path, tiny_model: Path) -> Index:
    return Index.build(folder, model=str(tiny_model), max_tokens=32)


def numbers(index: Index) -> list[int]:
    return sorted({hit.document_id for hit in index.query("the", k=100, mode="dense", all_copies=True)})


def test_a_document_has_the_text_of_its_file_but_for_blanks_and_marks(index: Index) -> None:
    for document in map(index.document, numbers(index)):
        whole = TEXTS.get(document.document, document.text)
        assert len(document.text) == document.passages[-1].end <= len(whole)
        for passage in document.passages:
            assert document.text[passage.start : passage.end] == passage.text
            assert document.kind == "html" or passage.text == whole[passage.start : passage.end]
        for gap in [] if document.kind == "html" else document.gaps:
            text, original = document.text[gap.start : gap.end], whole[gap.start : gap.end]
            assert not text.strip() and len(text) == len(original)
            assert text == original or not gap.blank
            assert text.count("\n") == original.count("\n") == gap.breaks
            assert document.kind == "markdown" or not original.strip()
        assert document.generation == index.generation


def test_gaps_have_the_line_breaks_that_can_be_known(index: Index) -> None:
    documents = {document.document: document for document in map(index.document, numbers(index))}
    assert all(gap.blank for gap in documents["door.py"].gaps)
    assert {(gap.breaks, gap.blank) for gap in documents["win.txt"].gaps} == {
        (0, False),
        (2, True),
        (3, True),
    }
    front, *gaps = documents["keys.md"].gaps
    assert (front.start, front.breaks, front.blank) == (0, 3, False)
    assert all(gap.breaks is not None and not gap.blank for gap in gaps)
    assert {gap.breaks for gap in documents["page.html"].gaps} == {None}
    assert documents["keys.md"].metadata == {"tags": ["a"]}
    assert documents["table.csv#2"].text == "a long sound"
    assert (documents["table.csv#2"].kind, documents["table.csv#2"].title) == ("csv", "second")


def test_a_document_keeps_its_text_and_says_that_its_file_changed(index: Index, folder: Path) -> None:
    number = index.query("open the door", k=1)[0].document_id
    before = index.document(number)
    assert before.changed == ""
    (folder / before.document).write_text("something else", encoding="utf-8")
    after = index.document(number)
    assert (after.changed, after.text) == ("changed", before.text)
    (folder / before.document).unlink()
    assert index.document(number).changed == "gone"


def test_the_text_of_a_notebook_has_its_fences_until_it_changes(tmp_path: Path, tiny_model: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": f"# Doors\n\n{PROSE * 6}"},
        {"cell_type": "code", "source": CODE, "outputs": []},
    ]
    (file := tmp_path / "key.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    index = Index.build(tmp_path, model=str(tiny_model), max_tokens=32)
    document = index.document(index.query("turn the door")[0].document_id)
    text = searcher_of(index).file_text(document.document_id) or ""
    assert len(document.passages) > 2 and f"~~~~~\n{CODE.strip()}\n~~~~~" in text
    file.write_text(json.dumps({"cells": cells[:1]}), encoding="utf-8")
    assert searcher_of(index).file_text(document.document_id) is None


def test_numbers_of_no_document_or_passage_are_refused(index: Index) -> None:
    for number in (0, 99, -1):
        with pytest.raises(InputError, match=f"no document {number}.*query again"):
            index.document(number)
        with pytest.raises(InputError, match=f"no passage {number}.*query again"):
            index.passage(number)


def test_the_lines_of_a_span_are_those_of_the_file(notes: Path, tiny_model: Path) -> None:
    (notes / "poem.txt").write_text("\n\nA door.\nA key.\nA lock.\n", encoding="utf-8")
    index = Index.build(notes, model=str(tiny_model))
    (hit,) = index.query("door", where="path:poem.txt")
    start = hit.start + hit.text.index("A key.")
    assert span_lines(hit, start, start + len("A key.\nA")) == (4, 5, None)
