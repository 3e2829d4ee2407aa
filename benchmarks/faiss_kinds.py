"""Which FAISS index should hold the embeddings?

    python benchmarks/faiss_kinds.py [SOURCE] [--sizes 23000 200000 1000000] [--queries 100] [--place FOLDER]

SOURCE is an index or a folder, whose embeddings are real; further ones are made up of these (see scale_corpus.py). Each
kind of index is built and written by one process, and searched by another one: the time from opening the file to the
first ten hits, the median of later searches in one thread, the memory of the process, and the hits against those of
brute force. `certified` is this package's own search of its file: its rows are recomputed from exact embeddings until
no other passage can be among the ten. Kinds with `refined` keep the float32 embeddings in the same file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import psutil
from machine import headline, process
from scale_corpus import NOISE, prepared

from search.store import codes

REPOSITORY = Path(__file__).resolve().parent.parent
KINDS = {
    "flat float32, mapped": "Flat",
    "flat float16": "SQfp16",
    "8 bits by dimension": "SQ8",
    "8 bits, one range": "uniform",
    "8 bits, one range, certified": "certified",
    "RaBitQ, refined": "RaBitQ,RFlat",
    "fast scan of PQ, refined": "PQ96x4fs,RFlat",
}
K = 10
_REFINED = 20  # candidates that are refined, as a multiple of k


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path, nargs="?", default=REPOSITORY / "corpora")
    parser.add_argument("--sizes", type=int, nargs="+", default=[23_000, 200_000, 1_000_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--place", type=Path, help="where vectors and indexes are made, and stay")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        step, kind, place = args.child
        print(json.dumps({"build": build, "search": search}[step](kind, Path(place))))
        return
    print(headline("faiss-cpu", "numpy"), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = args.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "real.npz").exists():
            prepared(args.source, place / "real.npz")
        for size in args.sizes:
            folder = place / str(size)
            folder.mkdir(exist_ok=True)
            make_vectors(place / "real.npz", folder, size, args.queries)
            table(folder, size, args.kinds)


def table(folder: Path, size: int, kinds: list[str]) -> None:
    print(
        f"| {size:,} passages | build | file | first search | later | memory | wrong lists | product off by |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for kind in kinds:
        built = process([sys.executable, __file__, "--child", "build", kind, str(folder)], told=True)
        figures = process([sys.executable, __file__, "--child", "search", kind, str(folder)], told=True)
        print(
            f"| {kind} | {built['seconds']:.1f} s | {built['bytes'] / 1e6:,.0f} MB | {figures['first']:.0f} ms "
            f"| {figures['later']:.1f} ms | {figures['memory']:,.0f} MB | {figures['wrong']} of {figures['lists']} "
            f"| {figures['off']:.4f} |",
            flush=True,
        )
    print(flush=True)


def make_vectors(real: Path, folder: Path, size: int, queries: int) -> None:
    """Write embeddings, queries, and the exact hits of the queries."""
    if (folder / "exact.npy").exists():
        return
    with np.load(real, allow_pickle=False) as stored:
        vectors, near = stored["vectors"], stored["near"]
    chance, d = np.random.default_rng(0), vectors.shape[1]
    wanted = size + queries
    rows = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (size, d))
    asked = np.empty((queries, d), dtype=np.float32)
    for start in range(0, wanted, 65_536):
        n = min(65_536, wanted - start)
        a = chance.integers(len(vectors), size=n)
        b = near[a, chance.integers(near.shape[1], size=n)]
        share = chance.uniform(0.25, 0.75, size=(n, 1)).astype(np.float32)
        noise = chance.standard_normal((n, d), dtype=np.float32) * (NOISE / np.sqrt(d))
        mixed = share * vectors[a] + (1 - share) * vectors[b] + noise
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        inside = max(0, min(n, size - start))
        rows[start : start + inside] = mixed[:inside]
        if inside < n:
            asked[start + inside - size : start + n - size] = mixed[inside:]
    rows.flush()
    np.save(folder / "queries.npy", asked)
    flat = faiss.IndexFlatIP(d)
    flat.add(np.asarray(rows))
    np.save(folder / "exact.npy", flat.search(asked, 3 * K)[1])


def file_of(kind: str, folder: Path) -> Path:
    return folder / f"{KINDS[kind].replace(',', '-')}.faiss"


def build(kind: str, folder: Path) -> dict[str, Any]:
    vectors, path = np.load(folder / "vectors.npy"), file_of(kind, folder)
    started = time.perf_counter()
    if KINDS[kind] == "certified":
        path.write_bytes(b"")
        error, crc = codes.write(path, np.arange(1, len(vectors) + 1), vectors)
        (folder / "certified.json").write_text(json.dumps([error, crc]), encoding="utf-8")
    else:
        index = made(KINDS[kind], vectors.shape[1])
        index.train(vectors[:: -(-len(vectors) // 65_536)])
        index.add(vectors)
        faiss.write_index(index, str(path))
    return {"seconds": time.perf_counter() - started, "bytes": path.stat().st_size}


def made(factory: str, dimension: int) -> Any:
    if factory == "uniform":
        kind = faiss.ScalarQuantizer.QT_8bit_uniform
        return faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    return faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)


def search(kind: str, folder: Path) -> dict[str, Any]:
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    queries, exact = np.load(folder / "queries.npy"), np.load(folder / "exact.npy")
    faiss.omp_set_num_threads(1)
    before = memory()
    started = time.perf_counter()
    ask = opened(kind, folder, vectors)
    times, wrong, off = [], 0, 0.0
    for number, query in enumerate(queries):
        products, rows = ask(query)
        times.append(time.perf_counter() - started)
        cosines = vectors[rows] @ query
        tenth = np.sort(vectors[exact[number]] @ query)[-K]
        wrong += bool((cosines < tenth - 1e-6).any()) or len(set(rows.tolist())) < K
        off = max(off, float(np.abs(products - cosines).max()))
        started = time.perf_counter()
    return {
        "first": 1e3 * times[0],
        "later": 1e3 * statistics.median(times[1:]),
        "memory": memory() - before,
        "wrong": wrong,
        "lists": len(queries),
        "off": off,
    }


def memory() -> float:
    """Resident memory of this process, in MB."""
    return psutil.Process().memory_info().rss / 2**20


def opened(
    kind: str, folder: Path, vectors: np.ndarray
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Open an index; return a function from a query to its ten products and rows."""
    path = file_of(kind, folder)
    if KINDS[kind] == "certified":
        error, crc = json.loads((folder / "certified.json").read_text(encoding="utf-8"))
        part = codes.Codes(path, len(vectors), vectors.shape[1], error, crc)
        return lambda query: certified(part, vectors, query)
    index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    if isinstance(index, faiss.IndexRefine):
        index.k_factor = _REFINED

    def ask(query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        products, rows = index.search(query[None], K)
        return products[0], rows[0]

    return ask


def certified(part: codes.Codes, vectors: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ten nearest rows, as `nearest_of` finds them, with the embeddings in an array instead of a database."""
    rough, limit = codes.RoughQuery(query), 3 * K + 16
    while True:
        rows, highest = part.nearest(rough, limit)
        cosines = vectors[rows[:K]] @ query
        candidates = rows[highest >= cosines.min()]
        cosines = vectors[candidates] @ query
        best = np.argsort(-cosines, kind="stable")[:K]
        if highest[-1] < cosines[best[-1]] or limit >= len(vectors):
            return cosines[best], candidates[best]
        limit *= 4


if __name__ == "__main__":
    main()
