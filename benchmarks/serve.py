"""How quick is the server, and how much of it is the server?

    python benchmarks/serve.py INDEX [--clients 1 8 32] [--queries 300] [--rounds 3] [--k 10] [--seed 0]
    python benchmarks/serve.py INDEX --memory [--requests 1000 2000 5000 10000] [--seed 0]
    python benchmarks/serve.py INDEX --health [--clients 50] [--queries 1000] [--rounds 3] [--seed 0]

Hybrid searches by keep-alive connections from a process of their own, each connection asking again as soon as it is
answered; against `index.query` in a loop, and against an application of 40 lines on FastAPI, sentence-transformers and
FAISS with the same vectors, which knows no words. The server is asked for what the command gives, and for hits alone,
without where words stand in them. Queries are sentences of the passages, drawn by the seed; no server
is asked one twice, so nothing comes from a cache, but for the last line, where 50 queries are asked again and again.
The three take turns, round by round, and only one works at a time. Percentiles are of all rounds; ratios are the median
of those within a round.

With --memory, one server is asked by four connections for hits of all modes, filtered and explained hits, and pages, in
turn, and its resident memory is printed after so many requests.

With --health, /healthz is asked twenty times a second by a process of its own while clients search.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from machine import headline
from warm_query import sentences

from search import Encoder, Index
from search.index import searcher_of
from search.store.snapshot import Store

REPEATED = 50
QUERY, WHOLE = "index.query", "index.query, highlights"
SERVED, ALONE = (
    "seewhy serve",
    "seewhy serve, hits alone",
)  # the latter without highlights, as the plain one
QUERIES = 500  # that are mixed
SEARCH = "/api/v1/search"
SEARCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    (SEARCH, {"k": 10}),
    (SEARCH, {"mode": "dense"}),
    (SEARCH, {"mode": "lexical"}),
    (SEARCH, {"where": "path:*1*"}),
    ("/", {}),
)
KINDS = 4 * SEARCHES + ((SEARCH, {"k": 2, "explain": "true"}),)  # of requests, in turn
PLAIN = """
import json, sys
import faiss, uvicorn
from fastapi import FastAPI
from sentence_transformers import SentenceTransformer

app = FastAPI()
model = SentenceTransformer(sys.argv[1], device="cpu")
index = faiss.read_index(sys.argv[2])
texts = json.load(open(sys.argv[3], encoding="utf-8"))


@app.get("/api/v1/search")
def search(q: str, k: int = 10):
    scores, ids = index.search(model.encode([q], normalize_embeddings=True), k)
    return [{"score": float(s), "text": texts[i]} for s, i in zip(scores[0], ids[0])]


@app.get("/readyz")
def ready():
    return "ok"


uvicorn.run(app, port=int(sys.argv[4]), log_level="warning")
"""


@dataclass
class Asked:
    """What clients saw: the seconds of each answer, those in all, and how often each status came that is no answer."""

    times: list[float]
    seconds: float
    refused: dict[str, int]

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("index", type=Path)
    parser.add_argument("--clients", type=int, nargs="+", default=None)
    parser.add_argument("--queries", type=int, default=None, help="of each step of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warming", type=int, default=100, help="queries that are asked before")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-reference", action="store_true", help="only seewhy")
    parser.add_argument("--memory", action="store_true", help="measure memory, not time")
    parser.add_argument("--health", action="store_true", help="measure /healthz while clients search")
    parser.add_argument("--requests", type=int, nargs="+", default=[1000, 2000, 5000, 10000])
    args = parser.parse_args()
    args.clients = args.clients or ([50] if args.health else [1, 8, 32])
    args.queries = args.queries or (1000 if args.health else 300)
    os.environ["HF_HUB_OFFLINE"] = "1"
    print(headline("fastapi", "uvicorn", "openvino", "faiss-cpu", "torch", "sentence-transformers"))
    index = Index.open(args.index, offline=True)
    if args.memory:
        print(f"{index.status().passages} passages\n")
        with seewhy(args.index) as (address, server):
            memory(address, server.pid, mixed(sentences(index, QUERIES, args.seed)), args.requests)
        return
    if args.health:
        with seewhy(args.index) as (address, _):
            health(index, address, args)
        return
    asked = args.warming + ((2 * len(args.clients) + 1) * args.rounds + 1) * args.queries
    drawn = iter(sentences(index, asked, args.seed))
    warming = take(drawn, args.warming)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"{index.status().passages} passages, queries such as '{warming[0]}'; load before {load:.1f}\n")
    with tempfile.TemporaryDirectory() as place, seewhy(args.index) as (ours, _):
        servers = {SERVED: ours, ALONE: ours}
        if args.no_reference:
            run(index, servers, drawn, warming, args)
        else:
            with plain(index, Path(place)) as theirs:
                run(index, servers | {"FastAPI + ST + FAISS": theirs}, drawn, warming, args)


def run(
    index: Index,
    servers: dict[str, str],
    drawn: Iterator[str],
    warming: list[str],
    args: argparse.Namespace,
) -> None:
    for name, address in servers.items():
        ask(address, warming, 8, args.k, name)
    loop(index, warming, args.k)
    found: dict[tuple[str, int], list[Asked]] = {}
    for _ in range(args.rounds):
        for clients in args.clients:
            queries = take(drawn, args.queries)
            if clients == 1:
                found.setdefault((QUERY, 1), []).append(loop(index, queries, args.k))
                found.setdefault((WHOLE, 1), []).append(
                    loop(index, take(drawn, args.queries), args.k, True)
                )
            for name, address in servers.items():
                new = take(drawn, args.queries) if name == ALONE else queries
                found.setdefault((name, clients), []).append(ask(address, new, clients, args.k, name))
    repeated = min(REPEATED, args.queries)
    again = take(drawn, repeated) * (args.queries // repeated)
    found["seewhy, asked again", max(args.clients)] = [
        ask(servers[SERVED], again, max(args.clients), args.k, SERVED)
    ]
    print(f"{'':26}{'clients':>8}{'answers/s':>11}{'p50 ms':>9}{'p95':>9}{'p99':>9}   no answer")
    for (name, clients), rounds in sorted(found.items(), key=lambda one: one[0][1]):
        times = np.array([seconds for one in rounds for seconds in one.times]) * 1e3
        p50, p95, p99 = np.percentile(times, [50, 95, 99])
        speed = statistics.median(one.per_second for one in rounds)
        refused = sum((Counter(one.refused) for one in rounds), Counter())
        said = ", ".join(f"{count} x {status}" for status, count in refused.items()) or "0"
        print(f"{name:26}{clients:>8}{speed:>11.1f}{p50:>9.1f}{p95:>9.1f}{p99:>9.1f}   {said}")
    print()
    if 1 in args.clients:
        for name, library in ((SERVED, QUERY), (SERVED, WHOLE), (ALONE, QUERY)):
            pairs = zip(found[name, 1], found[library, 1], strict=True)
            ratio = statistics.median(ours.median / theirs.median for ours, theirs in pairs)
            print(f"1 client: p50 of {name} {ratio:.2f} times that of {library}")
    for clients in () if args.no_reference else args.clients:
        for name in (SERVED, ALONE):
            pairs = zip(found[name, clients], found["FastAPI + ST + FAISS", clients], strict=True)
            ratio = statistics.median(ours.per_second / theirs.per_second for ours, theirs in pairs)
            print(
                f"{clients} clients: {name} {ratio:.2f} times the answers a second of FastAPI + ST + FAISS"
            )


def take(drawn: Iterator[str], n: int) -> list[str]:
    return list(itertools.islice(drawn, n))


def loop(index: Index, queries: Sequence[str], k: int, whole: bool = False) -> Asked:
    """Ask the library, one query after the other; with `whole` all that an answer of the server holds."""
    times, began = [], time.perf_counter()
    for query in queries:
        started = time.perf_counter()
        hits = index.query(query, k)
        if whole:
            searcher_of(index).highlights(query, hits)
        times.append(time.perf_counter() - started)
    return Asked(times, time.perf_counter() - began, {})


def ask(address: str, queries: Sequence[str], clients: int, k: int, name: str) -> Asked:
    """Ask a server, from another process."""
    command = [sys.executable, __file__, "--as-client", address, str(clients), str(k), name]
    done = subprocess.run(
        command, input=json.dumps(queries), capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return Asked(**json.loads(done.stdout))


def as_client(address: str, clients: int, k: int, name: str, queries: list[str]) -> Asked:
    """Ask a server by so many connections at once, each of which asks again as soon as it is answered."""
    times: list[float] = []
    refused: Counter[str] = Counter()
    waiting = iter(queries)
    together = threading.Barrier(clients + 1)
    how = {"k": k} | ({"highlights": "false"} if name == ALONE else {})

    def one() -> None:
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.connect()
        together.wait()
        for query in waiting:
            started = time.perf_counter()
            connection.request("GET", f"/api/v1/search?{urlencode({'q': query, **how})}")
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                times.append(time.perf_counter() - started)
            else:
                refused[str(answer.status)] += 1

    threads = [threading.Thread(target=one) for _ in range(clients)]
    for thread in threads:
        thread.start()
    together.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return Asked(times, time.perf_counter() - began, dict(refused))


@contextmanager
def seewhy(index: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a server, and its process."""
    command = [sys.executable, "-m", "search", "serve", "--index", str(index), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        assert server.stderr
        address = server.stderr.readline().split("http://")[1].split("/")[0]
        try:
            yield address, server
        finally:
            server.terminate()


def mixed(queries: Sequence[str]) -> Iterator[str]:
    """Addresses without end: each query by each kind of request, in turn."""
    for number, query in enumerate(itertools.cycle(queries)):
        path, options = KINDS[number % len(KINDS)]
        yield f"{path}?{urlencode({'q': f'{query} {number}', **options})}"


def memory(address: str, pid: int, paths: Iterator[str], marks: Sequence[int]) -> None:
    """Print the resident memory of a server before any request, and after so many."""
    import psutil

    process, asked = psutil.Process(pid), 0
    until_ready(address)
    print("| requests | resident MB | seconds | no answer |\n|---|---|---|---|")
    for mark in (0, *marks):
        refused: Counter[int] = Counter()
        waiting, lock = iter(take(paths, mark - asked)), threading.Lock()

        def one(waiting: Iterator[str], lock: threading.Lock, refused: Counter[int]) -> None:
            connection = http.client.HTTPConnection(address, timeout=60)
            while True:
                with lock:
                    path = next(waiting, "")
                if not path:
                    return
                connection.request("GET", path, headers={"Accept": "text/html"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    refused[answer.status] += 1

        began = time.perf_counter()
        threads = [threading.Thread(target=one, args=(waiting, lock, refused)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asked = mark
        held, seconds = process.memory_info().rss / 2**20, time.perf_counter() - began
        print(f"| {mark:,} | {held:.0f} | {seconds:.0f} | {dict(refused) or 0} |", flush=True)


def health(index: Index, address: str, args: argparse.Namespace) -> None:
    """Print how long /healthz takes while clients search, and without them."""
    until_ready(address)
    queries = itertools.cycle(sentences(index, QUERIES, args.seed))
    drawn = (f"{query} {number}" for number, query in enumerate(queries))
    ask(address, take(drawn, args.warming), 8, args.k, SERVED)
    print("| clients | answers/s | no answer | /healthz asked | p50 ms | p95 | p99 | most |")
    print("|---|---|---|---|---|---|---|---|")
    for clients in (0, *args.clients * args.rounds):
        with ThreadPoolExecutor(1) as pool:
            searches = pool.submit(ask, address, take(drawn, args.queries), clients, args.k, SERVED)
            times = np.array(healthy(address, searches)) * 1e3
            answers = searches.result()
        p50, p95, p99 = np.percentile(times, [50, 95, 99])
        figures = f"{p50:.1f} | {p95:.1f} | {p99:.1f} | {times.max():.1f}"
        print(
            f"| {clients} | {answers.per_second:.0f} | {answers.refused or 0} | {len(times)} | {figures} |",
            flush=True,
        )


def healthy(address: str, searches: Future[Asked], seconds: float = 5) -> list[float]:
    """Ask for /healthz every 50 ms while searches run, for some seconds at least; return the seconds of each answer."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.connect()
    times: list[float] = []
    began = time.perf_counter()
    while not searches.done() or time.perf_counter() - began < seconds:
        started = time.perf_counter()
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        times.append(time.perf_counter() - started)
        time.sleep(0.05)
    return times


@contextmanager
def plain(index: Index, place: Path) -> Iterator[str]:
    """The address of the plain application, with the same vectors."""
    import faiss

    with Store(index.path).reading() as snapshot:
        vectors = np.concatenate([block for _, block in snapshot.embedding_blocks()])
        stored = snapshot.stored(snapshot.ids().tolist())
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    faiss.write_index(flat, str(place / "plain.faiss"))
    (place / "texts.json").write_text(
        json.dumps([stored[id_].visible_text for id_ in sorted(stored)]), encoding="utf-8"
    )
    (place / "plain.py").write_text(PLAIN, encoding="utf-8")
    with http_port() as port:
        model = Encoder(index.fingerprint.model, offline=True).files.folder
        files = [place / "plain.py", model, place / "plain.faiss", place / "texts.json", port]
        with subprocess.Popen([sys.executable, *map(str, files)]) as server:
            address = f"127.0.0.1:{port}"
            try:
                until_ready(address)
                yield address
            finally:
                server.terminate()


def until_ready(address: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://{address}/readyz").close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"nothing answers at {address}")


@contextmanager
def http_port() -> Iterator[int]:
    """A port that is free."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield port


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-client"]:
        found = as_client(
            sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], json.load(sys.stdin)
        )
        print(json.dumps(vars(found)))
    else:
        main()
