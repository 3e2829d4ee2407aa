"""Names and docstrings are plain; see tests/wording.py."""

from pathlib import Path

import pytest

from tests.wording import Wording, measured


@pytest.fixture(scope="module")
def wording() -> Wording:
    return measured()


@pytest.fixture(scope="module")
def wording_of_tests() -> Wording:
    return measured(Path(__file__).parent)


def test_docstrings_begin_with_a_noun_or_a_verb(wording: Wording) -> None:
    assert wording.docstrings > 1000
    assert wording.relative == []


def test_no_name_is_a_participle_or_a_pronoun(wording: Wording) -> None:
    assert wording.names == []


def test_a_name_says_which_class_or_module_it_is(wording: Wording) -> None:
    assert wording.repeated_classes == []
    assert wording.repeated_modules == []


def test_tests_speak_the_language_of_the_code(wording_of_tests: Wording) -> None:
    assert wording_of_tests.names == []
    assert wording_of_tests.relative == []
