"""Tokens and the vocabulary, against transformers' tokenizers and published ids."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import search
from search.bert import decode, ids_of, tokenize, vocabulary
from search.errors import InputError
from tests.lab.bert.conftest import figures, named_checkpoint

EVIL = "<script>alert(1)</script> שלום مرحبا 🎉 \x1b[31m\x00 \u202eevil &amp; keys"


def test_token_ids_are_the_published_ones(real: search.Encoder) -> None:
    for text, ids in figures()["token_ids"].items():
        assert [token.id for token in tokenize(text, offline=True).tokens] == ids, text
    pair = figures()["pair"]
    tokens = tokenize(pair["a"], pair["b"], offline=True).tokens
    assert [token.id for token in tokens] == pair["input_ids"]
    assert [token.segment for token in tokens] == pair["token_type_ids"]
    assert [token.source for token in tokens] == [None, 0, 0, 0, 0, None, 1, 1, 1, 1, 1, None]
    assert {token.attended for token in tokens} == {1}


def test_words_have_their_pieces_and_unknown_ones_are_marked(real: search.Encoder) -> None:
    result = tokenize("A snowboarding ☃!", offline=True)
    assert result.vocabulary == 30522
    words = [
        (word.text, [result.tokens[i].text for i in word.tokens], word.split, word.unknown)
        for word in result.words
    ]
    assert words == [
        ("A", ["a"], False, False),
        ("snowboarding", ["snow", "##boarding"], True, False),
        ("☃", ["[UNK]"], False, True),
        ("!", ["!"], False, False),
    ]
    mask = tokenize("the [MASK] door", offline=True).tokens[2]
    assert (mask.id, mask.special, mask.start, mask.end) == (103, False, 4, 10)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(str.strip),
    st.sampled_from(["", EVIL]),
)
def test_offsets_point_into_the_texts(tiny_model: Path, text: str, text2: str) -> None:
    result = tokenize(text, text2 or None, model=str(tiny_model))
    for token in result.tokens:
        if token.source is None:
            assert (token.special, token.start, token.end) == (True, 0, 0)
        else:
            assert 0 <= token.start < token.end <= len(result.texts[token.source])
    for word in result.words:
        assert word.text == result.texts[word.source][word.start : word.end]
        assert {result.tokens[i].source for i in word.tokens} == {word.source}
    assert sum(len(word.tokens) for word in result.words) == sum(
        not token.special for token in result.tokens
    )


def test_bytes_can_spell_everything(bytes_model: str) -> None:
    result = tokenize("a ☃", model=bytes_model)
    assert not any(token.unknown for token in result.tokens)
    assert all(result.texts[0][token.start : token.end].strip() == "☃" for token in result.tokens[-4:-1])
    assert vocabulary(bytes_model).continuing is None


def test_ids_and_entries_are_those_of_transformers(tiny_model: Path) -> None:
    from transformers import AutoTokenizer

    reference, name = AutoTokenizer.from_pretrained(tiny_model), str(tiny_model)
    pieces = ["key", "##ing", "[MASK]", "a"]
    ids = ids_of(pieces, model=name)
    assert list(ids) == reference.convert_tokens_to_ids(pieces)
    decoding = decode(ids, model=name)
    assert (
        [entry.piece for entry in decoding.entries]
        == reference.convert_ids_to_tokens(list(ids))
        == pieces
    )
    assert [entry.word for entry in decoding.entries] == ["key", "ing", "[MASK]", "a"]
    assert decoding.text == reference._tokenizer.decode(list(ids), skip_special_tokens=False)
    summary = vocabulary(name)
    assert (summary.kind, summary.entries) == ("WordPiece", len(reference.get_vocab()))
    with pytest.raises(InputError, match=r"no entry 'keyed'. The tokenizer splits 'keyed' into key ##ed"):
        ids_of(["keyed"], model=name)
    for number in (-1, 99_999):
        with pytest.raises(InputError, match=f"no ID {number}. IDs range from 0 to"):
            decode([number], model=name)


def test_the_real_model_has_the_vocabulary_of_bert(real: search.Encoder) -> None:
    summary = vocabulary(offline=True)
    assert (summary.entries, summary.continuing, summary.characters) == (30522, 5828, 997)
    assert [entry.id for entry in summary.special] == [0, 100, 101, 102, 103]
    assert decode([101, 8254, 2319, 102], offline=True).text == "[CLS] sinan [SEP]"


def test_the_cased_vocabulary_has_its_published_size() -> None:
    result = tokenize("a", model=named_checkpoint("bert-base-cased"))
    assert result.vocabulary == figures()["parameters"]["bert-base-cased vocabulary"]
