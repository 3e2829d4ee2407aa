"""Folders of any number of passages that look like real ones, and their indexes without a model: for scale.py.

The first passages are real ones with their embeddings. Each further one has the text of two that are near each other,
some sentences of each, so words are as frequent as they are; and the normalised mix of their embeddings, with some
noise, so neighbourhoods are about as dense as they are. Documents have 1 to 30 passages, one file each. The seed
decides all.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from search import Encoder, Index
from search.encoding.encoder import Role
from search.indexing import run, sampling
from search.indexing.compare import RunPlan
from search.indexing.update import update
from search.records.documents import LineMap, ParsedDocument, Passage
from search.records.reports import Outcome
from search.records.visible_text import visible
from search.store.settings import PassageSettings, Source
from search.store.writer import FileUpdate, Writer
from tests.faults.double import WordEncoder

MOST_OF_A_DOCUMENT = 30
NEIGHBOURS, NOISE = 10, 0.05
_BATCH = 512
_FILES_OF_A_FOLDER = 500
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Made:
    """A passage that was made up: its text, what is encoded before it, and its embedding."""

    text: str
    context: str
    vector: NDArray[np.float32]


class Documents(Protocol):
    def document(self, number: int) -> list[Made]: ...


@dataclass
class Corpus:
    """Real passages, and any number made of them.

    Attributes:
        texts: without markup; `contexts`, what is encoded before them; `vectors`, (n, d) unit length.
        near: (n, 10) the rows of the nearest others.
    """

    texts: list[str]
    contexts: list[str]
    vectors: NDArray[np.float32]
    near: NDArray[np.int64]
    seed: int = 0
    starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        sizes = np.random.default_rng(self.seed).integers(1, MOST_OF_A_DOCUMENT + 1, 1_000_000)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self._sentences = [_SENTENCE_END.split(text) for text in self.texts]

    @classmethod
    def of(cls, place: Path, seed: int) -> Corpus:
        """Of what `prepared` wrote."""
        with np.load(place, allow_pickle=False) as kept:
            texts, contexts = json.loads(str(kept["texts"]))
            return cls(texts, contexts, kept["vectors"], kept["near"], seed)

    def documents(self, passages: int) -> int:
        """How many documents have so many passages; the last may be cut short."""
        return int(np.searchsorted(self.starts, passages))

    def document(self, number: int) -> list[Made]:
        chance = np.random.default_rng((self.seed, number))
        rows = range(int(self.starts[number]), int(self.starts[number + 1]))
        return [self._passage(row, chance) for row in rows]

    def _passage(self, row: int, chance: np.random.Generator) -> Made:
        if row < len(self.texts):
            return Made(self.texts[row], self.contexts[row], self.vectors[row])
        a = int(chance.integers(len(self.texts)))
        b = int(chance.choice(self.near[a]))
        share = chance.uniform(0.25, 0.75)
        noise = chance.standard_normal(self.vectors.shape[1]) * NOISE / np.sqrt(self.vectors.shape[1])
        mixed = share * self.vectors[a] + (1 - share) * self.vectors[b] + noise
        text = " ".join(
            _some(self._sentences[a], share, chance) + _some(self._sentences[b], 1 - share, chance)
        )
        return Made(text, self.contexts[a], (mixed / np.linalg.norm(mixed)).astype(np.float32))


def _some(sentences: Sequence[str], share: float, chance: np.random.Generator) -> list[str]:
    """About that share of the sentences of a text, in their order."""
    n = max(1, round(share * len(sentences)))
    return [sentences[i] for i in np.sort(chance.choice(len(sentences), n, replace=False))]


def prepared(source: Path, place: Path) -> None:
    """Write down the passages of an index, or of a folder, which is indexed first, and which are near each other."""
    import faiss

    index = source if (source / "index.db").exists() else Index.build(source, offline=True).path
    with closing(sqlite3.connect(f"file:{index / 'index.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT text, hidden, context, vector FROM passages JOIN embeddings ON passage = id ORDER BY id"
        ).fetchall()
    texts = [visible(text, json.loads(hidden)).strip() for text, hidden, _, _ in rows]
    vectors = np.frombuffer(b"".join(row[3] for row in rows), dtype="<f4").reshape(len(rows), -1)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    _, near = flat.search(vectors, min(NEIGHBOURS, len(rows) - 1) + 1)
    kept = json.dumps([texts, [row[2] for row in rows]])
    np.savez(place, texts=np.array(kept), vectors=vectors, near=near[:, 1:])


def fill(folder: Path, corpus: Documents, numbers: Sequence[int]) -> None:
    """Write documents as files."""
    for number in numbers:
        path = folder / f"{number // _FILES_OF_A_FOLDER:04}" / f"{number:07}.txt"
        if path.exists():  # from a run that was stopped
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(made.text for made in corpus.document(number)), encoding="utf-8")


class StandIn(Encoder):
    """The default encoder, but the embeddings of passages are those that were made up."""

    def __init__(self) -> None:
        super().__init__(offline=True)
        self.made_up: dict[str, NDArray[np.float32]] = {}

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        if role == "document":
            return np.array([self.made_up[text] for text in texts])
        return super().encode(texts, role=role, truncate=truncate, progress=progress)


@dataclass
class Build:
    """What a run of the product's own indexing took, with made-up embeddings.

    Attributes:
        commits: (seconds, of the processor) of each batch of passages or of embeddings that was stored.
        pairs: likewise of the random pairs; `end`, of all else after the last commit.
    """

    commits: list[tuple[float, float]] = field(default_factory=list)
    pairs: tuple[float, float] = (0.0, 0.0)
    end: tuple[float, float] = (0.0, 0.0)


class _Clock:
    def __init__(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def since(self) -> tuple[float, float]:
        """Seconds, and of the processor."""
        return time.perf_counter() - self._begun[0], time.process_time() - self._begun[1]


def build(folder: Path, index: Path, corpus: Documents, encoder: Any, taken: Build | None = None) -> None:
    """Bring an index up to date with a folder that `fill` filled; no file is read, cut or looked at for boilerplate."""
    taken, last = taken or Build(), _Clock()
    renew = sampling.renew_baseline

    def timed(commit: Callable[..., None]) -> Callable[..., None]:
        def timed_commit(*arguments: Any, **options: Any) -> None:
            nonlocal last
            begun = _Clock()
            commit(*arguments, **options)
            taken.commits.append(begun.since())
            last = _Clock()

        return timed_commit

    def timed_renew(*arguments: Any) -> None:
        begun = _Clock()
        renew(*arguments)
        taken.pairs = begun.since()

    def batches(_: object, plan: RunPlan, *__: object) -> Iterator[list[FileUpdate]]:
        return _batches(plan, corpus, encoder)

    with ExitStack() as patched:
        for owner, name, instead in (
            (Writer, "store", timed(Writer.store)),
            (Writer, "put_embeddings", timed(Writer.put_embeddings)),
            (run.Run, "_boilerplate", lambda self, plan: frozenset()),
            (run, "renew_baseline", timed_renew),
            (run, "batches_ahead", batches),
        ):
            patched.enter_context(patch.object(owner, name, instead))
        update(folder, index, encoder, settings=PassageSettings(), source=Source())
    (wall, processor), pairs = last.since(), taken.pairs
    taken.end = wall - pairs[0], processor - pairs[1]


def _batches(plan: RunPlan, corpus: Documents, encoder: Any) -> Iterator[list[FileUpdate]]:
    batch: list[FileUpdate] = []
    for file, _ in plan.changed:
        made = corpus.document(int(Path(file.path).stem))
        document, passages = _cut(file.path, made)
        encoder.made_up |= {p.encoded: m.vector for p, m in zip(passages, made, strict=True)}
        sha256 = hashlib.sha256(document.text.encode()).hexdigest()
        batch.append(
            FileUpdate(file, sha256, [(document, passages)], {0}, last=True, outcome=Outcome.ADDED)
        )
        if sum(work.n_passages for work in batch) >= _BATCH:
            yield batch
            batch = []
            encoder.made_up.clear()
    if batch:
        yield batch


def _cut(path: str, made: Sequence[Made]) -> tuple[ParsedDocument, list[Passage]]:
    text, passages, start, line = "\n\n".join(one.text for one in made), [], 0, 1
    for one in made:
        end, last = start + len(one.text), line + one.text.count("\n")
        n_tokens = len(one.text) // 4
        passages.append(Passage(start, end, one.text, "", one.context, line, last, n_tokens))
        start, line = end + 2, last + 2
    return ParsedDocument(path, "text", text, Path(path).stem, LineMap([0], [1]), ()), passages


class Adversarial:
    """Passages whose embeddings are hard to tell apart.

    Of each kind some: the same vector, and the opposite of it; one dimension alone; zeros; vectors that differ by 1e-6,
    and by what float32 can just hold; any.
    """

    def __init__(self, dimension: int, many: int, seed: int = 0) -> None:
        chance = np.random.default_rng((seed, dimension))

        def any_of(n: int) -> NDArray[np.float64]:
            return chance.standard_normal((n, dimension))

        one, centre, tight = any_of(3)
        groups = [
            np.tile(one, (many, 1)),
            np.tile(-one, (many // 4, 1)),
            np.eye(dimension)[: many // 2],
            -np.eye(dimension)[: many // 4],
            np.zeros((many // 8, dimension)),
            centre / np.linalg.norm(centre) + 1e-6 * any_of(4 * many),
            tight / np.linalg.norm(tight) + 3e-8 * any_of(many),
            any_of(many),
        ]
        rows = np.concatenate(groups)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        self.vectors = chance.permutation(rows.astype(np.float32))
        self.starts = np.arange(0, len(rows) + 7, 7)
        asked = np.concatenate(
            [one[None], centre[None], tight[None], -one[None], np.eye(dimension)[:3], any_of(9)]
        )
        asked = np.concatenate([asked, asked[:1] + 1e-4 * any_of(1), asked[1:2] + asked[2:3]])
        self.queries = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)

    def document(self, number: int) -> list[Made]:
        rows = range(7 * number, min(7 * number + 7, len(self.vectors)))
        return [Made(f"w{row % 3} w{row % 50} n{row}.", "", self.vectors[row]) for row in rows]


class AnyDimension(WordEncoder):
    """Made-up embeddings of passages, random ones of queries."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension, self.made_up = dimension, dict[str, NDArray[np.float32]]()

    def encode(self, texts: Sequence[str], *, role: Role | None = None, **_: Any) -> NDArray[np.float32]:
        if role == "document":
            return np.array([self.made_up[text] for text in texts])
        vectors = np.random.default_rng(0).standard_normal((len(texts), self.dimension), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
