"""Documents near to one that it is not linked with: links of all kinds, both ways, and templates."""

from pathlib import Path

import pytest

from search import Encoder, Index, InputError
from tests.conftest import Run

NOTES = {
    "garden/Vegetable beds.md": "# Vegetable beds\n\nPeople water the stone. See [[Compost]] and [it](../shed.md#key).",
    "Compost.md": "# Compost\n\nPeople water the tree.",
    "shed.md": "# Shed\n\nPeople water the cup.",
    "soil.md": "# Soil\n\nPeople water it as in [[garden/Vegetable Beds|the beds]].",
    "plot.md": "---\nlinks: Beds\n---\n# Plot\n\nPeople water the road.",
    "path.md": "# Path\n\nPeople water [it](garden/Vegetable%20beds.md).",
    "balcony.md": "# Balcony\n\nPeople water the stone, not [the site](https://example.org/shed.md).",
    "door.md": "# Door\n\nPeople open the door.",
}


def notes(folder: Path, texts: dict[str, str], encoder: Encoder) -> Index:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Index.build(folder, encoder=encoder)


def documents(index: Index, example: str | Path, **options: object) -> set[str]:
    hits = index.similar(example, 20, unlinked=True, **options)  # type: ignore[arg-type]
    return {hit.document for hit in hits}


def test_linked_documents_are_no_hits_whichever_of_the_two_has_the_link(
    tmp_path: Path, tiny: Encoder
) -> None:
    texts = NOTES | {
        "garden/Vegetable beds.md": "---\naliases: [Beds]\n---\n" + NOTES["garden/Vegetable beds.md"]
    }
    index = notes(tmp_path / "notes", texts, tiny)
    beds = tmp_path / "notes" / "garden" / "Vegetable beds.md"
    assert documents(index, beds) == {"balcony.md", "door.md"}
    assert documents(index, beds, where="not path:door.md") == {"balcony.md"}
    assert documents(index, tmp_path / "notes" / "door.md") == set(texts) - {"door.md"}
    assert {hit.document for hit in index.similar(beds, 20)} == set(texts) - {"garden/Vegetable beds.md"}


def test_the_hits_have_the_scores_of_the_others(tmp_path: Path, tiny: Encoder) -> None:
    index = notes(tmp_path / "notes", NOTES, tiny)
    beds = tmp_path / "notes" / "garden" / "Vegetable beds.md"
    scores = {hit.passage_id: hit.score for hit in index.similar(beds, 20)}
    for hit in index.similar(beds, 20, unlinked=True):
        assert hit.score == scores[hit.passage_id]
        assert index.explain_similar(beds, hit, unlinked=True).score == pytest.approx(hit.score, abs=1e-6)


TEMPLATE = "## Tasks\n\nWhat people have to do\n\n## Number\n\nWhat people call\n"
DAYS = {f"day{number}.md": f"# Day\n\n{TEMPLATE}" for number in range(4)} | {
    "long.md": f"# Day\n\n{TEMPLATE}\nThe people of the house open the door to the water.\n",
    "stone.md": "# Stone\n\nPeople look at the stone in the water.\n",
}


def test_text_of_a_template_is_left_out(tmp_path: Path, tiny: Encoder) -> None:
    index = notes(tmp_path / "notes", DAYS, tiny)
    for name in ("long.md", "stone.md"):
        assert documents(index, tmp_path / "notes" / name) == {"long.md", "stone.md"} - {name}
    assert {hit.document for hit in index.similar(tmp_path / "notes" / "long.md", 20)} > {"day1.md"}


def test_passages_of_a_template_are_no_part_of_the_query(tmp_path: Path, tiny: Encoder) -> None:
    """The example has two passages; the score is the cosine of the one that is its own."""
    own = "The people of the house open the door to the water. " * 20
    texts = DAYS | {"long.md": f"{TEMPLATE}\n\n# Own\n\n{own}\n"}
    index = notes(tmp_path / "notes", texts, tiny)
    example = tmp_path / "notes" / "long.md"
    hits = index.query("people", 50, per_document=0, all_copies=True)
    passages = [hit.passage_id for hit in hits if hit.document == "long.md"]
    assert len(passages) > 1
    (hit,) = index.similar(example, 20, unlinked=True)
    _, vectors = index.embeddings(sorted(passages)[1:])
    _, (vector,) = index.embeddings([hit.passage_id])
    mean = vectors.mean(axis=0)
    cosine = float(mean @ vector) / float((mean @ mean) ** 0.5)
    assert hit.score == pytest.approx(cosine, abs=1e-6)
    why = index.explain_similar(example, hit, unlinked=True)
    assert why.score == pytest.approx(hit.score, abs=1e-6)


def test_links_to_files_mean_the_file_and_names_from_memory_are_whole(
    tmp_path: Path, tiny: Encoder
) -> None:
    texts = {
        "README.md": "People look at [it](n1.md), [a city](Rome_(city).md) and [[paper.pdf]].",
        "n1.md": "People water the tree.", "garden/n1.md": "People water the stone.",
        "Rome_(city).md": "People water the road.", "paper.txt": "People water the cup.",
    }  # fmt: skip
    index = notes(tmp_path / "notes", texts, tiny)
    assert documents(index, tmp_path / "notes" / "README.md") == {"garden/n1.md", "paper.txt"}
    with Index.create(encoder=tiny) as memory:
        memory.upsert(
            [
                {"id": "/", "text": "People water the tree."},
                {"id": "T-1", "text": "People water the stone."},
                {"id": "T-1.5", "text": "People water the road."},
                {"id": "L", "text": "People water the cup.", "links": ["T-1.5"]},
                {"id": "M", "text": "People water the shoe.", "links": "T-1"},
            ]
        )
        assert documents(memory, "L") == {"/", "T-1", "M"}
        assert documents(memory, "M") == {"/", "T-1.5", "L"}
        memory.set_metadata("L", {"links": None})
        assert documents(memory, "L") == {"/", "T-1", "T-1.5", "M"}


def test_the_document_itself_cannot_be_asked_for(tmp_path: Path, tiny: Encoder) -> None:
    index = notes(tmp_path / "notes", NOTES, tiny)
    with pytest.raises(InputError, match="Omit same_document or unlinked"):
        index.similar(tmp_path / "notes" / "door.md", same_document=True, unlinked=True)


def test_the_command_explains_such_a_hit(run: Run, tmp_path: Path, tiny: Encoder) -> None:
    index = notes(tmp_path / "notes", NOTES, tiny)
    example = tmp_path / "notes" / "garden" / "Vegetable beds.md"
    status, out, _ = run("similar", example, "--unlinked", "-f", "paths", "-i", index.path)
    paths = {Path(line).name for line in out.splitlines()}
    assert status == 0 and paths == {"balcony.md", "door.md", "plot.md"}
    status, out, _ = run("similar", example, "--unlinked", "--explain", "1", "-i", index.path)
    assert status == 0 and "passage  " in out
