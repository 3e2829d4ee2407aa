"""Rankings that look for words beside those of the query: the addends, and what they sum to."""

from dataclasses import replace
from pathlib import Path

import pytest

from search import Index
from search.explaining.explainer import Explainer
from search.ranking import Asked, Ranking, Selection, ranked
from search.records.hits import Expansion, Hit

QUERY = "find the zebra"
WORDS = (Expansion("water", "zebra", 9, 14, 0.3), Expansion("doors", "zebra", 9, 14, 0.2))


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    return Index.build(notes, model=str(tiny_model))


def hits_of(index: Index, ranking: Ranking) -> list[Hit]:
    asked = Asked(QUERY, index.encoder.encode([QUERY], role="query")[0] if ranking.by_meaning else None)
    return ranked(index._vectors, asked, ranking, Selection.of(50))


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_what_is_looked_for_beside_a_word_is_an_addend(index: Index, mode: str) -> None:
    ranking = replace(Ranking.of(mode), expansions=WORDS)
    hits = hits_of(index, ranking)
    plain = {hit.passage_id for hit in hits_of(index, Ranking.of(mode))}
    assert all(hit.expansions == WORDS for hit in hits)
    with_water = [hit for hit in hits if "water" in hit.text.lower()]
    with_door = [hit for hit in hits if "door" in hit.text.lower()]  # "doors" has the same stem
    assert with_water and with_door
    if mode == "lexical":
        assert {hit.passage_id for hit in hits} > plain
    for hit, why in zip(hits, index.explain_all(QUERY, hits), strict=True):
        assert why.audit.addends == pytest.approx(hit.score, abs=1e-6)
        assert why.score == hit.score and abs(why.residual) < 1e-6
        found = {term.term: term for term in why.terms if term.kind == "expansion"}
        assert ("zebra → water" in found) == (hit in with_water)
        assert ("zebra → doors" in found) == (hit in with_door)
        for term in found.values():
            assert term.contribution > 0 and QUERY[term.start : term.end] == "zebra"
            place = term.places[0]
            source = hit.text if place.part == "text" else hit.context
            assert source[place.start : place.end].lower().startswith(term.term.split(" ")[-1][:4])


def test_an_expansion_counts_its_weight_of_what_the_word_would_count(index: Index) -> None:
    """The ratio of two addends in one passage is that of BM25 times the weight."""
    typed = "zebra water"
    asked = Asked(typed, None)
    full = {
        hit.passage_id: hit.score
        for hit in ranked(index._vectors, asked, Ranking.of("lexical"), Selection.of(50))
    }
    both = replace(Ranking.of("lexical"), expansions=(Expansion("lock", "zebra", 0, 5, 0.25),))
    found = ranked(index._vectors, asked, both, Selection.of(50))
    explainer = Explainer(index.path, index._vectors, index.encoder, typed, both)
    alone = {
        hit.passage_id: hit.score
        for hit in ranked(index._vectors, Asked("lock", None), Ranking.of("lexical"), Selection.of(50))
    }
    sums = {}
    for why, hit in zip(explainer.explain(found), found, strict=True):
        parts = {term.term: term.contribution for term in why.terms}
        assert set(parts) <= {"water", "zebra → lock"}
        assert ("water" in parts) == (hit.passage_id in full)
        assert ("zebra → lock" in parts) == (hit.passage_id in alone)
        sums[hit.passage_id] = parts
    some = [parts["zebra → lock"] / alone[id_] for id_, parts in sums.items() if "zebra → lock" in parts]
    other = [parts["water"] / full[id_] for id_, parts in sums.items() if "water" in parts]
    assert some and other
    assert max(some) == pytest.approx(min(some)) and max(other) == pytest.approx(min(other))


def test_words_of_the_query_are_not_counted_twice(index: Index) -> None:
    same = replace(Ranking.of("hybrid"), expansions=(Expansion("finding", "zebra", 9, 14, 0.5),))
    plain = hits_of(index, Ranking.of("hybrid"))
    assert [hit.score for hit in hits_of(index, same)] == [hit.score for hit in plain]


def test_what_is_not_in_the_index_changes_nothing(index: Index) -> None:
    absent = replace(Ranking.of("hybrid"), expansions=(Expansion("quagga", "zebra", 9, 14, 0.5),))
    assert [hit.score for hit in hits_of(index, absent)] == [
        hit.score for hit in hits_of(index, Ranking.of("hybrid"))
    ]
