"""Sentences of a passage that answer a query."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import Encoder
from search.ranking.sentences import AnsweringSentences, by_keywords, by_meaning, sentence_spans
from search.records.explanations import Highlight


@given(st.text(alphabet="ab .!?\n-:é。", max_size=300), st.integers(min_value=4, max_value=80))
def test_sentences_cover_every_character_but_white_space(text: str, most: int) -> None:
    spans = sentence_spans(text, most)
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())
    assert all(0 < end - start <= most for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("A wrapped\nline. Next", ["A wrapped\nline.", "Next"]),
        ("- item\n- other\n\nend", ["- item", "- other", "end"]),
        ("Version 3.10 is old.", ["Version 3.10 is old."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
    ],
)
def test_sentences_end_where_a_reader_would_stop(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text, 100)] == sentences


def test_the_nearest_sentence_is_in_the_span_with_its_nearer_neighbours(real: Encoder) -> None:
    text = (
        "The station has a cafe. The ferry leaves at seven in the morning. It carries cars and bicycles. "
        "Tickets are sold on board. The museum is closed on Mondays. Bread costs two coins."
    )
    (query,) = real.encode(["when does the boat depart"], role="query")
    sentences = AnsweringSentences([text, "short"], by_meaning(real, query, [text, "short"]))
    (start, end), short = sentences.spans(90)
    assert text[start:end] == "The ferry leaves at seven in the morning. It carries cars and bicycles."
    assert short == (0, 5) and sentences.spans(1_000) == [(0, len(text)), (0, 5)]


def test_a_span_is_never_longer_than_asked(tiny: Encoder) -> None:
    texts = ["word " * 300, "x" * 900, "One. " * 200]
    query = np.ones(tiny.dimension, dtype=np.float32)
    sentences = AnsweringSentences(texts, by_meaning(tiny, query, texts))
    for most in (120, 600, 20):
        assert all(0 < end - start <= most for start, end in sentences.spans(most))


def test_without_a_model_the_sentence_with_most_of_the_words_answers() -> None:
    text = "The station has a cafe. The ferry leaves at seven. Bread costs two coins."
    marks = [Highlight(28, 33, 0.4), Highlight(55, 60, 0.1)]
    ((start, end),) = AnsweringSentences([text], by_keywords([marks])).spans(30)
    assert text[start:end] == "The ferry leaves at seven."
