"""What would ten million, a billion, a hundred billion passages take: workers, days, memory, disk, and which store?

    python benchmarks/plan.py [PASSAGES ...] [--rate 29] [--dimension 384] [--json]

Arithmetic alone: rates that were measured (benchmarks/README.md), sizes that follow from formats, and assumptions, each
of which is printed with where it is from, and can be set. What is predicted for indexes in a folder is printed beside
what was measured at 50,000 to 1,000,000 passages. All else is extrapolated: measure your own, and plan again with it.
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
    """A figure that the plan is made of, what it is, and where it is from."""

    value: float
    what: str
    source: str


ASSUMED = {
    "rate": Assumed(29, "passages a second and core: read, cut, encoded, stored",
                    "measured: encoder.py, 8,488 tokens/s of 2 busy cores, 145 tokens a passage"),
    "cores": Assumed(16, "cores of a worker", "chosen"),
    "days": Assumed(30, "that encoding may take", "chosen"),
    "scaling": Assumed(0.9, "of the speed of one worker that each of many has", "not measured"),
    "dimension": Assumed(384, "numbers of an embedding", "the default model"),
    "text": Assumed(690, "bytes of a passage's text and context", "measured: 200,000 passages of scale.py"),
    "rest": Assumed(219, "bytes of all else in the rows of a passage", "measured: index.db of 1,000,000 passages"),
    "stems": Assumed(69, "different words of a passage", "measured: the files of words of 1,000,000 passages"),
    "local-ms": Assumed(58.8, "ms of a hybrid query of a folder's index for a million passages",
                        "measured: scale.py, 2 cores; 27.0 of meaning alone"),
    "wanted-ms": Assumed(200, "ms that a query may take beyond the encoder", "chosen"),
    "memory": Assumed(256, "GB of memory of a machine", "chosen"),
    "disk": Assumed(4000, "GB of SSD of a machine", "chosen"),
    "fill": Assumed(0.7, "of memory and disk that may be filled", "chosen"),
    "replicas": Assumed(2, "copies of what answers on Milvus", "chosen"),
    "bandwidth": Assumed(20, "GB/s that a machine reads of its memory in a full search", "not measured"),
    "postings": Assumed(0.3, "of all passages that have a word of a query, added up over its words", "not measured"),
    "requests": Assumed(3, "requests of a hybrid query to Milvus, one after the other", "measured: server.py"),
    "trip-ms": Assumed(1, "ms of a request's way", "chosen"),
    "row": Assumed(600, "bytes of a row on Milvus besides text, embedding and words", "chosen"),
    "hnsw-links": Assumed(32, "links of a passage in HNSW's lowest layer, 2 M", "M = 16"),
    "hnsw-ms": Assumed(2, "ms of a search by HNSW", "not measured"),
    "hnsw-recall": Assumed(0.969, "recall@10 of HNSW", "measured: peers.py, Chroma's defaults, 20,000 passages"),
    "ivf-probed": Assumed(1 / 16, "of all lists that IVF_FLAT looks at, nprobe / nlist", "milvus.io/learn-milvus/ivf"),
    "ivf-recall": Assumed(0.975, "recall@10 of IVF_FLAT", "Milvus 0.11's own benchmark, SIFT: 0.975 to 0.989"),
    "diskann-degree": Assumed(56, "links of a passage in DISKANN", "milvus.io, configure_knowhere: max_degree"),
    "diskann-codes": Assumed(0.225, "of the embeddings' size that DISKANN has in memory",
                             "milvus.io, configure_knowhere: codes 0.125, nodes kept 0.1"),
    "diskann-ms": Assumed(3, "ms of a search by DISKANN", "Subramanya et al. 2019: mean, SIFT1B, 16 cores"),
    "diskann-recall": Assumed(0.95, "recall of DISKANN", "Subramanya et al. 2019: 1-recall@1, SIFT1B"),
}  # fmt: skip
KINDS = ("FLAT", "IVF_FLAT", "HNSW", "DISKANN")

# Bytes a passage, and milliseconds of a hybrid query, of indexes in a folder; scale.py in benchmarks/README.md.
MEASURED_BYTES: dict[int, float] = {5_000: 3753, 50_000: 3750, 200_000: 3570, 1_000_000: 3557}
MEASURED_MS: dict[int, float] = {368_615: 19.0, 1_000_000: 58.8}


@dataclass(frozen=True)
class Store:
    """What a store of so many passages takes.

    Attributes:
        memory, disk: bytes of one copy of what answers.
        machines: of all copies; of a folder's index 1.
        ms: of a hybrid query beyond the encoder.
        recall: of the nearest by meaning; 1 is exact.
        fits: the machines have room, and the query is as quick as is wanted.
    """

    name: str
    memory: float
    disk: float
    machines: int
    ms: float
    recall: float
    fits: bool


def encoding(passages: float, a: SimpleNamespace) -> dict[str, float]:
    """How many workers encode so many passages in time, and how long it takes them."""
    alone = passages / (a.rate * a.cores) / 86_400  # days of one worker
    workers = 1 if alone <= a.days else math.ceil(alone / (a.scaling * a.days))
    return {"workers": workers, "days": alone / (workers * (a.scaling if workers > 1 else 1))}


def local_bytes(a: SimpleNamespace) -> tuple[float, float]:
    """Bytes of a passage in a folder's index: in all, and of codes and words, which a warm query reads."""
    row = 4 * a.dimension + 20
    embedding = PAGE / (PAGE // row) if row <= PAGE else PAGE * math.ceil(row / PAGE)
    read = a.dimension + 6 + 3 * a.stems
    return embedding + a.text + a.rest + read, read


def local(passages: float, a: SimpleNamespace) -> Store:
    """An index in a folder: exact, one machine, which looks at the codes of all passages for each query."""
    whole, read = local_bytes(a)
    memory, disk, ms = (
        passages * read,
        passages * whole,
        a.local_ms * passages / 1e6 * (a.dimension / 384),
    )
    fits = memory <= a.fill * a.memory * GB and disk <= a.fill * a.disk * GB and ms <= a.wanted_ms
    return Store("folder", memory, disk, 1, ms, 1.0, fits)


def milvus(kind: str, passages: float, a: SimpleNamespace, machines: int | None = None) -> Store:
    """An index on Milvus, by the kind of its index of embeddings.

    Args:
        machines: of one copy; as many as are needed if it is not said.
    """
    vector, words, keys = 4 * a.dimension, 8 * a.stems, 64
    node = vector + 4 + 4 * a.diskann_degree
    sectors = PAGE / (PAGE // node) if node <= PAGE else PAGE * math.ceil(node / PAGE)
    memory = passages * (words + keys + {
        "FLAT": vector, "IVF_FLAT": vector + 8, "HNSW": vector + 4 * a.hnsw_links + 12,
        "DISKANN": a.diskann_codes * vector,
    }[kind])  # fmt: skip
    disk = passages * (vector + words + a.text + a.row + (sectors if kind == "DISKANN" else 0))
    # What one machine would read of its memory for a query, in ms, which machines share; and what each takes.
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
    """The first that fits: the folder; Milvus, exact, one machine a copy; Milvus with the fewest machines."""
    folder, flat, *others = stores(passages, a)
    if folder.fits:
        return folder
    if flat.fits and flat.machines <= a.replicas:
        return flat
    return min((one for one in (flat, *others) if one.fits), key=lambda one: (one.machines, one.ms))


def most(fits: Callable[[float], bool], highest: float = 1e13) -> float:
    """The most passages that fit; `fits` tells of a number whether they do."""
    low, high = 0.0, highest
    while high - low > max(1.0, low / 1000):
        middle = math.sqrt(max(1.0, low) * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def break_even(a: SimpleNamespace) -> dict[str, float]:
    """Up to how many passages a folder's index, and one machine with Milvus, will do."""
    found = {"folder": most(lambda n: local(n, a).fits)}
    return found | {f"Milvus, {kind}": most(partial(_on_one, kind, a)) for kind in KINDS}


def _on_one(kind: str, a: SimpleNamespace, passages: float) -> bool:
    return milvus(kind, passages, a, 1).fits


def checked(a: SimpleNamespace) -> list[dict[str, float]]:
    """What was measured, what is predicted of it, and by which share that is off."""
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
        said = {"assumed": vars(a), "plans": plans, "most": break_even(a), "checked": checked(a)}
        print(json.dumps(said, indent=1))
        return
    print("| assumed | value | from |\n|---|---|---|")
    for (name, assumed), value in zip(ASSUMED.items(), vars(a).values(), strict=True):
        source = assumed.source if value == assumed.value else "given"
        print(f"| `--{name}`: {assumed.what} | {value:g} | {source} |")
    for n in args.passages:
        told(n, a)
    print(
        "\nOne copy on one machine does for at most so many passages:\n\n| store | passages |\n|---|---|"
    )
    for name, n in break_even(a).items():
        print(f"| {name} | {said_shortly(n)} |")
    print("\n| passages in a folder | measured | predicted | off |\n|---|---|---|---|")
    for row in checked(a):
        unit = "ms" if row["measured"] < 1000 else "bytes"
        values = f"{row['measured']:,g} {unit} | {row['predicted']:,.0f} {unit} | {row['off']:+.0%}"
        print(f"| {row['passages']:,} | {values} |")


def told(passages: float, a: SimpleNamespace) -> None:
    """Print the plan of one size."""
    work = encoding(passages, a)
    workers = f"{work['workers']:,} worker{'s' if work['workers'] > 1 else ''}"
    print(
        f"\n{said_shortly(passages)} passages: {work['days']:.3g} days of {workers}; then {advice(passages, a).name}\n"
    )
    names = (
        "store",
        "memory of a copy",
        "disk of a copy",
        "machines in all",
        "ms of a query",
        "recall",
        "",
    )
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for one in stores(passages, a):
        sizes = f"{rounded(one.memory / GB)} GB | {rounded(one.disk / GB)} GB | {one.machines:,} | {rounded(one.ms)}"
        recall = "exact" if one.recall == 1 else f"{one.recall:g}"
        print(f"| {one.name} | {sizes} | {recall} | {'' if one.fits else 'too much'} |")


def rounded(x: float) -> str:
    """To three digits."""
    return f"{float(f'{x:.3g}'):,.10g}"


def said_shortly(n: float) -> str:
    """1.2 million, say."""
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if n >= size:
            return f"{n / size:.3g}{name}"
    return f"{n:.3g}"


if __name__ == "__main__":
    main()
