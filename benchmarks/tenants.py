"""What does a query of one tenant among many cost: in a namespace, or with a filter?

    python benchmarks/tenants.py [--tenants 50] [--documents 200] [--queries 100]

All documents are in one index twice: with a field `tenant`, and each tenant's in a namespace. The same queries go to
both in turn, at random tenants, in one process. The encoder is a double that takes no time. Medians in milliseconds:
of a tenant that is asked for the first time (its filter is not cached, its namespace not open), and of others.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from machine import headline

from search import Hit, Index
from tests.conftest import WORDS
from tests.faults.double import WordEncoder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--documents", type=int, default=200, help="of each tenant")
    parser.add_argument("--queries", type=int, default=100)
    args = parser.parse_args()
    print(headline("faiss-cpu") + "\n")
    rng = Random(5)
    with tempfile.TemporaryDirectory() as folder:
        index = Index.create(str(Path(folder) / "tenants"), encoder=WordEncoder())
        filled(index, rng, args.tenants, args.documents)
        ways: dict[str, Callable[[str, str], list[Hit]]] = {
            "filter": lambda text, tenant: index.query(text, where={"tenant": tenant}),
            "namespace": lambda text, tenant: index.query(text, namespace=tenant),
        }
        order = rng.sample(range(args.tenants), args.tenants)
        first = times(ways, rng, [f"t{n}" for n in order])
        again = times(ways, rng, [f"t{rng.choice(order[-20:])}" for _ in range(args.queries)])
        index.close()
    print(
        f"| {args.tenants} tenants of {args.documents} documents | filter | namespace | ratio |\n|---|--:|--:|--:|"
    )
    for name, taken in (("first query", first), ("later queries", again)):
        filter_, namespace = (1e3 * statistics.median(taken[way]) for way in ways)
        print(f"| {name}, ms | {filter_:.2f} | {namespace:.2f} | {namespace / filter_:.2f} |")


def filled(index: Index, rng: Random, tenants: int, count: int) -> None:
    for number in range(tenants):
        documents = [
            {"id": f"{number}-{n}", "text": " ".join(rng.choices(WORDS, k=30)), "tenant": f"t{number}"}
            for n in range(count)
        ]
        index.upsert(documents)
        index.upsert(documents, namespace=f"t{number}")


def times(
    ways: dict[str, Callable[[str, str], list[Hit]]], rng: Random, tenants: list[str]
) -> dict[str, list[float]]:
    """Return the seconds of a query at each of some tenants, by each way; both find the same documents."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for tenant in tenants:
        text = " ".join(rng.choices(WORDS, k=5))
        texts = []
        for way, ask in ways.items():
            started = time.perf_counter()
            hits = ask(text, tenant)
            taken[way].append(time.perf_counter() - started)
            texts.append({hit.metadata["tenant"] for hit in hits})
        assert texts[0] == texts[1] == {tenant}
    return taken


if __name__ == "__main__":
    main()
