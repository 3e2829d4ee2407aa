"""Words are the same whichever way they are looked for."""

import random

from search.store.terms import words

FAR = "\u05d0"  # a word that only the careful way looks for


def test_words_of_latin_texts_are_those_that_are_found_letter_by_letter() -> None:
    blocks = ((0, 0x2FF), (0x370, 0x482), (0x48A, 0x590), (0x2000, 0x20CF), (0x2100, 0x2BFF))
    near = [chr(code) for first, last in blocks for code in range(first, last + 1)]
    drawn = random.Random(0)
    texts = [f"a{one}B {one}{one}1" for one in near]
    texts += ["".join(drawn.choices([*"aZ9_ é\u2019", *near], k=20)) for _ in range(500)]
    for text in texts:
        *slowly, last = words(f"{text} {FAR}")
        assert last == (len(text) + 1, len(text) + 2)
        assert list(words(text)) == slowly


def test_marks_and_ideographs_are_found_in_others() -> None:
    assert list(words("e\u0301a 中文b")) == [(0, 3), (4, 5), (5, 6), (6, 7)]
