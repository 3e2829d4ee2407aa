"""Do an index in a folder, Milvus and PostgreSQL answer alike, and what does a query take on each?

    python benchmarks/stores.py [--questions 300] [--states 5]
    python benchmarks/stores.py --questions 0 --indexes FOLDER/50000/index FOLDER/200000/index [--place FOLDER]

A random collection is indexed, published to a Milvus server (milvus-lite, on loopback), and read into PostgreSQL with
pgvector, which ranks it by one statement (tests/store/oracle). Random questions (words, phrases, weights, modes,
words left out, filters, lists of ids) are put to all three: ids, order, scores and every addend are compared. Then
documents are changed, deleted, added and made equal, and so on for each of the states.

With --indexes, those are published, and the time of their routes is measured: meaning alone, words alone, both, and
hits with texts and all, with the number of requests to the server. Questions are sentences of the passages; the
encoder is not in these times. milvus-lite is another engine than a Milvus cluster: its times say nothing about one.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from machine import headline
from scale_exact import asked as sentences

from search import Index
from search.ranking.fusion import Fusion
from search.ranking.options import Ranking, Selection
from search.ranking.question import EncodedQuery
from search.ranking.rank import ranked
from search.store.milvus.client import Client
from search.store.milvus.ledger import Place, keep_place
from search.store.milvus.publishing import publish
from search.store.protocol import Store
from tests.milvus_server import MilvusServer
from tests.store.oracle.agreement import Agreement, Collection, compare, ids_of, question
from tests.store.oracle.postgres import oracle, server

WARMING = 1  # questions that are not counted
ROUTES = {
    "dense": "meaning alone",
    "lexical": "words alone",
    "hybrid": "both",
    "hits": "both, with texts and verdict",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument(
        "--states", type=int, default=5, help="of the collection, of which each gets its share"
    )
    parser.add_argument("--size", type=int, default=150, help="records of the collection")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--indexes", type=Path, nargs="*", default=[], help="in folders, to be timed")
    parser.add_argument("--calls", type=int, default=20, help="queries that are timed")
    parser.add_argument("--place", type=Path, help="where the server's data is, and stays")
    parser.add_argument(
        "--steps",
        nargs="+",
        choices=("publish", "ask"),
        default=["publish", "ask"],
        help="with the indexes; ask alone where they were published in this place before",
    )
    args = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    print(headline("pymilvus", "milvus-lite", "pgvector", "psycopg", "numpy"), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = args.place or Path(temporary)
        os.environ["SEEWHY_HOME"] = str(place / "home")
        milvus = MilvusServer(place / "milvus")
        milvus.start()
        try:
            wrong = agree(milvus, Path(temporary), args) if args.questions else []
            for number, index in enumerate(args.indexes):
                timed(milvus, index, number, args)
        finally:
            milvus.kill()
    if wrong:
        sys.exit("\n".join(["not alike:", *wrong[:20]]))


def agree(milvus: MilvusServer, place: Path, args: argparse.Namespace) -> list[str]:
    """Compare, and print a table; what was wrong."""
    chance = random.Random(args.seed)
    collection = Collection(place / "files", args.seed, args.size)
    address = f"{milvus.uri}/agree"
    found = {"folder": Agreement(), "Milvus": Agreement()}
    with server() as at, oracle(at, "agree") as truth:
        for state in range(args.states):
            if state:
                collection.change()
            local = Index.build(collection.folder, index=str(place / "index"), offline=True)
            if not state:
                keep_place(local.path, Place(address, "FLAT"))
            publish(local.path, local.encoder)
            stores = {"folder": local, "Milvus": Index.open(address, offline=True)}
            truth.follow(local.path)
            ids = ids_of(local)
            for number in range(args.questions):
                if number % args.states == state:
                    asked = question(chance, ids)
                    for name, index in stores.items():
                        compare(found[name], index, truth, asked)
    print(f"{len(ids)} passages in the last of {args.states} states, against PostgreSQL "
          f"({1000 * statistics.median(found['folder'].seconds_there):.1f} ms a question):\n")  # fmt: skip
    print("| | questions | hits | swapped ties | score | cosine | addend | wrong | ms, median |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, one in found.items():
        worst = " | ".join(f"{value:.1e}" for value in (one.score, one.cosine, one.addend))
        print(f"| {name} | {one.questions} | {one.hits} | {one.swapped} | {worst} | {len(one.wrong)} "
              f"| {1000 * statistics.median(one.seconds):.1f} |")  # fmt: skip
    return [text for one in found.values() for text in one.wrong]


def timed(milvus: MilvusServer, path: Path, number: int, args: argparse.Namespace) -> None:
    """Publish an index, and ask it and what was published."""
    local, address = Index.open(path, offline=True), f"{milvus.uri}/timed{number}"
    with local._store.reading() as snapshot:
        count = snapshot.passage_count
    if "publish" in args.steps:
        started = time.perf_counter()
        keep_place(path, Place(address, "FLAT"))
        publish(path, local.encoder)
        seconds = time.perf_counter() - started
        print(
            f"\n{count:,} passages, published in {seconds:.0f} s, {count / seconds:.0f} a second", flush=True
        )
    if "ask" in args.steps:
        ask(local, Index.open(address, offline=True), args)


def ask(local: Index, server: Index, args: argparse.Namespace) -> None:
    """Ask both, and print a table."""
    questions = sentences(local.path, WARMING + args.calls, args.seed)
    vectors = local.encoder.encode(questions, role="query", truncate=True)
    queries = [EncodedQuery(text, vector) for text, vector in zip(questions, vectors, strict=True)]
    print(f"\n{args.calls} questions:\n")
    print("| | ms, folder | ms, Milvus | ratio | requests | same hits |\n|---|---|---|---|---|---|")
    stores = local._store, server._store
    for route in ROUTES:
        (here, _, mine), (there, requests, theirs) = (asked(store, route, queries) for store in stores)
        same = sum(a == b for a, b in zip(mine, theirs, strict=True))
        times = f"{here:.1f} | {there:.1f} | {there / here:.0f}"
        print(f"| {ROUTES[route]} | {times} | {requests:g} | {same} of {len(mine)} |", flush=True)


def asked(store: Store, route: str, queries: list[EncodedQuery]) -> tuple[float, float, list[list[int]]]:
    """The median of milliseconds and of requests, and the ids of the hits of each query."""
    times, requests, hits = [], [], []
    for query in queries:
        with patch.object(Client, "_tried", autospec=True, side_effect=Client._tried) as counted:
            started = time.perf_counter()
            if route == "hits":
                found = [hit.passage_id for hit in ranked(store, query, Ranking.of(), Selection.of(10))]
            else:
                with store.reading() as snapshot:
                    found = [item.passage for item in Fusion(snapshot, query, Ranking.of(mode=route)).top(10)]  # type: ignore[arg-type]
            times.append(1000 * (time.perf_counter() - started))
        requests.append(counted.call_count)
        hits.append(found)
    return statistics.median(times[WARMING:]), statistics.median(requests[WARMING:]), hits[WARMING:]


if __name__ == "__main__":
    main()
