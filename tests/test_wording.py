"""Names and docstrings are plain; see tests/wording.py."""

import pytest

from tests.wording import Wording, measured

# Names that users type or read as keys of JSON, in the order of their modules.
PUBLIC = {"what", "made", "shown", "found", "said"}
MOST_PUBLIC = 15


@pytest.fixture(scope="module")
def wording() -> Wording:
    return measured()


def test_docstrings_begin_with_a_noun_or_a_verb(wording: Wording) -> None:
    assert wording.docstrings > 1000
    assert wording.relative == []


def test_no_name_is_a_participle_or_a_pronoun(wording: Wording) -> None:
    names = [place.split()[-1] for place in wording.names]
    assert set(names) <= PUBLIC and len(names) <= MOST_PUBLIC, wording.names


def test_a_name_says_which_class_or_module_it_is(wording: Wording) -> None:
    assert wording.repeated_classes == ["SeewhyRetriever"]  # one for each framework
    assert wording.repeated_modules == []
