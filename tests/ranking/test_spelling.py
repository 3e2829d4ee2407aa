"""Words that no passage has are named: identifiers, and misspelt words with the word that was meant."""

from pathlib import Path

import pytest

from search import Encoder, Index
from search.index import searcher_of
from search.ranking.spelling import Absence
from tests.conftest import Run


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    of_letters = Index.create(str(tmp_path / "letters"), encoder=tiny)
    of_letters.upsert(
        [
            {"id": "a", "text": "The rent is due, and the deposit was paid."},
            {"id": "b", "text": "The rents of the city. Code E_QUOTA_4012."},
            {"id": "c", "text": "Renate has the deposit. Renate has the key. Renate is here."},
        ]
    )
    return of_letters


@pytest.mark.parametrize(
    ("query", "word", "near"),
    [
        ("rentt due", "rentt", "rent"), ("the depositt", "depositt", "deposit"), ("depsoit", "depsoit", "deposit"),
        ("Deposot", "Deposot", "deposit"), ("eposit", "eposit", "deposit"),
    ],
)  # fmt: skip
def test_a_misspelt_word_has_a_near_one(index: Index, query: str, word: str, near: str) -> None:
    assert searcher_of(index).absences(query) == [Absence(word, near)]


def test_an_identifier_that_is_not_there_is_named(index: Index) -> None:
    absent = [Absence("E_QUOTA_4021", is_identifier=True)]
    assert searcher_of(index).absences("E_QUOTA_4021") == absent
    assert searcher_of(index).absences("what is E_QUOTA_4021?") == absent
    assert searcher_of(index).absences("what is E_QUOTA_4012?") == []


@pytest.mark.parametrize("query", ["rent", "renting", "zebra", "hte due", "rents and deposits", "12345"])
def test_other_words_are_not_named(index: Index, query: str) -> None:
    assert [absence.word for absence in searcher_of(index).absences(query) if absence.near] == []


def test_the_printed_command_works(run: Run, indexed: Path) -> None:
    status, _, error = run("query", "doorr", "-k", "1", "-i", str(indexed))
    assert status == 0
    assert f"no passage has 'doorr'. Did you mean: seewhy query door --index {indexed}" in error


def test_an_identifier_that_is_not_there_is_named_once(run: Run, indexed: Path) -> None:
    _, out, error = run("query", "E_QUOTA_4021", "-i", indexed)
    assert out.splitlines()[-1] == "E_QUOTA_4021: not in your files" and "no passage has" not in error
    for options in (("--json",), ("-m", "lexical")):
        _, _, error = run("query", "E_QUOTA_4021", "-i", indexed, *options)
        assert "no passage has 'E_QUOTA_4021'." in error
