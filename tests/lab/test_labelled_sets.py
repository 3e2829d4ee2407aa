"""The labelled sets of `make lab`, and its training on a few of their texts."""

import importlib.util
import json
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from search import bert
from search.evaluating.formats import TableRow, read_questions, read_rows
from search.lab.evaluating.formats import read_conll, read_examples
from tests.conftest import REPOSITORY
from tests.lab.bert.conftest import save_reader, save_tiny_head

LAB = REPOSITORY / "corpora" / "lab"
# Without X and SYM (https://universaldependencies.org/u/pos/).
UNIVERSAL_TAGS = set("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ VERB".split())


@pytest.fixture
def script() -> Any:
    spec = importlib.util.spec_from_file_location("lab_train", LAB / "train.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_tense() -> dict[str, list[TableRow]]:
    """Rows of tense.csv by label."""
    rows = read_rows(LAB / "tense.csv", ("label", "group", "text"))
    assert len({row.text("text") for row in rows}) == len(rows) == 324
    return {
        label: [row for row in rows if row.text("label") == label]
        for label in ("past", "present", "future")
    }


def test_the_labelled_sets_are_whole() -> None:
    topics = read_examples(LAB / "topics.csv")
    assert len({item.text for item in topics}) == 300 and len({item.label for item in topics}) == 6
    sentences = read_conll(LAB / "entities.conll")
    assert len(sentences) == 200 and {label[2:] for item in sentences for label in item.labels} == {
        "",
        "PER",
        "LOC",
        "ORG",
    }
    tags = read_conll(LAB / "pos.conll", entities=False)
    assert len({item.text for item in tags}) == len(tags) == 295
    assert {label for item in tags for label in item.labels} == UNIVERSAL_TAGS
    for item in tags:
        marks = {word for word in item.words if not word[0].isalnum() and word[0] != "'"}
        assert {
            word for word, label in zip(item.words, item.labels, strict=True) if label == "PUNCT"
        } == marks
    forms = {label: {row.values["group"] for row in rows} for label, rows in by_tense().items()}
    assert forms.keys() == {"past", "present", "future"}
    assert all(verbs == forms["past"] for verbs in forms.values()) and len(forms["past"]) == 108
    questions, paragraphs = read_questions(LAB / "questions.json")
    answerable = [item for item in questions if item.answers]
    assert (len(questions), len(answerable), len({item.id for item in questions})) == (250, 150, 250)
    for item in answerable:
        text = paragraphs.entries[item.paragraph].text
        assert text[item.starts[0] :].startswith(item.answers[0])
    per_note = Counter(item.paragraph for item in questions if not item.answers)
    assert set(per_note.values()) == {2} and per_note.keys() == paragraphs.entries.keys()


def test_only_the_future_has_words_of_its_own() -> None:
    rows = by_tense()
    future = re.compile(r"\b(will|(am|is|are) going to)\b")
    assert all(future.search(row.text("text")) for row in rows["future"])
    others = [row.text("text") for row in (*rows["past"], *rows["present"])]
    assert [text for text in others if future.search(text)] == ["The clerk read the will aloud."]


def test_pairs_and_masks_occur_in_their_shares(script: Any) -> None:
    from transformers import AutoTokenizer

    from search.encoding.models import DEFAULT_MODEL, find_model

    texts = script.documents()
    assert len(texts) > 100 and all(
        "```" not in sentence for sentences in texts for sentence in sentences
    )
    pairs = script.pairs_of(texts, random.Random(0))
    neighbours = {pair for sentences in texts for pair in pairwise(sentences)}
    assert all((first, second) in neighbours for first, second, is_other in pairs if not is_other)
    assert 0.4 < sum(is_other for *_, is_other in pairs) / len(pairs) < 0.6
    tokenizer = AutoTokenizer.from_pretrained(find_model(DEFAULT_MODEL, offline=True).folder)
    batch = next(script.batches(pairs[:16], tokenizer, random.Random(0)))
    targets = batch["labels"] != script.IGNORED
    assert 0.08 < targets.sum() / batch["attention_mask"].sum() < 0.22
    assert (batch["input_ids"][targets] == tokenizer.mask_token_id).float().mean() > 0.6
    assert not (targets & (batch["attention_mask"] == 0)).any()


def test_questions_of_other_notes_have_no_answer(script: Any) -> None:
    notes = script.notes()
    own = {(row.question, row.text) for note in notes for row in note if row.answer}
    rows = script.strangers(notes, random.Random(0), 2)
    assert len(rows) == 2 * len(notes) == len(set(rows))
    assert all(not row.answer and (row.question, row.text) not in own for row in rows)
    assert rows == script.strangers(notes, random.Random(0), 2)


def test_answers_are_at_their_places_in_longer_texts(script: Any) -> None:
    notes = script.notes()
    longer = script.joined(notes, random.Random(0), 3)
    assert sum(map(len, longer)) == sum(map(len, notes)) == 250
    assert [len({row.text for row in text}) for text in longer] == [1] * len(longer)
    for row in (row for text in longer for row in text if row.answer):
        assert row.text[row.start :].startswith(row.answer)


def test_targets_are_the_tokens_of_the_answer(script: Any) -> None:
    """The target is [CLS] where there is no answer."""
    from transformers import AutoTokenizer

    from search.encoding.models import find_model

    tokenizer = AutoTokenizer.from_pretrained(find_model(offline=True).folder)
    rows = [row for note in script.notes()[:4] for row in note]
    batch = script.asked(rows, tokenizer)
    for i, row in enumerate(rows):
        first, last = int(batch["start_positions"][i]), int(batch["end_positions"][i])
        if row.answer:
            text = tokenizer.decode(batch["input_ids"][i, first : last + 1])
            assert text.replace(" ", "") == row.answer.lower().replace(" ", "")
        else:
            assert (first, last) == (0, 0)


@pytest.mark.parametrize("null", [-4.0, 4.0])
def test_no_answer_is_right_for_a_question_without_one(script: Any, tmp_path: Path, null: float) -> None:
    """The readers answer everything, and nothing; what is counted is stored with the head, for its answers."""
    reader = save_reader(tmp_path / "reader", null=null)
    text = "the key is in the door"
    rows = [script.Question("where is the door?", text), script.Question("where is the lock?", text)]
    rows.append(script.Question("where is the key?", text, "in the door", 11))
    output = script.measured_answers(reader, rows)
    right = 2 if null > 0 else 0
    assert f"no answer for {right} of 2 others" in output and "of 1 questions with an answer" in output
    record = json.loads((reader / "training.json").read_text(encoding="utf-8"))["held_out"]["answer"]
    assert record["total"] == 3 and record["right"] in ({2} if null > 0 else {0, 1})
    held_out = bert.answer("where is the key?", text, model=str(reader)).held_out
    assert held_out and (held_out.right, held_out.total, held_out.unit) == (*record.values(), "questions")


def test_both_figures_of_pretraining_are_stored(script: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForPreTraining, AutoTokenizer

    folder = save_tiny_head(tmp_path / "both", "both", positions=128)
    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForPreTraining, AutoTokenizer))
    tokenizer.model_max_length = 128
    texts = [
        ["the key is in the door", "turn the key", "open it"],
        ["a red door", "it is open", "the lock"],
    ]
    output = script.measured(model.eval(), tokenizer, texts, folder)
    filled = bert.fill("the [MASK]", model=str(folder)).held_out
    follows = bert.next_sentence("the key", "the door", model=str(folder)).held_out
    assert filled and follows
    assert (
        f"masked tokens {filled.right / filled.total:.3f}" in output and f"of {filled.total:,};" in output
    )
    assert f"next sentences {follows.right / 4:.3f} of 4 pairs" in output and follows.total == 4
