"""Ways to ask, as people write them."""

import pytest

from search.errors import InputError
from search.evaluating.asking import settings_of
from search.records.evaluations import Setting

KEYWORDS = ("per_document", "mode", "weight", "rerank")


def test_a_mode_and_keywords() -> None:
    found = settings_of(["dense", "hybrid, weight=0.5,rerank=late", "hybrid,rerank=null"], KEYWORDS)
    assert found == (
        Setting("dense", {"mode": "dense"}),
        Setting("hybrid, weight=0.5,rerank=late", {"mode": "hybrid", "weight": 0.5, "rerank": "late"}),
        Setting("hybrid,rerank=null", {"mode": "hybrid", "rerank": None}),
    )
    assert type(found[1].options["weight"]) is float


def test_nothing_asked_for_is_the_default() -> None:
    assert settings_of([], KEYWORDS) == (Setting("hybrid", {}),)


def test_a_setting_is_asked_once() -> None:
    assert [one.name for one in settings_of(["dense", "lexical", "dense"], KEYWORDS)] == ["dense", "lexical"]


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (
            "dense,wieght=1",
            "'wieght' in the setting 'dense,wieght=1' is no keyword that counts here; there are: mode",
        ),
        ("dense,k=5", "'k' in the setting"),
        ("dense,per_document=1", "'per_document' in the setting"),
        ("weight=1", "must begin with a mode"),
        ("", "must begin with a mode"),
        ("dense,weight", "must be a keyword and its value"),
    ],
)
def test_what_cannot_be_asked(asked: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        settings_of([asked], KEYWORDS)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("dense,weight=foo", "'weight' in the setting 'dense,weight=foo' takes a number, not 'foo'"),
        ("dense,weight=true", "takes a number, not True"),
        ("dense,rerank=5", "takes a text, not 5"),
        ("dense,phrases=7", "takes true or false, not 7"),
    ],
)
def test_a_value_of_another_kind_is_refused(asked: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        settings_of([asked], (*KEYWORDS, "phrases"))
    assert settings_of(["dense,weight=null"], KEYWORDS)[0].options["weight"] is None
