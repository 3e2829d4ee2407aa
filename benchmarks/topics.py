"""Topics of the map: how many of the first ten hits of a topic's name are documents of the topic.

    python benchmarks/topics.py FOLDER... [--numbers 3 4 6 8]

Each folder is indexed with the default model. `--numbers` makes that many groups as well. Chance is the share of hits
that would be of the topic if hits were drawn at random.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from machine import headline

from search import Index
from search.index import searcher_of
from search.ranking import document_map
from search.ranking.topics import SEPARATOR
from search.records.document_map import OTHER, DocumentMap

HITS = 10


def map_with(index: Index, k: int | None) -> DocumentMap:
    """Return the map of an index with k groups; None for the usual number."""
    with searcher_of(index).store.reading() as snapshot:
        if k is None:
            return document_map.document_map(snapshot)
        with patch.object(document_map, "number_of_topics", lambda documents: k):
            return document_map.document_map(snapshot)


def shares(index: Index, map_: DocumentMap) -> Iterator[float]:
    """Yield for each topic the share of the hits of its name that are in it."""
    topic_of = {point.document_id: point.group for point in map_.points}
    for name in map_.groups:
        if name != OTHER:
            hits = index.query(name.replace(SEPARATOR, " "), HITS)
            yield sum(topic_of.get(hit.document_id) == name for hit in hits) / max(1, len(hits))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--numbers", nargs="*", type=int, default=[], help="numbers of groups to try")
    parser.add_argument("--model", help="model of the indexes")
    args = parser.parse_args()
    print(headline("openvino"))
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as place:
            index = Index.build(folder, index=str(Path(place) / "index"), model=args.model)
            for k in (None, *args.numbers):
                started = time.perf_counter()
                map_ = map_with(index, k)
                seconds = time.perf_counter() - started
                sizes = Counter(point.group for point in map_.points)
                chance = sum((size / len(map_.points)) ** 2 for size in sizes.values())
                own = list(shares(index, map_)) if map_.grouped_by == "topic" else []
                mean = f"{sum(own) / len(own):.2f}" if own else "none"
                print(
                    f"{folder}: {len(map_.points)} documents, {len(own)} topics ({k or 'usual'}) in {seconds:.1f} s: "
                    f"own hits {mean}, chance {chance:.2f}"
                )
                if k is None:
                    print(*(f"  {size:>4} {name}" for name, size in map_.groups.items()), sep="\n")
            index.close()


if __name__ == "__main__":
    main()
