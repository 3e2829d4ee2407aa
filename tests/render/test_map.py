"""The map on a page: marks, names that do not overlap, and links of topics."""

from __future__ import annotations

import random

from search.records.document_map import DocumentMap, GroupedBy, MapPoint
from search.render.page.hit_list import PageRequest
from search.render.page.map import HEIGHT, WIDTH, map_groups, position


def map_of(
    names: list[str], grouped_by: GroupedBy = "topic", documents: int = 0, seed: int = 0
) -> DocumentMap:
    rng = random.Random(seed)
    points = tuple(
        MapPoint(i + 1, f"d{i}", "", names[i % len(names)], rng.uniform(-1, 1), rng.uniform(-1, 1))
        for i in range(64)
    )
    groups = {name: sum(point.group == name for point in points) for name in names}
    return DocumentMap(points, groups, documents or 64, 0.5, grouped_by)


NAMES = [*(f"word {i} · and another · third" for i in range(8)), "other"]


def test_no_two_groups_have_the_same_mark() -> None:
    groups = map_groups(map_of(NAMES))
    assert list(groups) == NAMES
    assert len({(group.colour, group.shape) for group in groups.values()}) == 9
    assert (groups["other"].colour, groups["other"].shape) == (5, 5)


def test_names_of_topics_do_not_overlap_and_stay_inside() -> None:
    for seed in range(20):
        labels = [group.label for group in map_groups(map_of(NAMES, seed=seed)).values()]
        assert labels[-1] is None and None not in labels[:-1]
        boxes = [(x, y) for x, y in labels[:-1]]  # type: ignore[misc]
        half = len(NAMES[0]) * 7.6 / 2
        assert all(half <= x <= WIDTH - half and 0 < y < HEIGHT for x, y in boxes)
        for i, (x, y) in enumerate(boxes):
            assert all(abs(y - b) >= 19 or abs(x - a) >= 2 * half - 1 for a, b in boxes[:i])
    assert all(group.label is None for group in map_groups(map_of(NAMES, "folder")).values())


def test_a_topic_links_to_its_filter_and_on_an_incomplete_map_to_its_words() -> None:
    request = PageRequest("notes", "key", where='map.topic="word 1 · and another · third"')
    groups = map_groups(map_of(NAMES), request)
    assert groups[NAMES[0]].link == (
        "/?index=notes&amp;q=key&amp;where=map.topic%3D%22word+0+%C2%B7+and+another+%C2%B7+third%22"
    )
    assert [name for name, group in groups.items() if group.is_chosen] == [NAMES[1]]
    assert groups["other"].link is None
    part = map_groups(map_of(NAMES, documents=99), PageRequest("notes"))
    assert part[NAMES[0]].link == "/?index=notes&amp;q=word+0+and+another+third"
    assert all(group.link is None for group in map_groups(map_of(NAMES, "folder"), request).values())


def test_positions_are_inside_the_drawing() -> None:
    assert position(-1, 1) == (24, 24) and position(1, -1) == (616, 576) and position(0, 0) == (320, 300)
