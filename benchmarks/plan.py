"""Estimate workers, days, memory, disk and store for ten million, a billion or a hundred billion passages.

    python benchmarks/plan.py [PASSAGES ...] [--rate 29] [--dimension 384] [--json]

Arithmetic alone, from measured rates (benchmarks/README.md), sizes that follow from file formats, and assumptions. Each
is printed with its source and can be set by an option. For local indexes the predictions are printed beside
measurements at 5,000 to 1,000,000 passages. All else is extrapolated: measure your own rates and plan again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

SIZES = (10_000_000, 1_000_000_000, 100_000_000_000)
GB = 1e9
PAGE = 4096  # bytes, of SQLite and of an SSD's sectors


class Assumed(NamedTuple):
    """Input of the plan: value, meaning and source."""

    value: float
    what: str
    source: str


ASSUMED = {
    "rate": Assumed(29, "passages indexed a second and core",
                    "measured: encoder.py, 8,488 tokens/s of 2 busy cores, 145 tokens a passage"),
    "cores": Assumed(16, "cores per worker", "chosen"),
    "days": Assumed(30, "days available for encoding", "chosen"),
    "scaling": Assumed(0.9, "speed of each of many workers, relative to one alone", "not measured"),
    "dimension": Assumed(384, "dimensions of an embedding", "the default model"),
    "text": Assumed(690, "bytes of text and context per passage", "measured: 200,000 passages of scale.py"),
    "rest": Assumed(219, "other bytes in index.db per passage", "measured: index.db of 1,000,000 passages"),
    "stems": Assumed(69, "different words per passage", "measured: keyword files of 1,000,000 passages"),
    "local-ms": Assumed(58.8, "ms of a hybrid query, local index of a million passages",
                        "measured: scale.py, 2 cores; dense alone 27.0"),
    "wanted-ms": Assumed(200, "ms that a query may take, without the encoder", "chosen"),
    "memory": Assumed(256, "GB of memory per machine", "chosen"),
    "disk": Assumed(4000, "GB of SSD per machine", "chosen"),
    "fill": Assumed(0.7, "usable share of memory and disk", "chosen"),
    "replicas": Assumed(2, "replicas on Milvus", "chosen"),
    "bandwidth": Assumed(20, "GB/s that a machine reads from memory in a full scan", "not measured"),
    "postings": Assumed(0.3, "share of passages that contain a query word, summed over its words", "not measured"),
    "requests": Assumed(3, "sequential requests to Milvus per hybrid query", "measured: server.py"),
    "trip-ms": Assumed(1, "ms of network latency per request", "chosen"),
    "row": Assumed(600, "bytes of a Milvus row besides text, embedding and words", "chosen"),
    "hnsw-links": Assumed(32, "links per passage in HNSW's lowest layer, 2 M", "M = 16"),
    "hnsw-ms": Assumed(2, "ms of an HNSW search", "not measured"),
    "hnsw-recall": Assumed(0.969, "recall@10 of HNSW", "measured: peers.py, Chroma's defaults, 20,000 passages"),
    "ivf-probed": Assumed(1 / 16, "share of lists that IVF_FLAT scans, nprobe / nlist", "milvus.io/learn-milvus/ivf"),
    "ivf-recall": Assumed(0.975, "recall@10 of IVF_FLAT", "Milvus 0.11's own benchmark, SIFT: 0.975 to 0.989"),
    "diskann-degree": Assumed(56, "links per passage in DISKANN", "milvus.io, configure_knowhere: max_degree"),
    "diskann-codes": Assumed(0.225, "share of the embeddings' size that DISKANN keeps in memory",
                             "milvus.io, configure_knowhere: codes 0.125, nodes kept 0.1"),
    "diskann-ms": Assumed(3, "ms of a DISKANN search", "Subramanya et al. 2019: mean, SIFT1B, 16 cores"),
    "diskann-recall": Assumed(0.95, "recall of DISKANN", "Subramanya et al. 2019: 1-recall@1, SIFT1B"),
}  # fmt: skip
KINDS = ("FLAT", "IVF_FLAT", "HNSW", "DISKANN")

# Bytes a passage, and milliseconds of a hybrid query, of indexes in a folder; scale.py in benchmarks/README.md.
MEASURED_BYTES: dict[int, float] = {5_000: 3753, 50_000: 3750, 200_000: 3570, 1_000_000: 3557}
MEASURED_MS: dict[int, float] = {368_615: 19.0, 1_000_000: 58.8}


@dataclass(frozen=True)
class Store:
    """Needs of one store.

    Attributes:
        memory, disk: bytes of one replica.
        machines: of all replicas; 1 for a local index.
        ms: of a hybrid query, without the encoder.
        recall: of the nearest passages by meaning; 1 is exact.
        fits: True if it fits on the machines and a query takes no longer than `wanted_ms`.
    """

    name: str
    memory: float
    disk: float
    machines: int
    ms: float
    recall: float
    fits: bool


def encoding(passages: float, a: SimpleNamespace) -> dict[str, float]:
    """Return the workers needed to encode the passages in time, and the days that they take."""
    alone = passages / (a.rate * a.cores) / 86_400  # days of one worker
    workers = 1 if alone <= a.days else math.ceil(alone / (a.scaling * a.days))
    return {"workers": workers, "days": alone / (workers * (a.scaling if workers > 1 else 1))}


def local_bytes(a: SimpleNamespace) -> tuple[float, float]:
    """Return bytes per passage of a local index: in all, and of codes and postings, which a warm query reads."""
    row = 4 * a.dimension + 20
    embedding = PAGE / (PAGE // row) if row <= PAGE else PAGE * math.ceil(row / PAGE)
    read = a.dimension + 6 + 3 * a.stems
    return embedding + a.text + a.rest + read, read


def local(passages: float, a: SimpleNamespace) -> Store:
    """Return the needs of a local index: exact, one machine, each query scans the codes of all passages."""
    whole, read = local_bytes(a)
    memory, disk, ms = (
        passages * read,
        passages * whole,
        a.local_ms * passages / 1e6 * (a.dimension / 384),
    )
    fits = memory <= a.fill * a.memory * GB and disk <= a.fill * a.disk * GB and ms <= a.wanted_ms
    return Store("folder", memory, disk, 1, ms, 1.0, fits)


def milvus(kind: str, passages: float, a: SimpleNamespace, machines: int | None = None) -> Store:
    """Return the needs of an index on Milvus.

    Args:
        machines: of one replica; default: as many as needed.
    """
    vector, words, keys = 4 * a.dimension, 8 * a.stems, 64
    node = vector + 4 + 4 * a.diskann_degree
    sectors = PAGE / (PAGE // node) if node <= PAGE else PAGE * math.ceil(node / PAGE)
    memory = passages * (words + keys + {
        "FLAT": vector, "IVF_FLAT": vector + 8, "HNSW": vector + 4 * a.hnsw_links + 12,
        "DISKANN": a.diskann_codes * vector,
    }[kind])  # fmt: skip
    disk = passages * (vector + words + a.text + a.row + (sectors if kind == "DISKANN" else 0))
    # ms to scan the memory for a query, shared by the machines; and ms that every machine takes.
    scanned = {"FLAT": 1.0, "IVF_FLAT": a.ivf_probed}.get(kind, 0.0) * vector + 8 * a.postings
    shared = 1000 * passages * scanned / (a.bandwidth * GB)
    each = a.requests * a.trip_ms + {"HNSW": a.hnsw_ms, "DISKANN": a.diskann_ms}.get(kind, 0.0)
    needed = math.ceil(max(memory / (a.fill * a.memory * GB), disk / (a.fill * a.disk * GB),
                           shared / max(1e-9, a.wanted_ms - each), 1))  # fmt: skip
    count = needed if machines is None else machines
    recall = {"IVF_FLAT": a.ivf_recall, "HNSW": a.hnsw_recall, "DISKANN": a.diskann_recall}.get(kind, 1.0)
    fits = count >= needed and each < a.wanted_ms
    return Store(kind, memory, disk, int(a.replicas) * count, shared / count + each, recall, fits)


def stores(passages: float, a: SimpleNamespace) -> list[Store]:
    return [local(passages, a), *(milvus(kind, passages, a) for kind in KINDS)]


def advice(passages: float, a: SimpleNamespace) -> Store:
    """Return the first that fits: local; Milvus FLAT, one machine per replica; Milvus with the fewest machines."""
    folder, flat, *others = stores(passages, a)
    if folder.fits:
        return folder
    if flat.fits and flat.machines <= a.replicas:
        return flat
    return min((one for one in (flat, *others) if one.fits), key=lambda one: (one.machines, one.ms))


def most(fits: Callable[[float], bool], highest: float = 1e13) -> float:
    """Return the largest number of passages for which `fits` returns True."""
    low, high = 0.0, highest
    while high - low > max(1.0, low / 1000):
        middle = math.sqrt(max(1.0, low) * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def break_even(a: SimpleNamespace) -> dict[str, float]:
    """Return the largest number of passages for a local index, and for one machine with Milvus."""
    limits = {"folder": most(lambda n: local(n, a).fits)}
    return limits | {f"Milvus, {kind}": most(partial(_on_one, kind, a)) for kind in KINDS}


def _on_one(kind: str, a: SimpleNamespace, passages: float) -> bool:
    return milvus(kind, passages, a, 1).fits


def checked(a: SimpleNamespace) -> list[dict[str, float]]:
    """Return measurements with their predictions and relative errors."""
    rows = [(n, measured, local_bytes(a)[0]) for n, measured in MEASURED_BYTES.items()]
    rows += [(n, measured, local(n, a).ms) for n, measured in MEASURED_MS.items()]
    return [
        {"passages": n, "measured": measured, "predicted": predicted, "off": predicted / measured - 1}
        for n, measured, predicted in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("passages", type=float, nargs="*", default=SIZES)
    for name, assumed in ASSUMED.items():
        parser.add_argument(
            f"--{name}", type=float, default=assumed.value, help=assumed.what, metavar="N"
        )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    a = SimpleNamespace(
        **{name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in ASSUMED}
    )
    plans = [
        {
            "passages": n,
            "encoding": encoding(n, a),
            "stores": [asdict(one) for one in stores(n, a)],
            "advice": advice(n, a).name,
        }
        for n in args.passages
    ]
    if args.json:
        plan = {"assumed": vars(a), "plans": plans, "most": break_even(a), "checked": checked(a)}
        print(json.dumps(plan, indent=1))
        return
    print("| assumption | value | source |\n|---|---|---|")
    for (name, assumed), value in zip(ASSUMED.items(), vars(a).values(), strict=True):
        source = assumed.source if value == assumed.value else "given"
        print(f"| `--{name}`: {assumed.what} | {value:g} | {source} |")
    for n in args.passages:
        print_plan(n, a)
    print("\nOne replica on one machine holds at most:\n\n| store | passages |\n|---|---|")
    for name, n in break_even(a).items():
        print(f"| {name} | {short_number(n)} |")
    print("\n| passages, local index | measured | predicted | error |\n|---|---|---|---|")
    for row in checked(a):
        unit = "ms" if row["measured"] < 1000 else "bytes"
        values = f"{row['measured']:,g} {unit} | {row['predicted']:,.0f} {unit} | {row['off']:+.0%}"
        print(f"| {row['passages']:,} | {values} |")


def print_plan(passages: float, a: SimpleNamespace) -> None:
    """Print the plan of one size."""
    work = encoding(passages, a)
    workers = f"{work['workers']:,} worker{'s' if work['workers'] > 1 else ''}"
    print(
        f"\n{short_number(passages)} passages: {work['days']:.3g} days to encode with {workers}; "
        f"best store: {advice(passages, a).name}\n"
    )
    names = (
        "store",
        "memory per replica",
        "disk per replica",
        "machines",
        "ms per query",
        "recall",
        "",
    )
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for one in stores(passages, a):
        sizes = f"{rounded(one.memory / GB)} GB | {rounded(one.disk / GB)} GB | {one.machines:,} | {rounded(one.ms)}"
        recall = "exact" if one.recall == 1 else f"{one.recall:g}"
        print(f"| {one.name} | {sizes} | {recall} | {'' if one.fits else 'too slow or too large'} |")


def rounded(x: float) -> str:
    """Round to three digits."""
    return f"{float(f'{x:.3g}'):,.10g}"


def short_number(n: float) -> str:
    """Return a number as words: 1.2 million."""
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if n >= size:
            return f"{n / size:.3g}{name}"
    return f"{n:.3g}"


if __name__ == "__main__":
    main()
