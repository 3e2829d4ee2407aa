"""How far does an index on a Milvus server agree with the index in a folder, and what does an update of one file take?

    python benchmarks/server.py FOLDER QUESTIONS.json|QUERIES.jsonl ... [--files 60] [--index FLAT] [--generated N]

FOLDER is indexed on this machine and streamed to a server (milvus-lite, on loopback); each text is encoded once. The
questions are put to both: the share of the first ten hits that both have, how many lists are the same in the same
order, by how much the scores of common hits differ, and the requests and milliseconds of a query. Then a paragraph is
added to one file, three times, and the update timed.

With --files, another folder of so many of its files is measured first. With --generated, N passages of random words
and random embeddings are streamed, 20 in each file, and only updates are timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pymilvus
from machine import headline

from search import Encoder, Index
from tests.milvus_server import MilvusServer

UPDATES = 3
PASSAGES_OF_A_FILE, WORDS_OF_A_PASSAGE = 20, 40


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="*")
    parser.add_argument(
        "--files", type=int, default=0, help="measure a folder of so many of the files first"
    )
    parser.add_argument("--index", default="FLAT", help="the kind of the server's index of embeddings")
    parser.add_argument("--generated", type=int, default=0, help="passages")
    args = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    print(headline("pymilvus", "milvus-lite", "numpy"), end="\n\n", flush=True)
    questions = [text for path in args.questions for text in read(path)]
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["SEEWHY_HOME"] = f"{temporary}/home"
        server = MilvusServer(Path(temporary) / "milvus")
        server.start()
        try:
            if args.generated:
                folder = generated(Path(temporary) / "generated", args.generated)
                with encoding(random_embeddings):
                    far = streamed(server, folder, args.index)
                    update(far, folder)
            if args.folder:
                for number in filter(None, (args.files, -1)):
                    folder = copied(args.folder, Path(temporary) / f"files{number}", number)
                    with encoding(once(Encoder.encode)):
                        near = Index.build(folder, index=f"near{number}", offline=True)
                        far = streamed(server, folder, args.index)
                    compare(near, far, questions)
                    update(far, folder)
        finally:
            server.kill()


def read(path: Path) -> list[str]:
    """The questions of a file, whether a list of {"query"} or lines of {"text"}."""
    if path.suffix == ".json":
        return [one["query"] for one in json.loads(path.read_text("utf-8"))]
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


def copied(folder: Path, place: Path, number: int) -> Path:
    """A folder with the first files of another, evenly spread; with all for -1."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    step = max(1, len(files) // number) if number > 0 else 1
    for path in files[::step][: number if number > 0 else None]:
        target = place / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return place


def streamed(server: MilvusServer, folder: Path, kind: str) -> Index:
    started = time.perf_counter()
    far = Index.build(
        folder, index=folder.name, store=f"{server.uri}/{folder.name.replace('-', '_')}", store_index=kind,
        offline=True,
    )  # fmt: skip
    seconds, passages = time.perf_counter() - started, far.status().passages
    print(f"\n{passages:,} passages streamed in {seconds:.0f} s", flush=True)
    return far


def compare(near: Index, far: Index, questions: Sequence[str]) -> None:
    shares, same, differences, times, requests = [], 0, [0.0], [], []
    far.query(questions[0])
    for text in questions:
        mine = near.query(text)
        with counted() as made:
            started = time.perf_counter()
            theirs = far.query(text)
            times.append(1000 * (time.perf_counter() - started))
        requests.append(sum(made.values()))
        scores = {(hit.document, hit.start): hit.score for hit in mine}
        found = {(hit.document, hit.start): hit.score for hit in theirs}
        shares.append(len(scores.keys() & found.keys()) / max(1, len(scores)))
        same += list(scores) == list(found)
        differences += [abs(scores[one] - found[one]) for one in scores.keys() & found.keys()]
    print(
        "| passages | questions | first ten in both | same lists | scores differ by | requests, most | ms, median |"
    )
    print("|---|---|---|---|---|---|---|")
    print(f"| {near.status().passages:,} | {len(questions)} | {statistics.mean(shares):.3f} | {same} "
          f"| {max(differences):.1e} | {max(requests)} | {statistics.median(times):.0f} |", flush=True)  # fmt: skip


def update(far: Index, folder: Path) -> None:
    """Add a paragraph to one file, and time what the run takes that sees it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) < 10:
        return
    path = files[7]
    quiet, _ = timed(far.update)
    for number in range(UPDATES):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\nA paragraph, number {number}, that was not there before.\n")
        with counted() as made:
            seconds, report = timed(far.update)
        print(f"update of one file: {seconds:.2f} s, {sum(made.values())} requests, {report.encoded + report.reused} "
              f"passages written of {report.passages:,}; with nothing to do: {quiet:.2f} s", flush=True)  # fmt: skip


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    made = call()
    return time.perf_counter() - started, made


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The requests that are sent, by their kind."""
    made = Counter[str]()

    def counting(name: str) -> Any:
        real = getattr(pymilvus.MilvusClient, name)

        def call(self: Any, *args: Any, **options: Any) -> Any:
            made[name] += 1
            return real(self, *args, **options)

        return patch.object(pymilvus.MilvusClient, name, call)

    names = (
        "search",
        "query",
        "upsert",
        "delete",
        "describe_alias",
        "has_collection",
        "list_collections",
    )
    patches = [counting(name) for name in names]
    for one in patches:
        one.start()
    try:
        yield made
    finally:
        for one in patches:
            one.stop()


@contextmanager
def encoding(encode: Any) -> Iterator[None]:
    with patch.object(Encoder, "encode", encode):
        yield


def once(encode: Any) -> Any:
    """As `encode`, but a text that was encoded before is not encoded again."""
    known: dict[str, np.ndarray[Any, Any]] = {}

    def found(self: Any, texts: Sequence[str], **options: Any) -> Any:
        texts = list(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, encode(self, new, **options), strict=True))
        return np.array([known[text] for text in texts]).reshape(len(texts), -1)

    return found


def random_embeddings(self: Any, texts: Sequence[str], **options: Any) -> Any:
    vectors = np.random.default_rng(len(texts)).normal(size=(len(texts), self.dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def generated(place: Path, passages: int) -> Path:
    """A folder of files of random words, each a heading and a paragraph for every passage."""
    chance, words = random.Random(0), [f"word{number}" for number in range(20_000)]
    for number in range(passages // PASSAGES_OF_A_FILE):
        path = place / f"{number // 1000}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = (
            f"# {chance.choice(words)}\n\n{' '.join(chance.choices(words, k=WORDS_OF_A_PASSAGE))}"
            for _ in range(PASSAGES_OF_A_FILE)
        )
        path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return place


if __name__ == "__main__":
    main()
