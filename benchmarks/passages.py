"""Which passage size, how much overlap, whether to encode headings with a passage: measured.

    python benchmarks/passages.py DATA... [--sizes 60 120 240] [--overlaps 0 20] [--no-headings] [--wiki]

DATA: folders of questions with gold spans (see spans.py), or of collections in BEIR's layout.
A table for each set and way of ranking. Of gold spans, by character: recall, precision and intersection over union
of the best 5 and 10 passages, and of the best passages up to a budget of tokens, the last one cut off where the budget
ends, so that passages get no advantage by being long. Of collections: nDCG@10, a document being as good as its best
passage. Below each figure stands the 95 % bootstrap interval of its difference to the first row, on the same queries.

`--wiki` makes headings of the lines ` = = Words = = ` in gold-span sets and of every ` = Title = ` a document, and asks
only the questions about such texts: a test of heading context, as other sets have no headings. `--tails` is for each
setting again with short pieces left as they fall. `--vectors FILE` keeps embeddings for the next run. Ranking
is exact and by the code of an index, but in memory.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from machine import headline
from numpy.typing import NDArray
from spans import Span, Spans, read_spans, span_values

from search.corpus import Cutter, Skipped, cut, documents, load, walk
from search.encoding import Encoder
from search.encoding.encoder import with_context
from search.evaluating.formats import Query, Retrieval, read_beir
from search.evaluating.metrics import ranking_values
from search.records.documents import ParsedDocument
from search.records.options import WEIGHT
from search.statistics import mean_of
from search.store.bm25 import KeywordIndex, KeywordScores, discriminative
from search.store.postings import PostingsBlock, build_block
from search.store.terms import Stemmer, indexable

K = 10
RANKINGS = {"dense": 1.0, "hybrid": WEIGHT}  # and what the cosine counts
Figures = dict[str, "NDArray[np.float64]"]  # each of all queries


@dataclass(frozen=True)
class Setting:
    size: int
    overlap: int  # in per cent of the size
    headings: bool
    evened: bool = True

    def cutter(self, encoder: Encoder) -> Cutter:
        return Cutter(
            encoder.tokenizer,
            max_tokens=encoder.max_tokens,
            passage_tokens=self.size,
            overlap=self.size * self.overlap // 100,
            heading_context=self.headings,
        )

    def __str__(self) -> str:
        flags = ("yes" if flag else "no" for flag in (self.headings, self.evened))
        return f"{self.size} | {self.overlap} % | {' | '.join(flags)}"


@dataclass(frozen=True)
class Texts:
    """The passages of a set: where they are, how long they are, what is encoded."""

    spans: list[Span]
    tokens: list[int]
    contexts: list[str]
    texts: list[str]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[120, 60, 90, 160, 200, 240])
    parser.add_argument("--overlaps", type=int, nargs="+", default=[0], help="in per cent of the size")
    parser.add_argument(
        "--no-headings", action="store_true", help="each setting without heading context, too"
    )
    parser.add_argument("--budget", type=int, default=600, help="of tokens")
    parser.add_argument("--wiki", action="store_true")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--vectors", type=Path, default=":memory:")
    args = parser.parse_args()
    print(headline("openvino", "semantic-text-splitter", "numpy"), flush=True)
    vectors = Vectors(Encoder(offline=True), args.vectors)
    headings = (True, False) if args.no_headings else (True,)
    evened = (True, False) if args.tails else (True,)
    settings = [Setting(*choice) for choice in product(args.sizes, args.overlaps, headings, evened)]
    for folder in args.data:
        data = read_spans(folder) if (folder / "questions.jsonl").is_file() else read_beir(folder)
        found = read(data, wiki=args.wiki)
        if args.wiki:
            assert isinstance(data, Spans)
            articles = Counter(name for name, *_ in found)
            asked = [query for query in data.queries if articles[data.gold[query.id][0].document] > 1]
            data = replace(data, queries=tuple(asked))
        rows: dict[str, list[tuple[Setting, int, Figures]]] = {name: [] for name in RANKINGS}
        for setting in settings:
            with left_as_they_fall() if not setting.evened else nullcontext():
                texts = passages(found, setting.cutter(vectors.encoder), vectors.encoder)
            for name, figures in measured(data, texts, vectors, args.budget).items():
                rows[name].append((setting, len(texts.texts), figures))
        for name in RANKINGS:
            print(f"\n{data.name}, {name}, {len(data.queries)} queries{', wiki headings' * args.wiki}\n")
            print_table(rows[name])


def print_table(rows: Sequence[tuple[Setting, int, Figures]]) -> None:
    """Means, and below them how far from the first row they are."""
    first = rows[0][2]
    print(f"| tokens | overlap | headings | evened | passages | {' | '.join(first)} |")
    print("|---" * (5 + len(first)) + "|")
    for setting, count, figures in rows:
        cells = [f"{figures[name].mean():.4f}" for name in first]
        print(f"| {setting} | {count} | {' | '.join(cells)} |")
        if figures is not first:
            gaps = [mean_of(figures[name] - first[name]) for name in first]
            print(
                f"| | | | | | {' | '.join(f'{gap.low:+.3f} to {gap.high:+.3f}' for gap in gaps)} |",
                flush=True,
            )


class Vectors:
    """Embeddings, each text's once."""

    def __init__(self, encoder: Encoder, kept: Path) -> None:
        self.encoder = encoder
        self._kept = sqlite3.connect(kept)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)")

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) embeddings of passages."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._one(key) is None}
        if missing:
            made = self.encoder.encode(list(missing.values()), role="document")
            rows = zip(missing, (vector.tobytes() for vector in made), strict=True)
            with self._kept:
                self._kept.executemany("INSERT INTO vectors VALUES (?, ?)", rows)
        return np.stack([np.frombuffer(self._one(key) or b"", dtype=np.float32) for key in keys])

    def _one(self, key: bytes) -> bytes | None:
        found = self._kept.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return found[0] if found else None


def read(data: Retrieval | Spans, *, wiki: bool) -> list[tuple[str, int, ParsedDocument]]:
    """Documents, each with its name in the data and where in that it begins."""
    if isinstance(data, Retrieval):
        found = [document for path, document in documents_of(data.source) if path == "corpus.jsonl"]
        return [(str(document.metadata["_id"]), 0, document) for document in found]
    if not wiki:
        return [(path, 0, document) for path, document in documents_of(data.folder)]
    with tempfile.TemporaryDirectory() as made:
        for path in sorted(data.folder.glob("*.md")):
            text = path.read_bytes().decode("utf-8")
            starts = sorted(
                {0, *(title.start() for title in re.finditer(r"^ = [^=\n]+ = $", text, re.M))}
            )
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
                part = re.sub(r"^ ((?:= )+)([^=\n]+?) ((?:= )+)$", _heading, text[start:end], flags=re.M)
                (Path(made) / f"{start}.{path.name}").write_bytes(part.encode("utf-8"))
        return [
            (path.split(".", 1)[1], int(path.split(".", 1)[0]), document)
            for path, document in documents_of(Path(made))
        ]


def _heading(found: re.Match[str]) -> str:
    """A heading in Markdown, as long as what stood there."""
    return f"{'#' * (len(found[1]) // 2)} {found[2]}".ljust(len(found[0]))


def documents_of(folder: Path) -> Iterator[tuple[str, ParsedDocument]]:
    for file in walk(folder):
        if not isinstance(file, Skipped):
            for item in documents(file, load(file)):
                if isinstance(item, ParsedDocument):  # and no record without text
                    yield file.path, item


@contextmanager
def left_as_they_fall() -> Iterator[None]:
    """Cut as if nobody looked at short pieces."""
    with patch.object(cut, "even_out", lambda _text, spans, *_: spans):
        yield


def passages(found: Sequence[tuple[str, int, ParsedDocument]], cutter: Cutter, encoder: Encoder) -> Texts:
    placed = [(name, offset, p) for name, offset, document in found for p in cutter.cut(document)]
    texts = [p.visible_text for *_, p in placed]
    counted = encoder.tokenizer.encode_batch(texts, add_special_tokens=False)
    return Texts(
        [Span(name, p.start + offset, p.end + offset) for name, offset, p in placed],
        [len(one.ids) for one in counted],
        [p.context for *_, p in placed],
        texts,
    )


def measured(data: Retrieval | Spans, texts: Texts, vectors: Vectors, budget: int) -> dict[str, Figures]:
    """The figures of each query, for each way of ranking."""
    encoded = vectors.of([with_context(*pair) for pair in zip(texts.contexts, texts.texts, strict=True)])
    asked = vectors.encoder.encode([query.text for query in data.queries], role="query", truncate=True)
    cosines = asked @ encoded.T
    words = word_scores(texts)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in RANKINGS}
    for query, cosine in zip(data.queries, cosines, strict=True):
        lexical = words(query)
        for name, weight in RANKINGS.items():
            order = np.argsort(-(weight * cosine + (1 - weight) * lexical), kind="stable")
            if isinstance(data, Spans):
                found[name].append(of_spans(data, query, order, texts, budget))
            else:
                found[name].append(of_documents(data, query, order, texts))
    return {
        name: {key: np.array([one[key] for one in values]) for key in values[0]}
        for name, values in found.items()
    }


def word_scores(texts: Texts) -> Callable[[Query], NDArray[np.float64]]:
    """What tells the word part of every passage for a query, as an index does."""
    stemmer, texts_of = Stemmer(), zip(texts.contexts, texts.texts, strict=True)
    rows = [
        (number, indexable(context, text)) for number, (context, text) in enumerate(texts_of, start=1)
    ]
    chunks = [rows[start : start + 4096] for start in range(0, len(rows), 4096)]
    blocks = [PostingsBlock(build_block(stemmer, chunk)) for chunk in chunks]
    keywords, every = KeywordIndex(stemmer, blocks, [None] * len(blocks)), np.arange(1, len(rows) + 1)

    def scores(query: Query) -> NDArray[np.float64]:
        typed = stemmer.terms(query.text)
        counts = [keywords.hits(term, lambda ids: ()).count for term in typed]
        found = [keywords.hits(term, lambda ids: ()) for term in discriminative(typed, counts, len(rows))]
        return KeywordScores(keywords, found, found).of(every)

    return scores


def of_spans(
    data: Spans, query: Query, order: NDArray[np.int64], texts: Texts, budget: int
) -> dict[str, float]:
    gold = data.gold[query.id]
    values: dict[str, float] = {}
    best = [texts.spans[i] for i in order[:K]]
    for k in (5, K):
        values |= {
            name: value for name, value in span_values(best, gold, k).items() if name[:2] in ("re", "io")
        }
    within = affordable(order, texts, budget)
    of_all = span_values(within, gold, len(within))
    return values | {
        f"{name}@{budget}t": of_all[f"{name}@{len(within)}"] for name in ("recall", "precision", "iou")
    }


def affordable(order: NDArray[np.int64], texts: Texts, budget: int) -> list[Span]:
    """The best passages until they have so many tokens; of the last one as much as there is room for."""
    spans = []
    for i in order:
        span, tokens = texts.spans[i], texts.tokens[i]
        share = min(1.0, budget / tokens)
        spans.append(Span(span.document, span.start, span.start + round((span.end - span.start) * share)))
        budget -= tokens
        if budget <= 0:
            break
    return spans


def of_documents(
    data: Retrieval, query: Query, order: NDArray[np.int64], texts: Texts
) -> dict[str, float]:
    ranked = list(dict.fromkeys(texts.spans[i].document for i in order))
    values = ranking_values(ranked, data.judgements[query.id], K)
    return {name: values[name] for name in (f"ndcg@{K}", f"mrr@{K}", "recall@100")}


if __name__ == "__main__":
    main()
