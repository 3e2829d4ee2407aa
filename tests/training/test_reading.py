"""Files and folders -> examples; what is held out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from search.errors import InputError
from search.training.examples import Example, Examples, apart_from, held_out, key_of, read_examples
from search.training.tuning import LOSSES, loss_for
from tests.conftest import DATA
from tests.training.conftest import write_lines


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_graded_rows_are_scaled_as_the_sts_benchmark_has_it(tmp_path: Path) -> None:
    rows = ("Sentence1\tsentence2\tscore\tgenre", 'a "quote\tb\t5\tx', "c\td\t2.5\ty", 'a "quote\tb\t5\tz')
    file = written(tmp_path / "a.tsv", *rows)
    found = read_examples(file)
    assert found.shape == "graded"
    assert found.rows == (Example(('a "quote', "b"), 1.0), Example(("c", "d"), 0.5))
    assert (found.read, found.duplicates) == (3, 1)
    assert "scores of a.tsv run from 2.5 to 5: read as 0 to 5 and scaled to 0 to 1" in found.notes
    assert "not used of a.tsv: genre" in found.notes
    assert found.files[0].sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (found.files[0].name, found.files[0].rows) == ("a.tsv", 3)


def test_scores_are_never_scaled_by_a_guess(tmp_path: Path) -> None:
    low = write_lines(
        tmp_path / "a.jsonl", *({"text1": "a", "text2": str(i), "similarity": i / 10} for i in range(5))
    )
    assert [row.score for row in read_examples(low).rows] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    other = write_lines(
        tmp_path / "b.jsonl", *({"text1": "a", "text2": str(i), "score": i} for i in (-1, 0, 1))
    )
    with pytest.raises(InputError, match="run from -1 to 1. Scale them to 0 to 1"):
        read_examples(other)


def test_pairs_and_triplets(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "question,answer", 'who,"one, two"', "what,three")
    assert read_examples(file).rows == (Example(("who", "one, two")), Example(("what", "three")))
    found = read_examples(
        write_lines(
            tmp_path / "b.jsonl",
            {"query": "q", "positive": "a", "negative_1": "c", "negative_2": "d"},
            {"query": "r", "positive": "e", "negative_1": "f", "negative_2": "g"},
        )
    )
    assert found.shape == "triplets"
    assert found.rows == (Example(("q", "a", "c", "d")), Example(("r", "e", "f", "g")))
    assert found.columns == ("anchor", "positive", "negative_1", "negative_2")
    plain = written(tmp_path / "c.csv", "sentence1,sentence2", "a,b", "c,d")
    assert read_examples(plain).shape == "pairs"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "one,two\na,b\n", r"a.csv:1: no examples can be made of what is named here \(one, two\)"),
        ("a.csv", "query,passage,score\na,b,1\n", r"is named here \(query, passage, score\)"),
        ("a.csv", "query,question,passage\na,b,c\n", "the columns query and question mean the same"),
        ("a.csv", "query,passage\na,b\nc\n", "a.csv:3: 1 fields, but the first line has 2"),
        ("a.csv", "query,passage\na,b\n ,c\n", 'a.csv:3: "query" is empty'),
        ("a.csv", "sentence1,sentence2,score\na,b,much\n", "a.csv:2: \"score\" is 'much', which is no score"),
        ("a.csv", "sentence1,sentence2,score\na,b,nan\n", "a.csv:2: \"score\" is 'nan'"),
        ("a.csv", "sentence1,sentence2,negative\na,b,c\n", "no examples can be made"),
        ("a.jsonl", '{"query": "a", "passage": 1}\n', 'a.jsonl:1: "passage" must be there and hold a text'),
        ("a.jsonl", '{"query": "a", "passage": "b"}\n{"query": "a"}\n', 'a.jsonl:2: "passage" must be there'),
        ("a.jsonl", "[]\n", "a.jsonl:1: a JSON object is needed"),
        ("a.jsonl", "\n", "holds no example"),
        (
            "a.jsonl",
            '{"query": "a", "passage": "b", "negative": "c"}\n{"query": "a", "passage": "b"}\n',
            'a.jsonl:2: "negative" must be there',
        ),
        ("a.txt", "a\n", "in no format that can be trained on"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_examples(tmp_path / name)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        read_examples(tmp_path / "no.csv")
    with pytest.raises(InputError, match="in no format that can be trained on"):
        read_examples(tmp_path)


def test_a_query_is_never_on_both_sides() -> None:
    rows = tuple(Example((f"Query {i % 12}{' ' * (i % 3)}", f"passage {i}")) for i in range(60))
    for seed in range(5):
        train, dev = held_out(Examples("pairs", rows), 0.2, seed)
        sides = [{key_of(row.texts[0]) for row in side.rows} for side in (train, dev)]
        assert not sides[0] & sides[1]
        assert sorted((*train.rows, *dev.rows), key=str) == sorted(rows, key=str)
        assert 10 <= len(dev) <= 18
    first, again = held_out(Examples("pairs", rows), 0.2, 3), held_out(Examples("pairs", rows), 0.2, 3)
    assert first == again
    assert held_out(Examples("pairs", rows), 0.2, 4)[1].rows != first[1].rows


def test_a_sentence_is_never_on_both_sides() -> None:
    rows = tuple(Example((f"s{i}", f"S{i + 1}"), i / 40) for i in range(40) if i % 4)
    for seed in range(5):
        train, dev = held_out(Examples("graded", rows), 0.2, seed)
        sides = [{key_of(text) for row in side.rows for text in row.texts} for side in (train, dev)]
        assert not sides[0] & sides[1]
    chained = Examples("graded", tuple(Example((f"s{i}", f"s{i + 1}"), i / 40) for i in range(40)))
    with pytest.raises(
        InputError, match="share their texts. Give other examples to measure with: --dev FILE"
    ):
        held_out(chained, 0.2, 0)


def test_what_is_measured_with_is_not_learned() -> None:
    train = Examples("graded", (Example(("A", "b"), 0.1), Example(("a", "c"), 0.2)))
    kept = apart_from(train, Examples("graded", (Example(("B", "a"), 0.9),)))
    assert kept.rows == (train.rows[1],)
    pairs = Examples("pairs", (Example(("q", "b")), Example(("r", "c"))))
    assert apart_from(pairs, Examples("pairs", (Example(("Q ", "z")),))).rows == (pairs.rows[1],)


def test_the_loss_goes_by_the_shape() -> None:
    graded = Examples("graded", (Example(("a", "b"), 0.5),))
    pairs = Examples("pairs", (Example(("a", "b")),))
    triplets = Examples("triplets", (Example(("a", "b", "c", "d")),))
    kinds = [loss_for(one).kind for one in (graded, pairs, triplets)]
    assert kinds == ["CosineSimilarityLoss", "MultipleNegativesRankingLoss", "MultipleNegativesRankingLoss"]
    assert loss_for(graded, "cosent").kind == "CoSENTLoss"
    for examples, name, message in (
        (pairs, "cosent", "does not fit pairs examples. Choose one of: multiple-negatives"),
        (triplets, "cosine", "does not fit triplets examples. Choose one of: multiple-negatives"),
        (graded, "hinge", "there is no loss 'hinge'"),
    ):
        with pytest.raises(InputError, match=message):
            loss_for(examples, name)


def test_every_loss_is_one_of_sentence_transformers() -> None:
    from sentence_transformers.sentence_transformer import losses

    assert all(hasattr(losses, loss.kind) for loss in LOSSES.values())


def test_the_sts_benchmark() -> None:
    file = DATA / "sts" / "stsb_train.tsv"
    if not file.is_file():
        pytest.skip("STS-B is not at hand")
    found = read_examples(file)
    assert (found.read, found.shape) == (5749, "graded")
    assert found.rows[1] == Example(("A man is playing a large flute.", "A man is playing a flute."), 3.8 / 5)
    train, dev = held_out(found, 0.1, 0)
    sides = [{key_of(text) for row in side.rows for text in row.texts} for side in (train, dev)]
    assert not sides[0] & sides[1]
