"""Which passage size, and whether to encode headings with a passage, measured.

    python benchmarks/passages.py ../shared/data [--sizes 80 120 160 200] [--chunking-files wikitexts.md ...]

Two sets. `chunking`: Markdown corpora, questions, gold character spans; passages of all corpora are ranked
together, and the figure is the share of gold characters among the best passages up to a budget of
500 and 1,000 tokens, so that long passages get no advantage by being long. `time`: long news articles;
a document is as good as its best passage, and the figure is nDCG@10. Both with the default model, dense.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from search.corpus import Cutter, documents, load, walk
from search.encoding import Encoder
from search.encoding.encoder import with_context
from search.records import Document

BUDGETS = (500, 1000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[80, 120, 160, 200])
    parser.add_argument("--chunking-files", nargs="+", default=None)
    args = parser.parse_args()
    encoder = Encoder(offline=True)
    print(
        f"{'tokens':>6} {'headings':>8} {'recall@500':>10} {'recall@1000':>11} {'TIME nDCG@10':>12} {'seconds':>8}"
    )
    for size in args.sizes:
        for headings in (True, False):
            started = time.monotonic()
            cutter = Cutter(
                encoder.tokenizer,
                max_tokens=encoder.max_tokens,
                passage_tokens=size,
                heading_context=headings,
            )
            recalls = chunking(args.data / "chunking", encoder, cutter, args.chunking_files)
            ndcg = time_set(args.data / "retrieval" / "time", encoder, cutter)
            seconds = time.monotonic() - started
            print(
                f"{size:>6} {headings!s:>8} {recalls[0]:>10.4f} {recalls[1]:>11.4f} {ndcg:>12.4f} {seconds:>8.0f}",
                flush=True,
            )


def read_folder(folder: Path, names: list[str] | None = None) -> dict[str, list[Document]]:
    found = {}
    for file in walk(folder):
        if hasattr(file, "absolute") and (names is None or file.path in names):
            found[file.path] = [item for item in documents(file, load(file)) if isinstance(item, Document)]
    return found


def chunking(folder: Path, encoder: Encoder, cutter: Cutter, names: list[str] | None) -> list[float]:
    """Mean share of gold characters among the best passages, for each budget of tokens."""
    corpora = read_folder(folder / "corpora", names)
    passages = [(Path(path).stem, p) for path, docs in corpora.items() for p in cutter.cut(docs[0])]
    vectors = encoder.encode([with_context(p.context, p.text) for _, p in passages])
    sizes = [
        len(e.ids)
        for e in encoder.tokenizer.encode_batch([p.text for _, p in passages], add_special_tokens=False)
    ]
    with (folder / "questions.jsonl").open(encoding="utf-8") as stream:
        questions = [json.loads(line) for line in stream]
    questions = [q for q in questions if f"{q['corpus_id']}.md" in corpora]
    asked = encoder.encode([q["text"] for q in questions], truncate=True)
    recalls: dict[int, list[float]] = defaultdict(list)
    for question, row in zip(questions, asked @ vectors.T, strict=True):
        order = np.argsort(-row)
        spans = [(s["start_index"], s["end_index"]) for s in question["references"]]
        for budget in BUDGETS:
            spent, covered = 0, set()
            for i in order:
                name, p = passages[i]
                if spent and spent + sizes[i] > budget:
                    break
                spent += sizes[i]
                if name == question["corpus_id"]:
                    covered.update(range(p.start, p.end))
            gold = {c for start, end in spans for c in range(start, end)}
            recalls[budget].append(len(gold & covered) / len(gold))
    return [float(np.mean(recalls[budget])) for budget in BUDGETS]


def time_set(folder: Path, encoder: Encoder, cutter: Cutter) -> float:
    """nDCG@10 of documents ranked by their best passage."""
    (docs,) = (found for path, found in read_folder(folder).items() if path == "corpus.jsonl")
    passages = [(str(d.metadata["_id"]), p) for d in docs for p in cutter.cut(d)]
    vectors = encoder.encode([with_context(p.context, p.text) for _, p in passages])
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels[query][document] = int(grade)
    with (folder / "queries.jsonl").open(encoding="utf-8") as stream:
        queries = {q["_id"]: q["text"] for q in map(json.loads, stream) if q["_id"] in qrels}
    found = []
    for id_, row in zip(
        queries, encoder.encode(list(queries.values()), truncate=True) @ vectors.T, strict=True
    ):
        best: dict[str, float] = {}
        for (document, _), score in zip(passages, row, strict=True):
            best[document] = max(best.get(document, -1.0), float(score))
        ranked = sorted(best, key=lambda d: -best[d])[:10]
        gains = [qrels[id_].get(d, 0) / math.log2(rank + 2) for rank, d in enumerate(ranked)]
        ideal = sorted(qrels[id_].values(), reverse=True)[:10]
        found.append(sum(gains) / sum(g / math.log2(rank + 2) for rank, g in enumerate(ideal)))
    return float(np.mean(found))


if __name__ == "__main__":
    main()
