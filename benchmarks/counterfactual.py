"""What would move a hit out of the first k, and is it true?

    python benchmarks/counterfactual.py FOLDER=QUESTIONS ... [--hits 40] [--ranks 1 3 5] [--k 10] [--show]

QUESTIONS is a list of objects with `query`, as JSON, or as JSON Lines with the `folder` that each asks.

Of as many questions from each folder, a hit is taken, at each of the ranks in turn. `Index.counterfactual` has to find
words of the query or sentences of the passage without which it is none of the first k. For the same questions, the
passage at rank 3k takes the part of a document that is missing: a word has to be found that brings it in.

Each answer is verified by asking again. Of words: the changed query is asked as any other. Of sentences: a second index
gets all passages with their embeddings, and the passage without its sentences, which is encoded alone; there, the query
is asked. The rank there may differ by a few, because the one shorter passage changes the statistics of words.

Printed, by kind and by rank: answers, those that hold when asked again, those whose rank is the same then, the
largest difference of a rank, and the number of encoded texts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median

from machine import headline

import search
from search.encoding.encoder import with_context
from search.records.contents import StoredPassage
from search.records.counterfactuals import Counterfactual, RankChange
from search.records.visible_text import visible


@dataclass
class Figures:
    """Figures of one kind of changes, or of the hits of one rank.

    Attributes:
        asked: number of passages.
        answers: number of those with a change.
        true, same: number of answers that hold when asked again, and of those with the same ranks then.
        farthest: largest difference of a rank when asked again.
        encodings: number of encoded texts, of each passage.
    """

    asked: int = 0
    answers: int = 0
    true: int = 0
    same: int = 0
    farthest: int = 0
    encodings: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", nargs="+", metavar="FOLDER=QUESTIONS")
    parser.add_argument("--hits", type=int, default=40, help="hits in all")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="print each sentence")
    args = parser.parse_args()
    print(headline("seewhy", "numpy"))
    by_name: dict[str, Figures] = defaultdict(Figures)
    for number, pair in enumerate(args.sets):
        folder, _, questions = pair.rpartition("=")
        count = args.hits // len(args.sets) + (number < args.hits % len(args.sets))
        with tempfile.TemporaryDirectory() as home:
            index = search.Index.build(folder, index=f"{home}/index", offline=True)
            queries = read_queries(Path(questions), Path(folder).name)
            for query, rank in tasks(queries, args.ranks, count):
                measure(index, query, rank, args.k, by_name, show=args.show)
    columns = (
        "passages",
        "moved",
        "hold",
        "same rank",
        "off by",
        "encodings, median",
        "most",
        "seconds, median",
    )
    print(f"\n{'':24}" + "".join(f"{column:>18}" for column in columns))
    for name, figures in by_name.items():
        values = (figures.asked, figures.answers, figures.true, figures.same, figures.farthest)
        middle, most = median(figures.encodings), max(figures.encodings)
        cells = (*map(str, values), f"{middle:g}", str(most), f"{median(figures.seconds):.2f}")
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))


def read_queries(path: Path, folder: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    rows = list(map(json.loads, text.splitlines())) if path.suffix == ".jsonl" else json.loads(text)
    return [row["query"] for row in rows if row.get("folder", folder) == folder]


def tasks(queries: list[str], ranks: list[int], count: int) -> Iterator[tuple[str, int]]:
    """Pairs of a query and a rank: with the first rank of the first query, the second of the second, and so on."""
    pairs = zip(cycle(queries), cycle(ranks), strict=False)
    seen: set[tuple[str, int]] = set()
    for _ in range(count):
        query, rank = next(pairs)
        if (query, rank) in seen:  # both lists have begun again together
            query, rank = next((q, r) for q in queries for r in ranks if (q, r) not in seen)
        seen.add((query, rank))
        yield query, rank


def measure(
    index: search.Index, query: str, rank: int, k: int, by_name: dict[str, Figures], *, show: bool
) -> None:
    """Look for the changes of a hit, and of a passage that is none of the first k; verify each."""
    ranked = index.query(query, 3 * k)
    for hit, name in (
        (ranked[min(rank, len(ranked)) - 1], f"hit at rank {rank}"),
        (ranked[-1], "missing"),
    ):
        started = time.perf_counter()
        answer = index.counterfactual(query, hit, k)
        seconds = time.perf_counter() - started
        names = [name] if name == "missing" else ["all hits", name]
        holds = [verified(index, answer, change) for change in answer.changes]
        for of_name in names:
            count(by_name[of_name], holds, answer.encodings, seconds)
        kinds = ("query words", "sentences") if name != "missing" else ()
        for kind in kinds:
            pairs = zip(answer.changes, holds, strict=True)
            of_kind = [(change, value) for change, value in pairs if change.kind == kind]
            used = of_kind[0][0].encodings if of_kind else answer.encodings
            count(by_name[kind], [value for _, value in of_kind], used, seconds)
        if show:
            print(f"{query!r}, rank {hit.rank}: {answer.sentence} {holds} {answer.encodings}")


def count(figures: Figures, holds: list[tuple[bool, int]], encodings: int, seconds: float) -> None:
    figures.asked += 1
    figures.answers += bool(holds)
    figures.true += bool(holds) and all(is_true for is_true, _ in holds)
    figures.same += bool(holds) and not any(difference for _, difference in holds)
    figures.farthest = max([figures.farthest, *(difference for _, difference in holds)])
    figures.encodings.append(encodings)
    figures.seconds.append(seconds)


def verified(index: search.Index, answer: Counterfactual, change: RankChange) -> tuple[bool, int]:
    """Ask again: does the change move the passage, and how far from this rank?"""
    if change.kind == "sentences":
        rank = rank_without_sentences(index, answer, change)
    else:
        rank = rank_of(index.query(change.query, max(answer.k, change.new_rank or 0)), answer.passage_id)
    is_hit = rank is not None and rank <= answer.k
    return is_hit == (change.kind == "added word"), abs((rank or 0) - (change.new_rank or 0))


def rank_of(hits: list[search.Hit], passage: int) -> int | None:
    return next((hit.rank for hit in hits if hit.passage_id == passage), None)


def rank_without_sentences(index: search.Index, answer: Counterfactual, change: RankChange) -> int | None:
    """Rank of the passage in an index that has it without its sentences, as text without headings of its own."""
    ids, vectors = index.embeddings()
    texts: dict[str, str] = defaultdict(str)
    spans: dict[str, list[dict[str, object]]] = defaultdict(list)
    changed = ("", 0, 0)  # document, start and end of the passage
    for id_, vector in zip(ids.tolist(), vectors, strict=True):
        passage = index.passage(id_)
        name, start = passage.document, len(texts[passage.document])
        text, embedding = encoded_text(passage, ()), vector
        if id_ == answer.passage_id:
            text = encoded_text(passage, tuple((part.start, part.end) for part in change.parts))
            (embedding,) = index.encoder.encode([text], role="document", truncate=True)
            changed = (name, start, start + len(text))
        texts[name] += f"{text}\n\n"
        spans[name].append({"start": start, "end": start + len(text), "vector": embedding})
    with search.Index.create(encoder=index.encoder) as other:
        other.upsert([{"id": name, "text": texts[name], "passages": spans[name]} for name in texts])
        hits = other.query(answer.query, len(ids))
    name, start, end = changed
    return next((hit.rank for hit in hits if hit.document == name and start <= hit.start < end), None)


def encoded_text(passage: StoredPassage, without: tuple[tuple[int, int], ...]) -> str:
    """The text that is encoded for a passage, without some of its spans."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted([*passage.hidden, *without]):
        after = spans[-1][1] if spans else 0
        if end > after:
            spans.append((max(start, after), end))
    return with_context(passage.context, visible(passage.text, tuple(spans)))


if __name__ == "__main__":
    main()
