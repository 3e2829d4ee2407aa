"""Identifiers are recognised by their form, and the passages that contain one come first."""

from pathlib import Path

import pytest

from search import Encoder, Index
from search.ranking.identifiers import is_identifier, weight_for, with_identifiers


@pytest.mark.parametrize(
    "word",
    [
        "NLF-88301-Q", "HOM-77120934", "CVE-2025-32464", "E_QUOTA_4012", "E18", "SC2086", "wal_autocheckpoint",
        "FST_ERR_NOT_FOUND", "__init__", "Aptitude::ProblemResolver", "--skip-systemctl-redirect",
        "asyncio.gather", "jail.conf", "strlen()", "/etc/hosts", "usr/share/doc", "~/notes/rent.md", "getUserName",
        "NoSuchFileError", "77120934", "978-3-16-148410-0", "60-4471-228", "DE02120300000000202051", "HTTP/3",
    ],
)  # fmt: skip
def test_a_code_is_an_identifier(word: str) -> None:
    assert is_identifier(word)


@pytest.mark.parametrize(
    "word",
    [
        "deposit", "up-to-date", "e.g", "24-yard", "3rd-and-9", "2-point", "iPad", "GitHub", "PyPI", "USA", "2024",
        "2024-03-12", "3.10", "10:30", "and/or", "he/she", "don't", "x", "A4", "Müller-Lüdenscheidt", "--key",
        "self-employed",
    ],
)  # fmt: skip
def test_a_word_is_no_identifier(word: str) -> None:
    assert not is_identifier(word)


def test_identifiers_that_occur_are_quoted_and_the_others_named() -> None:
    text, identifiers = with_identifiers(
        'what is "E_QUOTA_1" or E_QUOTA_4012, and (CVE-2025-32464)?', lambda word: word.startswith("CVE")
    )
    assert text == 'what is "E_QUOTA_1" or E_QUOTA_4012, and ("CVE-2025-32464")?'
    assert identifiers.present == ("CVE-2025-32464",)
    assert identifiers.missing == ("E_QUOTA_4012",)
    assert weight_for(text) == 0.5  # there are other words


def test_keywords_weigh_more_with_identifiers_and_most_if_they_are_alone() -> None:
    assert weight_for('"NLF-88301-Q", "E18"') == 0.25
    assert weight_for('where is "NLF-88301-Q"') == 0.5
    assert weight_for('"the dentist"') is weight_for("NLF-88301-Q") is None


def test_passages_with_the_identifier_come_first(real: Encoder, tmp_path: Path) -> None:
    index = Index.create(str(tmp_path / "codes"), encoder=real)
    index.upsert(
        [
            {"id": "chat", "text": "Anna: the insurance wants to know the number\nViktor: NLF-88301-Q, I think. " * 3},
            {"id": "contact", "text": "Dr Q. Nilsen, phone 0451-88301, fax NLF 0451-88302, Q-Street 5"},
            {"id": "numbers", "text": "88301, 88302, 88303, NLF, Q"},
            *({"id": f"other{i}", "text": f"Row {i} of many others about the house and its garden."} for i in range(9)),
        ]
    )  # fmt: skip
    hits = index.query("NLF-88301-Q", k=12, explain=True)
    assert hits[0].document == "chat"
    assert all(not hit.lexical for hit in hits[1:])
    assert hits[0].explanation
    assert [term.term for term in hits[0].explanation.terms] == ["NLF-88301-Q"]
    assert sum(hits[0].addends.values()) == pytest.approx(hits[0].score, abs=1e-6)
    assert index.query("what is NLF-88301-Q", k=1)[0].document == "chat"
    assert index.query("what is NLF-88301-X", k=1)[0].lexical  # its parts are keywords
