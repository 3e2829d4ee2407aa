"""Token classification: against transformers' own pipeline, in windows, with several tokenizers and label schemes."""

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search.bert
from search import InputError, ModelError
from search.lab.bert.tagging import OVERLAP, chunks, field_of, load_tagger, mentions, parsed
from tests.lab.bert.conftest import BIO, save_tagger, save_tiny_head

TEXT = (
    "Ada Lovelace wrote to Charles Babbage in London, on the 5th of July 1843; and the Analytical Engine's notes "
    "(by Menabrea) were translated.\n\nNobody knows \u2603 why: \u00c5ngstr\u00f6m e\u0301t\u00e9 \u6771\u4eac\u90fd "
    "\U0001f600 too"
)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(tmp_path_factory.mktemp("models") / "ner", BIO)


def pipeline_of(folder: Path, **options: Any) -> Any:
    from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    return pipeline("token-classification", model=model, tokenizer=tokenizer, device="cpu", **options)


def test_entities_are_those_of_transformers(tagger: Path) -> None:
    """Aggregated by the first token of each word, as here; scores are means over words in both."""
    reference = pipeline_of(tagger, aggregation_strategy="first")
    chance = random.Random(0)
    # The pipeline takes a punctuation mark after a word for a part of it; here it is a word by itself.
    words = [word for word in TEXT.split() if word.isalnum()]
    compared = 0
    for _ in range(25):
        text = " ".join(chance.sample(words, 6))  # fits one window
        result = search.bert.tag(text, model=str(tagger))
        expected = [
            (
                field_of(f"B-{entity['entity_group']}", "ner"),
                entity["start"],
                entity["end"],
                entity["score"],
            )
            for entity in reference(text)
        ]
        assert [(m.field, m.start, m.end) for m in result.mentions] == [entity[:3] for entity in expected]
        assert [m.score for m in result.mentions] == pytest.approx(
            [entity[3] for entity in expected], abs=1e-5
        )
        compared += len(expected)
    assert compared > 25


def test_the_class_of_a_word_is_that_of_its_first_token(tagger: Path) -> None:
    """The class of a word is that of its first token, by the softmax of its logits, computed here by transformers."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    text = "Ada's keys, turned: the lock."
    result = search.bert.tag(text, model=str(tagger))
    assert [word.text for word in result.words] == [
        "Ada",
        "'",
        "s",
        "keys",
        ",",
        "turned",
        ":",
        "the",
        "lock",
        ".",
    ]
    assert all(text[word.start : word.end] == word.text for word in result.words)
    encoding = AutoTokenizer.from_pretrained(tagger)(
        text, return_tensors="pt", truncation=False, padding=False
    )
    with torch.inference_mode():
        logits = AutoModelForTokenClassification.from_pretrained(tagger)(**encoding).logits[0]
    firsts, before = [], None
    for i, word in enumerate(encoding.word_ids()):
        if word is not None and word != before:
            firsts.append(i)
        before = word
    scores = logits.softmax(-1)[firsts]
    assert [word.label for word in result.words] == [BIO[i] for i in scores.argmax(-1).tolist()]
    assert [word.score for word in result.words] == pytest.approx(
        scores.max(-1).values.tolist(), abs=1e-5
    )
    assert [piece for word in result.words for piece in word.tokens] == encoding.tokens()[1:-1]


def test_each_token_of_a_word_has_a_class_of_its_own(tagger: Path) -> None:
    """The head's class of every token, also of those that do not count for the word, computed by transformers."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    text = "Ada Lovelace wrote to Charles Babbage"
    result = search.bert.tag(text, model=str(tagger))
    encoding = AutoTokenizer.from_pretrained(tagger)(
        text, return_tensors="pt", return_offsets_mapping=True
    )
    offsets = encoding.pop("offset_mapping")[0].tolist()[1:-1]
    with torch.inference_mode():
        logits = AutoModelForTokenClassification.from_pretrained(tagger)(**encoding).logits[0, 1:-1]
    likely = logits.double().softmax(-1)
    pieces = [piece for word in result.words for piece in word.pieces]
    assert [piece.text for piece in pieces] == encoding.tokens()[1:-1]
    assert [[piece.start, piece.end] for piece in pieces] == offsets
    assert [piece.label for piece in pieces] == [BIO[i] for i in likely.argmax(-1).tolist()]
    assert [piece.score for piece in pieces] == pytest.approx(likely.max(-1).values.tolist(), abs=1e-6)
    assert [(word.label, word.score) for word in result.words] == [
        (word.pieces[0].label, word.pieces[0].score) for word in result.words
    ]
    others = [piece.label != word.label for word in result.words for piece in word.pieces[1:]]
    assert any(others), "no token of a word has another class than the word"


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_spans_are_exact_in_any_text(kind: str, tmp_path: Path) -> None:
    model = str(save_tagger(tmp_path / kind, BIO, kind))
    chance = random.Random(1)
    pieces = [
        *TEXT,
        "e\u0301",
        "\r\n",
        "\t",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\U0001f468\u200d\U0001f469",
        "##",
        "[MASK]",
        "\u00a0",
    ]
    tagger = load_tagger(model, "ner")
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 300))) for _ in range(30)]
    total = 0
    for text, read in zip(texts, tagger.read(texts), strict=True):
        ends = [0, *(end for word in read for end in (word.start, word.end))]
        assert ends == sorted(ends), "words overlap or are out of order"
        for mention in mentions(text, read, "ner", offset=7):
            assert text[mention.start - 7 : mention.end - 7] == mention.text
            assert mention.text == mention.text.strip() != ""
            assert 0 < mention.score <= 1
            total += 1
    assert total > 100


def test_long_texts_are_read_in_windows_and_the_middle_decides(tagger: Path) -> None:
    """Put together by hand: for each token the window whose middle is nearest, the earlier one of two."""
    text = " ".join(random.Random(2).choices(TEXT.split(), k=150))
    reader = load_tagger(str(tagger), "ner")
    (read,) = reader.read([text])
    head = reader.head
    whole = head.tokenizer.encode(text, add_special_tokens=False)
    room = head.max_tokens - 2
    step = room - min(OVERLAP, room // 2)
    starts = [0]
    while starts[-1] + room < len(whole.ids):
        starts.append(starts[-1] + step)
    assert len(starts) > 3
    windows = head.windows(text, overlap=OVERLAP)
    logits = [output["logits"][1:-1] for output in head.run(windows)]
    expected = []
    for i in range(len(whole.ids)):
        inside = [
            (abs(i - start - (len(logits[k]) - 1) / 2), k)
            for k, start in enumerate(starts)
            if start <= i < start + len(logits[k])
        ]
        _, k = min(inside)
        expected.append(logits[k][i - starts[k]])
    firsts = [i for i, word in enumerate(whole.word_ids) if i == 0 or word != whole.word_ids[i - 1]]
    best = np.array(expected)[firsts].argmax(axis=1)
    assert [word.label for word in read] == [BIO[i] for i in best]
    assert [piece for word in read for piece in word.tokens] == whole.tokens


def test_given_words_keep_their_number(tagger: Path) -> None:
    words = ["Ada", "\u200d", "Lovelace's", "notes", "\u00ad", "(all)", "."]
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    (read,) = load_tagger(str(tagger), "ner").read(
        [text], [[(s, s + len(w)) for s, w in zip(starts, words, strict=True)]]
    )
    assert [word.text for word in read] == words
    assert [bool(word.tokens) for word in read] == [True, False, True, True, False, True, True]
    assert (read[1].label, read[1].score) == ("O", 0.0)
    assert len(read[2].tokens) > 2


SCHEMES = {
    "BIO": (["B-PER", "I-PER", "O", "B-LOC", "B-LOC"], [("PER", 0, 2), ("LOC", 3, 4), ("LOC", 4, 5)]),
    "BIO without B": (["I-PER", "I-PER", "I-LOC", "O", "I-LOC"], [("PER", 0, 2), ("LOC", 2, 3), ("LOC", 4, 5)]),
    "BIOES": (["B-PER", "I-PER", "E-PER", "S-PER", "O", "S-LOC"], [("PER", 0, 3), ("PER", 3, 4), ("LOC", 5, 6)]),
    "BILOU": (["B-PER", "L-PER", "U-PER", "I-PER"], [("PER", 0, 2), ("PER", 2, 3), ("PER", 3, 4)]),
    "bare": (["PER", "PER", "O", "LOC"], [("PER", 0, 2), ("LOC", 3, 4)]),
    "types with hyphens": (["B-creative-work", "I-creative-work"], [("creative-work", 0, 2)]),
    "nothing": (["O", "O"], []),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMES)
def test_labels_of_every_scheme_are_read(name: str) -> None:
    labels, expected = SCHEMES[name]
    assert list(chunks(labels)) == expected


def test_every_sequence_is_decoded_as_seqeval_does() -> None:
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    labels = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "XY")]
    for sequence in itertools.chain(
        itertools.product(labels, repeat=3), itertools.product(labels[:5], repeat=4)
    ):
        expected = [(kind, first, last + 1) for kind, first, last in get_entities(list(sequence))]
        assert list(chunks(sequence)) == expected, sequence


def test_names_of_classes_become_fields() -> None:
    assert [parsed(label) for label in ("B-PER", "o", "U-x-y", "NOUN", "I_LOC")] == [
        ("B", "PER"), ("O", ""), ("S", "x-y"), ("I", "NOUN"), ("I", "LOC"),
    ]  # fmt: skip
    fields = {"B-PER": "person", "I-LOC": "location", "B-ORG": "organization", "I-MISC": "misc", "B-person": "person",
             "B-creative-work": "creative-work", "S-GPE": "gpe", "B-Work Of Art": "work_of_art", "O": ""}  # fmt: skip
    assert {label: field_of(label, "ner") for label in fields} == fields
    parts = {
        "NOUN": "noun",
        "PROPN": "propn",
        "NNS": "nns",
        "PUNCT": "",
        "``": "",
        "Sonst": "sonst",
        "O": "",
    }
    assert {label: field_of(label, "pos") for label in parts} == parts


def test_every_word_but_punctuation_is_a_part_of_speech(tmp_path: Path) -> None:
    model = save_tagger(tmp_path / "pos", ("NOUN", "PUNCT", "VERB", "ADJ", "X"))
    result = search.bert.tag(TEXT, model=str(model), task="pos")
    words = [word for word in result.words if word.label != "PUNCT"]
    assert [(m.field, m.text, m.start, m.score) for m in result.mentions] == [
        (field_of(word.label, "pos"), word.text, word.start, word.score) for word in words
    ]
    assert 0 < len(words) < len(result.words) and len({word.label for word in words}) > 1


def test_a_text_or_model_that_cannot_be_tagged_is_refused(
    tagger: Path, tiny_model: Path, tmp_path: Path
) -> None:
    pos = save_tiny_head(tmp_path / "pos", "tag", labels=("NOUN", "VERB"))
    for text, options, problem in (
        (" ", {"model": str(tagger)}, "the text is empty"),
        ("a\ud800", {"model": str(tagger)}, "not valid text"),
        ("a", {"model": None}, "--model, for example dslim/bert-base-NER"),
        (
            "a",
            {"model": str(tagger), "task": "pos"},
            "no classes for --task pos; its classes are O, B-PER.*Use --task ner",
        ),
        (
            "a",
            {"model": str(pos)},
            "no classes for --task ner; its classes are NOUN, VERB.*Use --task pos",
        ),
        ("a", {"model": str(tagger), "task": "xyz"}, "unknown task 'xyz'"),
    ):
        with pytest.raises(InputError, match=problem):
            search.bert.tag(text, **options)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no head for classes of tokens.*dslim/bert-base-NER"):
        search.bert.tag("a", model=str(tiny_model))
