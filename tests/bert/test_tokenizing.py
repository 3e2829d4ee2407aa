"""Tokens and words as the model gets them."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.bert import tokenize
from search.encoding import Encoder
from search.encoding.tokenizer import load_tokenizer
from tests.bert.conftest import named_checkpoint
from tests.bert.test_inspecting import figures

EVIL = "<script>alert(1)</script> שלום مرحبا 🎉 \x1b[31m\x00 \u202eevil &amp; keys"


def test_reference_ids(real: Encoder) -> None:
    for text, ids in figures()["token_ids"].items():
        assert [token.id for token in tokenize(text, offline=True).tokens] == ids, text


def test_reference_pair(real: Encoder) -> None:
    pair = figures()["pair"]
    tokens = tokenize(pair["a"], pair["b"], offline=True).tokens
    assert [token.id for token in tokens] == pair["input_ids"]
    assert [token.segment for token in tokens] == pair["token_type_ids"]
    assert [token.source for token in tokens] == [None, 0, 0, 0, 0, None, 1, 1, 1, 1, 1, None]
    assert {token.attended for token in tokens} == {1}


def test_splits_and_unknown_words(real: Encoder) -> None:
    found = tokenize("A snowboarding ☃!", offline=True)
    assert found.vocabulary == 30522
    words = [
        (word.text, [found.tokens[i].text for i in word.tokens], word.split, word.unknown)
        for word in found.words
    ]
    assert words == [
        ("A", ["a"], False, False),
        ("snowboarding", ["snow", "##boarding"], True, False),
        ("☃", ["[UNK]"], False, True),
        ("!", ["!"], False, False),
    ]
    assert [token.unknown for token in found.tokens] == [False, False, False, False, True, False, False]


def test_a_mask_that_is_written_in_the_text_is_no_special_token_of_the_tokenizer(real: Encoder) -> None:
    tokens = tokenize("the [MASK] door", offline=True).tokens
    assert (tokens[2].text, tokens[2].id, tokens[2].special, (tokens[2].start, tokens[2].end)) == (
        "[MASK]", 103, False, (4, 10),
    )  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(str.strip),
    st.sampled_from(["", EVIL]),
)
def test_offsets_point_into_the_texts(tiny_model: Path, text: str, text2: str) -> None:
    found = tokenize(text, text2 or None, model=str(tiny_model))
    for token in found.tokens:
        if token.source is None:
            assert (token.special, token.start, token.end) == (True, 0, 0)
        else:
            assert 0 <= token.start < token.end <= len(found.texts[token.source])
    for word in found.words:
        assert word.text == found.texts[word.source][word.start : word.end]
        assert {found.tokens[i].source for i in word.tokens} == {word.source}
    assert sum(len(word.tokens) for word in found.words) == sum(not token.special for token in found.tokens)


def test_a_tokenizer_that_can_spell_everything_has_no_unknown_words(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    from search.bert.tokenizing import tokenized

    spelling = pre_tokenizers.ByteLevel.alphabet()
    made = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(spelling))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(tmp_path / "tokenizer.json"))
    found = tokenized(load_tokenizer(tmp_path, "bytes"), "a ☃", None, "bytes")
    assert not any(token.unknown for token in found.tokens)
    assert all(found.texts[0][t.start : t.end] == "☃" for t in found.tokens[-3:])


def test_published_cased_vocabulary() -> None:
    found = tokenize("a", model=named_checkpoint("bert-base-cased"))
    assert found.vocabulary == figures()["parameters"]["bert-base-cased vocabulary"]
