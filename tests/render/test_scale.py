"""How high scores are, in words."""

import pytest

from search.records.hits import Hit
from search.records.options import Ranking
from search.records.reports import RandomPairs
from search.render import hits
from search.render.format import hub_warning, percentile_of, percentiles_of, random_pairs


def hit(rank: int, percentile: float | None, hub: float | None = None) -> Hit:
    return Hit(
        rank=rank, score=0.5, cosine=0.5, lexical=0.5, ranking=Ranking.of(), path="/a.txt", document="a.txt", title="",
        heading="", text="text", start=0, end=4, line_start=1, line_end=1, passage_id=800 + rank, percentile=percentile,
        random_pairs=0 if percentile is None else 2000, hub=hub,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("percentiles", "said"),
    [
        ([100.0], "Hit 1 scores above all of 2,000 random pairs."),
        ([99.95], "Hit 1 scores above 99.9 % of 2,000 random pairs."),
        ([100.0, 99.0], "Hit 1 scores above all of 2,000 random pairs, hit 2 above 99 %."),
        ([100.0, 100.0, 98.65], "Hits 1-2 score above all of 2,000 random pairs, hit 3 above 98.6 %."),
        ([100.0, 100.0], "Hits 1-2 score above all of 2,000 random pairs."),
        (
            [95.85, 94.9, 94.0, 45.1],
            "Hit 1 scores above 95.8 % of 2,000 random pairs, hit 4 above 45.1 %; from hit 2 on less than 95 %.",
        ),
        ([99.0, 96.0, 60.0], "Hit 1 scores above 99 % of 2,000 random pairs, hit 3 above 60 %."),
        ([12.3, 0.0], "Hit 1 scores above 12.3 % of 2,000 random pairs, hit 2 above 0 %."),
        ([100.0, None], ""),
        ([], ""),
    ],
)
def test_a_ranking_in_one_sentence(percentiles: list[float | None], said: str) -> None:
    assert percentiles_of([hit(rank, share) for rank, share in enumerate(percentiles, 1)]) == said


def test_one_hit() -> None:
    assert percentile_of(hit(1, 99.8)) == "above 99.8 % of 2,000 random pairs"
    assert percentile_of(hit(1, 57.5)) == "above 57.5 % of 2,000 random pairs"
    assert percentile_of(hit(1, 100.0)) == "above all of 2,000 random pairs"
    assert percentile_of(hit(1, None)) == ""


def test_hits_with_a_hub_at_80_columns() -> None:
    drawn = hits.hits([hit(1, 100.0), hit(2, 98.0, hub=14.2)])
    assert drawn == (
        " 1  0.500  /a.txt:1  p801\n   1  text\n\n"
        " 2  0.500  /a.txt:1  p802\n   1  text\n"
        "    p802 comes up for 14 % of random queries: it may be here for its style, not\n"
        "    for your question\n\n"
        "Hit 1 scores above all of 2,000 random pairs, hit 2 above 98 %."
    )
    assert hits.hits([hit(1, 100.0)], quiet=True) == " 1  0.500  /a.txt:1  p801\n   1  text"


def test_a_hub_above_all_random_pairs_is_there_for_the_question() -> None:
    assert hub_warning(hit(1, 99.9, hub=14.2)).startswith("p801 comes up for 14 % of random queries")
    assert hub_warning(hit(1, 100.0, hub=14.2)) == ""
    assert hub_warning(hit(1, None, hub=14.2))
    assert hub_warning(hit(1, 99.9)) == ""


def test_hits_of_an_index_without_a_sample_say_nothing_of_it() -> None:
    assert hits.hits([hit(1, None)]) == " 1  0.500  /a.txt:1  p801\n   1  text"


def test_the_spread() -> None:
    assert random_pairs(RandomPairs(2000, 0.75, 0.126, 0.3275, 0.437)) == (
        "median 0.13, 95 % below 0.33, 99 % below 0.44 (2,000 pairs)"
    )
    assert random_pairs(None).startswith("no sample")
