"""Datasets as `datasets.load_dataset` takes them: rows with the names of their classes, in files that trainers read."""

from pathlib import Path

import pytest

from search import InputError
from search.evaluating.formats import read_questions
from search.lab.evaluating.formats import read_conll, read_examples
from search.lab.training.hub import dataset_file

datasets = pytest.importorskip("datasets")


def save_dataset(folder: Path, columns: dict[str, list[object]], **kinds: object) -> str:
    table = datasets.Dataset.from_dict(columns)
    for name, kind in kinds.items():
        table = table.cast_column(name, kind)
    (folder / "data").mkdir()
    table.to_parquet(folder / "data" / "train.parquet")
    return str(folder / "data")


def test_texts_have_the_names_of_their_classes(tmp_path: Path) -> None:
    names = datasets.ClassLabel(names=["cold", "warm"])
    place = save_dataset(tmp_path, {"text": ["snow falls", "the sun"], "label": [0, 1]}, label=names)
    file = dataset_file(place, tmp_path)
    assert [(example.text, example.label) for example in read_examples(file)] == [
        ("snow falls", "cold"),
        ("the sun", "warm"),
    ]


def test_words_have_the_names_of_their_tags(tmp_path: Path) -> None:
    tags = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    place = save_dataset(tmp_path, {"tokens": [["Ada", "wrote"]], "ner_tags": [[1, 0]]}, ner_tags=tags)
    (sentence,) = read_conll(dataset_file(place, tmp_path))
    assert (sentence.words, sentence.labels) == (("Ada", "wrote"), ("B-PER", "O"))


def test_questions_have_their_answers_or_none(tmp_path: Path) -> None:
    answers = [{"text": ["water"], "answer_start": [14]}, {"text": [], "answer_start": []}]
    contexts = ["the key is in water"] * 2
    place = save_dataset(
        tmp_path, {"question": ["where?", "when?"], "context": contexts, "answers": answers}
    )
    questions, _ = read_questions(dataset_file(place, tmp_path))
    assert [(question.text, question.answers, question.starts) for question in questions] == [
        ("where?", ("water",), (14,)),
        ("when?", (), ()),
    ]


def test_a_dataset_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot load the dataset '.*nowhere'"):
        dataset_file(str(tmp_path / "nowhere"), tmp_path)
