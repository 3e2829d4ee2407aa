"""Documents put together from their passages, compared with the files that they were cut from."""

from itertools import pairwise
from pathlib import Path

import pytest

from search import Index, InputError
from search.corpus import Skipped, documents, load, walk
from search.encoding import Encoder
from search.indexing.update import update
from search.store.settings import PassageSettings, Source

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
def index(folder: Path, tiny: Encoder, tmp_path: Path) -> Index:
    return made(folder, tiny, tmp_path / "index")


def made(folder: Path, encoder: Encoder, place: Path, **settings: int) -> Index:
    update(folder, place, encoder, settings=PassageSettings(passage_tokens=30, **settings), source=Source())
    return Index.open(place)


def texts_of(folder: Path) -> dict[str, str]:
    """What passages are spans of, read from the files."""
    files = [file for file in walk(folder) if not isinstance(file, Skipped)]
    read = [one for file in files for one in documents(file, load(file))]
    return {one.name: one.text for one in read if not isinstance(one, Skipped)}


def numbers(index: Index) -> list[int]:
    with index._store.reading() as snapshot:
        return sorted(set(snapshot.documents(snapshot.ids().tolist()).values()))


@pytest.mark.parametrize("overlap", [0, 8])
def test_a_document_is_what_was_indexed_but_for_blank_space_and_marks(
    overlap: int, folder: Path, tiny: Encoder, tmp_path: Path
) -> None:
    index = made(folder, tiny, tmp_path / "index", overlap=overlap)
    texts, overlaps = texts_of(folder), 0
    for number in numbers(index):
        document = index.document(number)
        whole = texts.pop(document.document)
        assert len(document.text) == document.passages[-1].end <= len(whole)
        for passage in document.passages:
            assert (
                document.text[passage.start : passage.end]
                == passage.text
                == whole[passage.start : passage.end]
            )
            assert passage == index.passage(passage.passage_id)
        spans = [(one.start, one.end) for one in document.passages]
        overlaps += sum(a[1] > b[0] for a, b in pairwise(spans))
        for gap in document.gaps:
            said, really = document.text[gap.start : gap.end], whole[gap.start : gap.end]
            assert not said.strip()
            assert len(said) == len(really)
            if gap.blank:
                assert said == really
            if gap.breaks is not None:
                assert said.count("\n") == really.count("\n") == gap.breaks
            if document.kind != "markdown":
                assert not really.strip()
        assert whole[document.passages[-1].end :].strip() in ("", "|", "# no")
        assert document.generation == index.generation
    assert texts == {}
    assert bool(overlaps) == bool(overlap)


def test_gaps_are_known_as_far_as_they_can_be(index: Index) -> None:
    found = {one.document: one for one in map(index.document, numbers(index))}
    assert all(gap.blank for gap in found["door.py"].gaps)
    assert {(gap.breaks, gap.blank) for gap in found["win.txt"].gaps} == {(0, False), (2, True), (3, True)}
    front, *others = found["keys.md"].gaps
    assert (front.start, front.breaks, front.blank) == (0, 3, False)
    assert all(gap.breaks is not None and not gap.blank for gap in others)
    assert {gap.breaks for gap in found["page.html"].gaps} == {None}
    assert found["keys.md"].metadata == {"tags": ["a"]}
    assert found["table.csv#2"].text == "a long sound"
    assert (found["table.csv#2"].kind, found["table.csv#2"].title) == ("csv", "second")


def test_the_file_is_not_read_but_looked_at(index: Index, folder: Path) -> None:
    number = index.query("open the door", k=1)[0].document_id
    before = index.document(number)
    assert before.changed == ""
    (folder / before.document).write_text("something else", encoding="utf-8")
    after = index.document(number)
    assert (after.changed, after.text) == ("changed", before.text)
    (folder / before.document).unlink()
    assert index.document(number).changed == "gone"


def test_a_number_that_is_none_is_said(index: Index) -> None:
    for number in (0, 99, -1):
        with pytest.raises(InputError, match=f"no document {number}.*query again"):
            index.document(number)
        with pytest.raises(InputError, match=f"no passage {number}.*query again"):
            index.passage(number)
