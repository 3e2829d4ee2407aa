from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from search.corpus.counting import TokenCounter, goes_by_words

from .conftest import TOKENIZERS, word_piece

# What is white space to one and none to another, is dropped, is put together, or is a token by its own name.
ODD = "\x00\x0b\x0c\x1c\x85\xa0\u0301\u200b\u200d\u2028\u3000\ufeff\ufffdÅİ漢字\U0001f1e9"
TEXTS = st.lists(
    st.sampled_from(
        [*"ab.,-=_'# \t\n\r", *ODD, "the", "heading", "[SEP]", "[SEP", "[UNK] ", "a" * 99, "\r\n"]
    ),
    max_size=40,
).map("".join)


def reference(tokenizer: Tokenizer, text: str) -> int:
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.no_truncation()
    plain.no_padding()
    return len(plain.encode(text, add_special_tokens=False).ids)


def lowercase_first() -> Tokenizer:
    tokenizer = word_piece()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), tokenizer.normalizer])
    tokenizer.add_special_tokens(["[SEP]", AddedToken("[UNK]", lstrip=True, rstrip=True)])
    return tokenizer


COUNTERS = {
    name: (one, TokenCounter(one)) for name, one in {**TOKENIZERS, "lower": lowercase_first()}.items()
}


@settings(deadline=None, max_examples=150)
@given(st.lists(TEXTS, max_size=4))
def test_as_many_tokens_as_the_tokenizer_makes_of_each_text(texts: list[str]) -> None:
    for tokenizer, counter in COUNTERS.values():
        expected = [reference(tokenizer, text) for text in texts]
        assert list(counter.counts(texts)) == expected
        assert [counter.count(text) for text in texts] == expected


def test_only_new_words_are_tokenised_where_a_text_has_as_many_tokens_as_its_words() -> None:
    counter = TokenCounter(word_piece())
    for _ in range(3):
        assert counter.count("the cat, the heading") == 1 + 4 + 1 + 1
        assert list(counter.counts(["the cat,"])) == [5]
    assert counter._of_word.cache_info().misses == 3


def test_long_words_are_not_kept() -> None:
    counter = TokenCounter(word_piece())
    assert counter.count("- " * 200 + "a-" * 200) == 600
    assert counter._of_word.cache_info().currsize == 0


def test_which_tokenizers_go_by_words() -> None:
    assert [name for name, (one, _) in COUNTERS.items() if goes_by_words(one)] == ["word_piece", "lower"]
    spaced, split = word_piece(), word_piece()
    spaced.add_tokens(["the heading"])
    split.pre_tokenizer = pre_tokenizers.Split("heading", "isolated")
    assert not goes_by_words(spaced)
    assert not goes_by_words(split)
