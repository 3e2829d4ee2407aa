"""Ranking in the page (whatif.js) equals that of the index, whenever the page says that it is exact."""

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
def random_index(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> search.Index:
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


def random_change(rng: random.Random, pool: Candidates) -> dict[str, Any]:
    """Random options for a query that has candidates."""
    options: dict[str, Any] = {"k": rng.choice([1, 5, 10, 30])}
    if pool.mode == "hybrid" and rng.random() < 0.6:
        options["weight"] = rng.choice([0, 1, rng.random(), rng.random()])
    if rng.random() < 0.4:
        options |= {"per_document": rng.choice([0, 1, 2]), "all_copies": rng.random() < 0.5}
        options["min_score"] = rng.choice([None, 0.2, 0.5, 0.8])
    return options


def test_what_if_equals_what_the_server_ranks(
    browser: webdriver.Chrome, random_index: search.Index
) -> None:
    """For 100 random changes of 20 queries."""
    rng = random.Random(5)
    cases: list[tuple[str, dict[str, Any], Candidates, dict[str, Any]]] = []
    for number in range(20):
        text = " ".join(rng.sample(WORDS, rng.randint(1, 6)))
        options: dict[str, Any] = {"mode": rng.choice(["hybrid"] * 6 + ["dense", "lexical"])}
        options["where"] = rng.choice([None, None, "path:1*.md", "path:7.md"])
        if options["mode"] == "hybrid":
            options["weight"] = rng.choice([None, None, 0, 0.3, 0.97, 1])
        pool = searcher_of(random_index).candidates(text, rng.choice([30, 100]), **options)
        if number % 3 == 0 and pool.terms:
            options["without"] = [rng.choice(pool.terms)]
            pool = searcher_of(random_index).candidates(text, 60, **options)
        cases += [(text, options, pool, random_change(rng, pool)) for _ in range(5)]
    call = "return JSON.stringify(arguments[0].map(([pool, wanted]) => whatIf(pool, wanted)));"
    arguments = [[plain(pool), change] for *_, pool, change in cases]
    answers = json.loads(browser.execute_script(SCRIPT + call, arguments))
    exact = different = 0
    for (text, options, _, change), answer in zip(cases, answers, strict=True):
        hits = random_index.query(text, **(options | change))
        same = (answer["ids"], answer["scores"]) == (
            [h.passage_id for h in hits],
            [h.score for h in hits],
        )
        assert same or not answer["exact"], (text, options, change)
        exact += answer["exact"]
        different += not same
    print(
        f"exact without asking again: {exact} of {len(cases)}; of the others {different} are not what is ranked"
    )
    assert any(candidate.copied is not None for *_, pool, _ in cases for candidate in pool.pool)
    assert len(cases) == 100 and exact >= 75
    assert different  # so it would be wrong to say that all are exact


def test_an_empty_change_gives_the_hits_of_the_query(
    browser: webdriver.Chrome, random_index: search.Index
) -> None:
    pool = searcher_of(random_index).candidates(
        "turn the key and the lock", 50, weight=0.6, without=["key"]
    )
    answer = browser.execute_script(f"{SCRIPT} return whatIf(arguments[0]);", plain(pool))
    hits = random_index.query("turn the key and the lock", weight=0.6, without=["key"])
    assert answer == {
        "ids": [h.passage_id for h in hits],
        "scores": [h.score for h in hits],
        "exact": True,
    }
