"""The labelled sets of `make lab`, and its training on a few of their texts."""

import importlib.util
import json
import random
import re
from collections import Counter
from itertools import combinations, pairwise
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


def test_parts_of_speech_and_tenses_are_whole() -> None:
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


def test_each_topic_has_a_hundred_sentences_and_none_comes_twice() -> None:
    topics = read_examples(LAB / "topics.csv")
    assert Counter(example.label for example in topics) == dict.fromkeys(
        ("cooking", "garden", "money", "travel", "health", "computers"), 100
    )
    assert near_duplicates([example.text or "" for example in topics]) == []


def near_duplicates(texts: list[str]) -> list[tuple[str, str]]:
    """Return pairs of texts that share more than 60 % of their words (Jaccard similarity)."""
    words = [set(re.findall(r"\w+", text.lower())) for text in texts]
    return [
        (first, second)
        for (first, a), (second, b) in combinations(zip(texts, words, strict=True), 2)
        if len(a & b) > 0.6 * len(a | b)
    ]


def test_near_duplicates_are_noticed() -> None:
    texts = ["The old dog sleeps.", "The dog sleeps.", "A cat sits on the wall."]
    assert near_duplicates(texts) == [(texts[0], texts[1])]


def test_entities_are_of_three_kinds_and_some_sentences_have_none() -> None:
    sentences = read_conll(LAB / "entities.conll")
    assert len(sentences) == 400
    begun = Counter(label[2:] for row in sentences for label in row.labels if label.startswith("B-"))
    assert begun.keys() == {"PER", "LOC", "ORG"} and min(begun.values()) >= 140
    assert sum(set(row.labels) == {"O"} for row in sentences) == 70
    assert near_duplicates([row.text for row in sentences]) == []
    for row in sentences:
        pairs = pairwise(("O", *row.labels))
        assert all(label[2:] == before[2:] for before, label in pairs if label.startswith("I-")), row.text


def test_a_third_of_the_questions_has_no_answer_and_answers_are_at_their_places() -> None:
    questions, paragraphs = read_questions(LAB / "questions.json")
    answerable = [item for item in questions if item.answers]
    assert (len(paragraphs.entries), len(questions), len(answerable)) == (75, 425, 275)
    assert len({item.id for item in questions}) == len({item.text for item in questions}) == 425
    assert near_duplicates([entry.text for entry in paragraphs.entries.values()]) == []
    for item in answerable:
        text = paragraphs.entries[item.paragraph].text
        assert len(item.starts) == len(item.answers)
        for start, answer in zip(item.starts, item.answers, strict=True):
            assert text[start:].startswith(answer) and answer.strip() == answer
    per_note = Counter(item.paragraph for item in questions if not item.answers)
    assert set(per_note.values()) == {2} and per_note.keys() == paragraphs.entries.keys()


def test_only_the_future_has_words_of_its_own() -> None:
    rows = by_tense()
    future = re.compile(r"\b(will|(am|is|are) going to)\b")
    assert all(future.search(row.text("text")) for row in rows["future"])
    others = [row.text("text") for row in (*rows["past"], *rows["present"])]
    assert [text for text in others if future.search(text)] == ["The clerk read the will aloud."]


def test_no_note_is_in_both_parts(script: Any) -> None:
    train, test = ({note[0].text for note in part} for part in script.divided(script.notes(), 4))
    assert (len(train), len(test)) == (57, 18) and not train & test


def test_no_held_out_sentence_has_only_names_to_learn_from(script: Any) -> None:
    train, test = script.sentences_apart()
    assert len(train) + len(test) == 400 and len(test) > 80
    seen = {name for sentence in train for name in script.names_of(sentence)}
    with_names = [names for sentence in test if (names := script.names_of(sentence))]
    assert all(names - seen for names in with_names) and 0 < len(test) - len(with_names) < 40
    ada = next(sentence for sentence in (*train, *test) if sentence.words[0] == "Ada")
    assert script.names_of(ada) == {"Ada Lovelace", "London"}


def test_sentences_are_paired_with_the_next_and_with_another_text(script: Any) -> None:
    texts = script.documents()
    assert len(texts) > 150 and all(
        "```" not in sentence for sentences in texts for sentence in sentences
    )
    pairs = script.pairs_of(texts, random.Random(0))
    neighbours = {pair for sentences in texts for pair in pairwise(sentences)}
    assert all((first, second) in neighbours for first, second, is_other in pairs if not is_other)
    assert sum(is_other for *_, is_other in pairs) == len(pairs) / 2


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from search.encoding.models import find_model

    return AutoTokenizer.from_pretrained(find_model(offline=True).folder)


def test_masks_occur_in_their_shares(script: Any, tokenizer: Any) -> None:
    pieces = script.chunks(script.documents()[:40], tokenizer)
    rows = script.masked(pieces, tokenizer, random.Random(0))
    assert max(len(row.ids) for row in rows) <= script.LONGEST
    targets = [
        (target, token)
        for row in rows
        for target, token in zip(row.target, row.ids, strict=True)
        if target != script.IGNORED
    ]
    assert 0.13 < len(targets) / sum(map(len, pieces)) < 0.17
    assert 0.75 < sum(token == tokenizer.mask_token_id for _, token in targets) / len(targets) < 0.85
    assert 0.05 < sum(token == target for target, token in targets) / len(targets) < 0.15
    assert [[*row.ids[:1], *row.ids[-1:]] for row in rows] == [[101, 102]] * len(rows)


@pytest.mark.parametrize("frozen", [0, 1])
def test_frozen_layers_and_the_embeddings_keep_their_weights(
    script: Any, tmp_path: Path, frozen: int
) -> None:
    import torch
    from transformers import AutoModelForNextSentencePrediction

    folder = save_tiny_head(tmp_path / "next", "next", positions=128)
    model = AutoModelForNextSentencePrediction.from_pretrained(folder).eval()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    rows = [script.Example([2, 9 + i, 3], [0, 0, 0], i % 2) for i in range(20)]

    def loss_of(batch: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(model(**batch).logits, torch.tensor(targets))

    script.fit(model, [rows, rows], loss_of, rate=0.01, head_rate=0.01, frozen=frozen)
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    still = ("bert.embeddings", *(f"bert.encoder.layer.{i}." for i in range(frozen)))
    assert changed == {name for name in before if not name.startswith(still)}


def test_questions_of_other_notes_have_no_answer(script: Any) -> None:
    notes = script.notes()
    own = {(row.question, row.text) for note in notes for row in note if row.answer}
    rows = script.strangers(notes, random.Random(0), 2)
    assert len(rows) == 2 * len(notes) == len(set(rows))
    assert all(not row.answer and (row.question, row.text) not in own for row in rows)
    assert rows == script.strangers(notes, random.Random(0), 2)


def test_questions_are_asked_of_pages_of_the_handbook(script: Any) -> None:
    notes = script.notes()
    pages = {sentence for page in script.prose("handbook") for sentence in page}
    rows = script.elsewhere(notes, random.Random(0))
    assert [row.answer for row in rows] == [""] * len(notes)
    for note, row in zip(notes, rows, strict=True):
        assert row.question in {question.question for question in note}
        assert any(row.text.startswith(sentence) for sentence in pages)


def test_answers_are_at_their_places_in_longer_texts(script: Any) -> None:
    notes = script.notes()
    longer = script.joined(notes, random.Random(0), 3)
    assert sum(map(len, longer)) == sum(map(len, notes)) == 425
    assert [len({row.text for row in text}) for text in longer] == [1] * len(longer)
    for row in (row for text in longer for row in text if row.answer):
        assert row.text[row.start :].startswith(row.answer)


def test_targets_are_the_tokens_of_the_answer(script: Any, tokenizer: Any) -> None:
    """The target is [CLS] where there is no answer."""
    rows = [row for note in script.notes() for row in note]
    for row, example in zip(rows, script.encoded_questions(rows, tokenizer), strict=True):
        first, last = example.target
        if row.answer:
            text = tokenizer.decode(example.ids[first : last + 1])
            plain = tokenizer.backend_tokenizer.normalizer.normalize_str(row.answer)
            assert text.replace(" ", "") == plain.replace(" ", "")
        else:
            assert (first, last) == (0, 0)


@pytest.mark.parametrize("null", [-4.0, 4.0])
def test_no_answer_is_right_for_a_question_without_one(script: Any, tmp_path: Path, null: float) -> None:
    """The readers answer everything, and nothing; what is counted is stored with the head, for its answers."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder = save_reader(tmp_path / "reader", null=null)
    kinds = (AutoModelForQuestionAnswering, AutoTokenizer)
    model, tokenizer = (kind.from_pretrained(folder) for kind in kinds)
    text = "the key is in the door"
    rows = [script.Question("where is the door?", text), script.Question("where is the lock?", text)]
    rows.append(script.Question("where is the key?", text, "in the door", 11, ("in the door",)))
    output = script.measured_answers(model, tokenizer, rows, tmp_path / "saved")
    refused = 2 if null > 0 else 0
    assert f"no answer for {refused / 2:.3f} " in output and "of 2 others" in output
    assert "of 1 questions with an answer" in output
    held_out = bert.answer("where is the key?", text, model=str(tmp_path / "saved")).held_out
    assert held_out and (held_out.total, held_out.unanswerable, held_out.refused) == (3, 2, refused)
    assert held_out.right in ({2} if null > 0 else {0, 1})
    stored = json.loads((tmp_path / "saved" / "training.json").read_text(encoding="utf-8"))
    assert stored["held_out"]["answer"]["interval"] == list(held_out.interval)


def test_figures_of_masks_and_order_are_stored(script: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoModelForNextSentencePrediction, AutoTokenizer

    texts = [
        ["the key is in the door", "turn the key", "open it"],
        ["a red door", "it is open", "the lock"],
    ]
    filler = save_tiny_head(tmp_path / "filler", "fill", positions=128)
    follower = save_tiny_head(tmp_path / "follower", "next", positions=128)
    for folder in (filler, follower):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if folder == filler:
            model = AutoModelForMaskedLM.from_pretrained(folder).eval()
            output = script.measured_masks(model, tokenizer, texts * 20, tmp_path / "masks")
            held_out = bert.fill("the [MASK]", model=str(tmp_path / "masks")).held_out
        else:
            model = AutoModelForNextSentencePrediction.from_pretrained(folder).eval()
            output = script.measured_order(model, tokenizer, texts, tmp_path / "order")
            held_out = bert.next_sentence("the key", "the door", model=str(tmp_path / "order")).held_out
            assert held_out and held_out.total == 8
        assert held_out and held_out.total > 0
        assert f"right for {held_out.right / held_out.total:.3f} (" in output
        assert f"of {held_out.total:,} {held_out.unit}" in output
