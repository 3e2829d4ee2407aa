"""The libraries that peers.py compares, each as it is used: what builds an index, and what answers.

    python benchmarks/peers_libraries.py EXPORT PLACE NAME TASK

This runs in the virtual environment of the library, and prints figures as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from search.index import searcher_of

K = 10
_BATCH = 5_000
Answer = Callable[[Any, str], list[int]]


class Data:
    """What scale.py has exported; the passages are only read where they are asked for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        queries = np.load(place / "queries.npz")
        self.queries, self.nearest = queries["vectors"], queries["nearest"]
        self.texts: list[str] = json.loads((place / "queries.json").read_text(encoding="utf-8"))

    def passages(self) -> tuple[list[int], Any, list[str]]:
        kept = np.load(self.place / "passages.npz")
        with (self.place / "texts.jsonl").open(encoding="utf-8") as lines:
            return kept["ids"].tolist(), kept["vectors"], [json.loads(line) for line in lines]

    def batches(self) -> Iterator[tuple[list[int], Any, list[str]]]:
        ids, vectors, texts = self.passages()
        for start in range(0, len(ids), _BATCH):
            part = slice(start, start + _BATCH)
            yield ids[part], vectors[part], texts[part]


class Lance:
    """A table without an index of vectors, and LanceDB's own index of words."""

    packages = ("lancedb",)

    def build(self, place: Path, data: Data) -> None:
        import lancedb  # type: ignore[import-not-found]
        import pyarrow as pa

        schema = pa.schema(
            [
                ("id", pa.int64()),
                ("text", pa.string()),
                ("vector", pa.list_(pa.float32(), data.queries.shape[1])),
            ]
        )
        table = lancedb.connect(place).create_table("passages", schema=schema)
        for ids, vectors, texts in data.batches():
            rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
            table.add(pa.table({"id": ids, "text": texts, "vector": rows}, schema=schema))
        self.index(table)
        table.create_fts_index("text")
        table.optimize()

    def index(self, table: Any) -> None:
        """None."""

    def open(self, place: Path, data: Data) -> dict[str, Answer]:
        import lancedb

        table = lancedb.connect(place).open_table("passages")

        def ids(query: Any) -> list[int]:
            return [row["id"] for row in query.select(["id", "text"]).limit(K).to_list()]

        return {
            "dense": lambda vector, _: ids(table.search(vector).distance_type("cosine")),
            "words": lambda _, text: ids(table.search(_plain(text), query_type="fts")),
            "hybrid": lambda vector, text: ids(
                table.search(query_type="hybrid")
                .vector(vector)
                .text(_plain(text))
                .distance_type("cosine")
            ),
        }


class LanceIndexed(Lance):
    """With the index of vectors that it makes by default."""

    def index(self, table: Any) -> None:
        table.create_index(metric="cosine")


class Chroma:
    """Its HNSW as it comes; words it can only filter by."""

    packages = ("chromadb",)

    def client(self, place: Path) -> Any:
        import chromadb  # type: ignore[import-not-found]

        return chromadb.PersistentClient(str(place), chromadb.Settings(anonymized_telemetry=False))

    def build(self, place: Path, data: Data) -> None:
        collection = self.client(place).get_or_create_collection(
            "passages", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        there = collection.count()  # of a build that was stopped
        for ids, vectors, texts in list(data.batches())[there // _BATCH :]:
            collection.upsert(ids=list(map(str, ids)), embeddings=vectors, documents=texts)

    def open(self, place: Path, data: Data) -> dict[str, Answer]:
        collection = self.client(place).get_collection("passages", embedding_function=None)

        def dense(vector: Any, _: str) -> list[int]:
            found = collection.query(
                query_embeddings=[vector], n_results=K, include=["documents", "distances"]
            )
            return list(map(int, found["ids"][0]))

        return {"dense": dense}


class Txtai:
    """Its default FAISS index, with its BM25 and the texts."""

    packages = ("torch==2.13.0", "txtai")

    def build(self, place: Path, data: Data) -> None:
        from txtai import Embeddings  # type: ignore[import-not-found]

        ids, vectors, texts = data.passages()
        vector_of = dict(zip(texts, vectors, strict=True))

        def given(asked: Sequence[str]) -> Any:
            return np.array([vector_of[text] for text in asked])

        embeddings = Embeddings(method="external", transform=given, content=True, hybrid=True)
        embeddings.index(zip(ids, texts, strict=True))
        embeddings.config.pop("transform")
        embeddings.save(str(place))

    def open(self, place: Path, data: Data) -> dict[str, Answer]:
        from txtai import Embeddings

        vector_of = dict(zip(data.texts, data.queries, strict=True))
        embeddings = Embeddings()
        embeddings.load(str(place))
        embeddings.model.transform = lambda asked: np.array([vector_of[text] for text in asked])

        def weighted(weight: float) -> Answer:
            return lambda _, text: [int(row["id"]) for row in embeddings.search(text, K, weights=weight)]

        return {"dense": weighted(1), "words": weighted(0), "hybrid": weighted(0.5)}


class Milvus:
    """FLAT, and its function for BM25."""

    packages = ("pymilvus", "milvus-lite")

    def build(self, place: Path, data: Data) -> None:
        from pymilvus import (
            DataType,
            Function,
            FunctionType,
            MilvusClient,
        )

        place.mkdir()
        client = MilvusClient(str(place / "passages.db"))
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=65_535, enable_analyzer=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=data.queries.shape[1])
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function("bm25", FunctionType.BM25, input_field_names=["text"], output_field_names=["sparse"])
        )
        params = client.prepare_index_params()
        params.add_index("vector", index_type="FLAT", metric_type="COSINE")
        params.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        client.create_collection("passages", schema=schema, index_params=params)
        for ids, vectors, texts in data.batches():
            for start in range(0, len(ids), 500):
                rows = zip(*(part[start : start + 500] for part in (ids, vectors, texts)), strict=True)
                client.insert("passages", [{"id": i, "vector": v, "text": t} for i, v, t in rows])
        client.flush("passages")
        client.close()

    def open(self, place: Path, data: Data) -> dict[str, Answer]:
        from pymilvus import AnnSearchRequest, MilvusClient, RRFRanker

        client = MilvusClient(str(place / "passages.db"))
        client.load_collection("passages")

        def ids(found: Any) -> list[int]:
            return [row["id"] for row in found[0]]

        def by(field: str, asked: Any) -> list[int]:
            return ids(
                client.search("passages", [asked], anns_field=field, limit=K, output_fields=["text"])
            )

        def hybrid(vector: Any, text: str) -> list[int]:
            both = [
                AnnSearchRequest([asked], field, {}, limit=K)
                for asked, field in ((vector, "vector"), (text, "sparse"))
            ]
            return ids(
                client.hybrid_search("passages", both, RRFRanker(), limit=K, output_fields=["text"])
            )

        return {
            "dense": lambda vector, _: by("vector", vector),
            "words": lambda _, text: by("sparse", text),
            "hybrid": hybrid,
        }


class Seewhy:
    """The index as scale.py has built it; its place is given."""

    packages = ()

    def open(self, place: Path, data: Data) -> dict[str, Answer]:
        from types import SimpleNamespace

        from search import Index

        vector_of = dict(zip(data.texts, data.queries, strict=True))
        index = Index.open(place, offline=True)
        given: Any = SimpleNamespace(
            encode=lambda texts, role: [vector_of[text] for text in texts], remarks=()
        )
        searcher_of(index).share(given)

        def asked(mode: str) -> Answer:
            options: dict[str, Any] = {"mode": mode, "per_document": 0, "all_copies": True}
            return lambda _, text: [hit.passage_id for hit in index.query(text, K, **options)]

        return {"dense": asked("dense"), "words": asked("lexical"), "hybrid": asked("hybrid")}


PEERS: dict[str, Any] = {
    "seewhy": Seewhy,
    "LanceDB, flat": Lance,
    "LanceDB, IVF_PQ": LanceIndexed,
    "Chroma, HNSW": Chroma,
    "txtai, FAISS": Txtai,
    "Milvus Lite, FLAT": Milvus,
}


def _plain(text: str) -> str:
    """Without what is syntax to a parser of queries."""
    return "".join(c if c.isalnum() else " " for c in text)


def main(export: str, place: str, name: str, what: str) -> dict[str, Any]:
    """One task, in the process of the library: "build", "warm", or a cold answer of an ability."""
    peer, data = PEERS[name](), Data(Path(export))
    if what == "build":
        peer.build(Path(place), data)
        return {}
    answers = peer.open(Path(place), data)
    asked = list(zip(data.queries, data.texts, strict=True))
    if what != "warm":
        return {"hits": len(answers[what](*asked[0]))}
    return {ability: warm(answers[ability], asked, data.nearest) for ability in answers}


def warm(answer: Answer, asked: Sequence[tuple[Any, str]], nearest: Any) -> dict[str, float]:
    """Median seconds of a query, of the second half; and how many of the ten nearest are among all hits."""
    seconds, right = [], 0
    for (vector, text), truth in zip(asked, nearest, strict=True):
        started = time.perf_counter()
        hits = answer(vector, text)
        seconds.append(time.perf_counter() - started)
        right += len(set(hits) & set(truth.tolist()))
    return {"seconds": statistics.median(seconds[len(seconds) // 2 :]), "recall": right / nearest.size}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
