from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from search.corpus.windows import safe_stop, spans


class Words:
    """A splitter that is easy to foresee: two words a chunk."""

    def chunk_indices(self, text: str) -> list[tuple[int, str]]:
        starts = [i for i, c in enumerate(text) if not c.isspace() and (i == 0 or text[i - 1].isspace())][::2]
        return [
            (start, text[start:stop].rstrip())
            for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)
        ]


def test_a_window_decides_no_span_but_its_last() -> None:
    text = "aa bb cc dd ee ff gg hh ii"
    found = [text[start:end] for start, end in spans(Words(), text, 0, len(text), 14)]
    assert found == ["aa bb ", "cc dd ", "ee ff ", "gg hh ", "ii"]


@given(
    st.text(st.sampled_from("ab. \n漢é\u0301👍🏽\u200d"), max_size=200), st.integers(4, 40), st.integers(1, 9)
)
def test_spans_follow_each_other_and_fit_the_window(text: str, window: int, capacity: int) -> None:
    found = list(spans(TextSplitter(capacity), text, 0, len(text), window))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= window for start, end in found)


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(0, 8))
def test_with_overlap_nothing_is_between_spans(text: str, overlap: int) -> None:
    found = list(spans(TextSplitter(9, overlap=overlap), text, 0, len(text), 30))
    covered = {at for start, end in found for at in range(start, end)}
    assert covered == set(range(len(text)))
    assert [start for start, _ in found] == sorted({start for start, _ in found})


def test_where_a_window_ends() -> None:
    assert safe_stop("one two\nthree four", 0, 12) == 8
    assert safe_stop("one two three", 0, 10) == 8
    assert safe_stop("x" * 20, 0, 10) == 10
    assert safe_stop("xxxxxxxxe\u0301e\u0301", 0, 9) == 8
    assert safe_stop("xxxxx👩\u200d👩\u200d👧xxx", 0, 8) == 5
    assert safe_stop("xxxxxx👍🏽x", 0, 7) == 6
    assert safe_stop("xxxxxxx\r\nx", 0, 8) == 7
