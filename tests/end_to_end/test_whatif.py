"""What a page ranks again by itself (whatif.js) is what the index would have ranked, whenever it says so."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import search
from search.index import searcher_of
from search.render.json import plain
from tests.conftest import LONG, REPOSITORY, WORDS

if TYPE_CHECKING:
    from selenium import webdriver

    from search.ranking.words import Candidates

SCRIPT = (REPOSITORY / "search/render/page/whatif.js").read_text(encoding="utf-8").replace("export ", "")
LICENCE = (
    "many people may use their own key to open the door and turn the lock as they like if they call the "
    "other people first and then write down the day and the time of it in the long file of all numbers"
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> search.Index:
    """Twenty documents of fifty passages of random words; half of them have the same text at the end."""
    rng = random.Random(19)
    folder = tmp_path_factory.mktemp("drawn")
    shares = [1 / (number + 1) for number in range(len(WORDS))]
    for number in range(20):
        texts = [" ".join(rng.choices(WORDS, shares, k=rng.randint(3, 20))) + LONG for _ in range(50)]
        texts += [LICENCE] * (number % 2)
        sections = [f"# Part {i}\n\n{text}." for i, text in enumerate(texts)]
        (folder / f"{number}.md").write_text("\n\n".join(sections), encoding="utf-8")
    return search.Index.build(folder, model=str(tiny_model), index=str(folder.with_name("drawn-index")))


def drawn_change(rng: random.Random, pool: Candidates) -> dict[str, Any]:
    """What might be wanted instead."""
    wanted: dict[str, Any] = {"k": rng.choice([1, 5, 10, 30])}
    if pool.mode == "hybrid" and rng.random() < 0.6:
        wanted["weight"] = rng.choice([0, 1, rng.random(), rng.random()])
    if pool.terms and rng.random() < 0.6:
        wanted["without"] = rng.sample(
            pool.terms, rng.choice([0, 1, 1, 2, len(pool.terms)]) % (len(pool.terms) + 1)
        )
    if rng.random() < 0.4:
        wanted |= {"per_document": rng.choice([0, 1, 2]), "all_copies": rng.random() < 0.5}
        wanted["min_score"] = rng.choice([None, 0.2, 0.5, 0.8])
    return wanted


def test_what_if_equals_what_the_server_ranks(browser: webdriver.Chrome, drawn: search.Index) -> None:
    """For 100 random changes of 20 queries."""
    rng = random.Random(5)
    asked: list[tuple[str, dict[str, Any], Candidates, dict[str, Any]]] = []
    for number in range(20):
        text = " ".join(rng.sample(WORDS, rng.randint(1, 6)))
        options: dict[str, Any] = {"mode": rng.choice(["hybrid"] * 6 + ["dense", "lexical"])}
        options["where"] = rng.choice([None, None, "path:1*.md", "path:7.md"])
        if options["mode"] == "hybrid":
            options["weight"] = rng.choice([None, None, 0, 0.3, 0.97, 1])
        pool = searcher_of(drawn).candidates(text, rng.choice([30, 100]), **options)
        if number % 3 == 0 and pool.terms:
            options["without"] = [rng.choice(pool.terms)]
            pool = searcher_of(drawn).candidates(text, 60, **options)
        asked += [(text, options, pool, drawn_change(rng, pool)) for _ in range(5)]
    call = "return JSON.stringify(arguments[0].map(([pool, wanted]) => whatIf(pool, wanted)));"
    given = [[plain(pool), wanted] for *_, pool, wanted in asked]
    answers = json.loads(browser.execute_script(SCRIPT + call, given))
    exact = different = 0
    for (text, options, _, wanted), answer in zip(asked, answers, strict=True):
        hits = drawn.query(text, **(options | wanted))
        same = (answer["ids"], answer["scores"]) == (
            [h.passage_id for h in hits],
            [h.score for h in hits],
        )
        assert same or not answer["exact"], (text, options, wanted)
        exact += answer["exact"]
        different += not same
    print(
        f"exact without asking again: {exact} of {len(asked)}; of the others {different} are not what is ranked"
    )
    assert any(one.copied is not None for *_, pool, _ in asked for one in pool.pool)
    assert len(asked) == 100 and exact >= 75
    assert different  # so it would be wrong to say that all are exact


def test_a_change_of_nothing_is_what_was_asked_for(
    browser: webdriver.Chrome, drawn: search.Index
) -> None:
    pool = searcher_of(drawn).candidates("turn the key and the lock", 50, weight=0.6, without=["key"])
    answer = browser.execute_script(f"{SCRIPT} return whatIf(arguments[0]);", plain(pool))
    hits = drawn.query("turn the key and the lock", weight=0.6, without=["key"])
    assert answer == {
        "ids": [h.passage_id for h in hits],
        "scores": [h.score for h in hits],
        "exact": True,
    }
