"""How long is a question from a cold start, against a sentence-transformers and FAISS script?

    python benchmarks/cold_start.py FOLDER [--passages 5000] [--repeats 5] [--no-reference]

Makes an index of about that many passages, writes the same vectors to a plain FAISS file, and then times
whole processes in turn: `seewhy query`, the same through a running `seewhy serve`, `seewhy --help`, `import torch`,
and a script that imports sentence-transformers and faiss, loads the same model and index, and answers the same
question. Medians; the ratio is the median of the ratios within a turn. Then, in one process: `index.query` warm,
against the bare engine call plus the bare FAISS search.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from encoder import copy_files
from machine import headline

from search import Encoder, Index
from search.store.snapshot import Store

QUESTION = "how are names resolved in nested scopes"
SCRIPT = """
import json, sys
import faiss
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
index = faiss.read_index(sys.argv[2])
texts = json.load(open(sys.argv[3], encoding="utf-8"))
scores, ids = index.search(model.encode([sys.argv[4]], normalize_embeddings=True), 10)
for score, i in zip(scores[0], ids[0]):
    print(round(float(score), 3), texts[i][:60])
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200, help="of a warm query")
    parser.add_argument(
        "--no-reference", action="store_true", help="only seewhy's own processes, the first is 1"
    )
    args = parser.parse_args()
    print(headline("openvino", "faiss-cpu", "torch", "sentence-transformers"))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": str(Path(place) / "home"), "HF_HUB_OFFLINE": "1"}
        run(args.folder, Path(place), args)


def run(folder: Path, place: Path, args: argparse.Namespace) -> None:
    import faiss

    encoder = Encoder(offline=True)
    copy_files(folder, place / "files", args.passages, encoder)
    index = Index.build(place / "files", offline=True)
    with Store(index.path).reading() as snapshot:
        vectors = np.concatenate([block for _, block in snapshot.embedding_blocks()])
        stored = snapshot.stored(snapshot.ids().tolist())
    texts = [stored[id_].visible_text for id_ in sorted(stored)]
    flat = faiss.IndexFlatIP(encoder.dimension)
    flat.add(vectors)
    faiss.write_index(flat, str(place / "plain.faiss"))
    (place / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (place / "script.py").write_text(SCRIPT, encoding="utf-8")
    print(f"{len(texts)} passages\n")

    seewhy: list[object] = [sys.executable, "-m", "search"]
    script: list[object] = [
        sys.executable,
        place / "script.py",
        encoder.files.folder,
        place / "plain.faiss",
        place / "texts.json",
    ]
    reference: dict[str, list[object]] = {
        "sentence-transformers + FAISS": [*script, QUESTION],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    query = [*seewhy, "query", QUESTION, "--index", index.path]
    commands: dict[str, list[object]] = {
        **({} if args.no_reference else reference),
        "seewhy query": [*query, "--engine", "openvino"],
        "seewhy query, a server running": query,
        "seewhy --help": [*seewhy, "--help"],
    }
    with serving([*seewhy, "serve", "--port", "0", "--index", index.path]):
        compare(commands, args.repeats)

    def bare() -> None:
        flat.search(encoder.encode([QUESTION]), 10)

    index.query(QUESTION)
    warm, floor = timed(lambda: index.query(QUESTION), args.calls), timed(bare, args.calls)
    ratio = warm / floor
    print(
        f"\nwarm index.query {warm * 1e3:.2f} ms, bare engine and FAISS {floor * 1e3:.2f} ms, ratio {ratio:.2f}"
    )


@contextmanager
def serving(command: list[object]) -> Iterator[None]:
    """A server that has loaded what it needs to answer the command, until this is left."""
    server = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert server.stderr is not None
        address = re.search(r"http://\S+", server.stderr.readline())
        assert address is not None
        for _ in range(600):
            with suppress(OSError):
                urllib.request.urlopen(f"{address[0].rstrip('/')}/readyz").close()
                break
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def compare(commands: dict[str, list[object]], repeats: int) -> None:
    """Time commands in turn, and print medians and ratios."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats + 1):  # the first warms the file cache and is not counted
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
            if turn:
                seconds[name].append(time.perf_counter() - started)
    base = next(iter(seconds.values()))
    print(f"{'':32}{'median s':>9}{'ratio':>8}   range")
    for name, times in seconds.items():
        ratio = statistics.median(b / t for b, t in zip(base, times, strict=True))
        print(
            f"{name:32}{statistics.median(times):>9.2f}{ratio:>8.1f}   {min(times):.2f} to {max(times):.2f}"
        )


def timed(work: Callable[[], object], calls: int) -> float:
    """Median seconds of a call, after 20."""
    times = []
    for _ in range(20 + calls):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times[20:])


if __name__ == "__main__":
    main()
