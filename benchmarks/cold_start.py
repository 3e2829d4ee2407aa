"""How long is a question from a cold start, against a sentence-transformers and FAISS script?

    python benchmarks/cold_start.py FOLDER [--passages 5000] [--repeats 5]

Makes an index of about that many passages, writes the same vectors to a plain FAISS file, and then times
whole processes in turn: `seewhy query`, `seewhy --help`, `import torch`, and a script that imports
sentence-transformers and faiss, loads the same model and index, and answers the same question. Medians; the
ratio is the median of the ratios within a turn. Then, in one process: `index.query` warm, against the bare
engine call plus the bare FAISS search.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from encoder import copy_files
from machine import headline

from search import Encoder, Index
from search.store.database import reading
from search.store.layout import DATABASE
from search.store.stored_vectors import embeddings

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
    args = parser.parse_args()
    print(headline("openvino", "faiss-cpu", "torch", "sentence-transformers"))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": str(Path(place) / "home"), "HF_HUB_OFFLINE": "1"}
        run(args.folder, Path(place), args.passages, args.repeats)


def run(folder: Path, place: Path, n: int, repeats: int) -> None:
    import faiss

    encoder = Encoder(offline=True)
    copy_files(folder, place / "files", n, encoder)
    index = Index.build(place / "files", offline=True)
    with reading(index.path / DATABASE) as connection:
        vectors = np.concatenate([block for _, block in embeddings(connection, encoder.dimension)])
        texts = [row[0] for row in connection.execute("SELECT text FROM passages ORDER BY id")]
    flat = faiss.IndexFlatIP(encoder.dimension)
    flat.add(vectors)
    faiss.write_index(flat, str(place / "plain.faiss"))
    (place / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (place / "script.py").write_text(SCRIPT, encoding="utf-8")
    print(f"{len(texts)} passages\n")

    seewhy = [sys.executable, "-m", "search"]
    script = [
        sys.executable,
        place / "script.py",
        encoder.files.folder,
        place / "plain.faiss",
        place / "texts.json",
    ]
    commands = {
        "sentence-transformers + FAISS": [*script, QUESTION],
        "import torch": [sys.executable, "-c", "import torch"],
        "seewhy query": [*seewhy, "query", QUESTION, "--index", index.path],
        "seewhy --help": [*seewhy, "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats + 1):  # the first warms the file cache and is not counted
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
            if turn:
                seconds[name].append(time.perf_counter() - started)
    base = seconds["sentence-transformers + FAISS"]
    print(f"{'':32}{'median s':>9}{'ratio':>8}   range")
    for name, times in seconds.items():
        ratio = statistics.median(b / t for b, t in zip(base, times, strict=True))
        print(
            f"{name:32}{statistics.median(times):>9.2f}{ratio:>8.1f}   {min(times):.2f} to {max(times):.2f}"
        )

    def bare() -> None:
        flat.search(encoder.encode([QUESTION]), 10)

    index.query(QUESTION)
    warm, floor = timed(lambda: index.query(QUESTION)), timed(bare)
    ratio = warm / floor
    print(
        f"\nwarm index.query {warm * 1e3:.2f} ms, bare engine and FAISS {floor * 1e3:.2f} ms, ratio {ratio:.2f}"
    )


def timed(work: Callable[[], object]) -> float:
    """Median seconds of a call, of 200 after 20."""
    times = []
    for _ in range(220):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times[20:])


if __name__ == "__main__":
    main()
