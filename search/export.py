"""Take an index elsewhere: its embeddings as a FAISS index of any kind, as a NumPy array, or with all data as Parquet.

    to_faiss("notes", "notes.faiss", "IVF256,Flat", measure=True)
    to_numpy("notes", "notes.npy")
    to_parquet("notes", "notes.parquet")

Each function reads one state of the index and needs no model. A file is complete when it gets its name; an earlier file
of that name is replaced. Documents from memory are exported as text by `Index.export`.
"""

from __future__ import annotations

import errno
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import InputError, OptionalDependency
from search.files import whole_file
from search.index import Index
from search.records.exports import FaissExport, Measurement, VectorExport
from search.records.reports import Progress
from search.store.layout import find_index
from search.store.passages import rows_of_view
from search.store.snapshot import Store
from search.store.vectors import load_faiss, search_by_faiss

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from search.store.snapshot import Snapshot

    OnProgress: TypeAlias = Callable[[Progress], None]
    Source: TypeAlias = Index | str | Path | None

# k-means takes at most 256 vectors for each of its clusters; so many serve 1,024 of them.
_MOST_TRAINED = 256 * 1024
_QUERIES = 100
_K = 10
_NPROBES = (1, 4, 16, 64, 256)
_EF_SEARCHES = (16, 64, 256)
_K_FACTORS = (1, 4, 16)
_EXAMPLES = "Examples: Flat, SQ8, HNSW32, 'IVF256,Flat', 'IVF256,PQ48'"
_COLUMNS = (
    "passage, place, document, file, kind, title, heading, text, line_start, line_end, page, metadata"
)


def to_faiss(
    source: Source,
    file: str | Path,
    type: str = "Flat",
    *,
    measure: bool = False,
    progress: OnProgress | None = None,
) -> FaissExport:
    """Write the embeddings of an index to a FAISS index; its ids are passage IDs, its products cosines.

    Args:
        source: the index; its path, name or folder; None as for `Index.open`.
        file: the file to write; `faiss.read_index` opens it.
        type: FAISS's factory string (Douze and others 2024, "The Faiss library", section 3.2).
        measure: also search for 100 passages of the index: recall@10 and milliseconds beside exact search, for several
            settings if the type has one that trades recall for time.
        progress: callback.

    Raises:
        InputError: FAISS has no such type, it needs more passages, or the index has none.
        OSError: the file cannot be written.
    """
    faiss = load_faiss()
    with _reading(source) as snapshot:
        dimension, count = int(snapshot.facts.fingerprint.dimension), snapshot.facts.passages
        started = time.perf_counter()
        with _as_input_errors(type, count):
            whole = type if type.startswith("IDMap") else f"IDMap2,{type}"
            built = faiss.index_factory(dimension, whole, faiss.METRIC_INNER_PRODUCT)
            if not built.is_trained:
                _accept_few_passages(built)
                ids = snapshot.ids()
                built.train(snapshot.embeddings(ids[:: -(-len(ids) // _MOST_TRAINED)].tolist()))
            for numbers, vectors in _blocks(snapshot, count, progress):
                built.add_with_ids(vectors, numbers)
        seconds = time.perf_counter() - started
        with whole_file(Path(file)) as part:
            try:
                faiss.write_index(built, str(part))
            except RuntimeError as error:  # what FAISS raises when a disk is full
                raise OSError(errno.EIO, str(error), str(file)) from None
        exact, searches = _measured(snapshot, built) if measure else (None, ())
    size = Path(file).stat().st_size
    return FaissExport(str(file), type, count, dimension, size, seconds, exact, searches)


def to_numpy(source: Source, file: str | Path, *, progress: OnProgress | None = None) -> VectorExport:
    """Write the embeddings of an index to an (n, d) float32 array for `numpy.load`, and their passage IDs beside it.

    Args:
        source: the index, as for `to_faiss`.
        file: the array, such as "notes.npy"; the (n,) int64 IDs are then in "notes.ids.npy".
        progress: callback.

    Raises:
        InputError: the name does not end in ".npy".
        OSError: a file cannot be written.
    """
    file = Path(file)
    if file.suffix != ".npy":
        raise InputError(f"'{file}' is not the name of an array. Give one that ends in .npy.")
    beside = file.with_suffix(".ids.npy")
    with _reading(source) as snapshot, whole_file(file) as part, whole_file(beside) as part_of_ids:
        shape = (snapshot.facts.passages, int(snapshot.facts.fingerprint.dimension))
        ids = [np.empty(0, dtype=np.int64)]
        with part.open("wb") as stream:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            for numbers, vectors in _blocks(snapshot, shape[0], progress):
                stream.write(vectors.astype("<f4", copy=False).tobytes())
                ids.append(numbers)
        with part_of_ids.open("wb") as stream:
            np.save(stream, np.concatenate(ids))
    return VectorExport((str(file), str(beside)), *shape, file.stat().st_size)


def to_parquet(source: Source, file: str | Path, *, progress: OnProgress | None = None) -> VectorExport:
    """Write a row for each passage to a Parquet file: ID, place, text, metadata as JSON, embedding, and more.

    Columns are those of the view `passages_in_files` (indexes/README.md), and `vector`, a list of d float32.

    Args:
        source: the index, as for `to_faiss`.
        file: the file to write.
        progress: callback.

    Raises:
        OptionalDependency: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise OptionalDependency("pyarrow", "parquet", "writing Parquet") from None
    with _reading(source) as snapshot:
        shape = (snapshot.facts.passages, int(snapshot.facts.fingerprint.dimension))
        names = _COLUMNS.split(", ")
        whole_numbers = {"passage", "line_start", "line_end", "page"}
        schema = pyarrow.schema(
            [
                *(
                    (name, pyarrow.int64() if name in whole_numbers else pyarrow.string())
                    for name in names
                ),
                ("vector", pyarrow.list_(pyarrow.float32(), shape[1])),
            ]
        )
        with whole_file(Path(file)) as part, parquet.ParquetWriter(part, schema) as writer:
            for ids, vectors in _blocks(snapshot, shape[0], progress):
                rows = rows_of_view(snapshot.connection, _COLUMNS, ids)
                columns = [*zip(*rows, strict=True)]
                flat = pyarrow.array(vectors.reshape(-1), type=pyarrow.float32())
                vector = pyarrow.FixedSizeListArray.from_arrays(flat, shape[1])
                arrays = [
                    pyarrow.array(values, type=schema.field(name).type)
                    for name, values in zip(names, columns, strict=True)
                ]
                writer.write_table(pyarrow.Table.from_arrays([*arrays, vector], schema=schema))
    return VectorExport((str(file),), *shape, Path(file).stat().st_size)


@contextmanager
def _reading(source: Source) -> Iterator[Snapshot]:
    """Open a snapshot of an index.

    Raises:
        InputError: the index has no passages.
    """
    path = find_index(source.path if isinstance(source, Index) else source)
    with Store(path).reading() as snapshot:
        if not snapshot.facts.passages:
            raise InputError(f"the index in '{path}' has no passages to export.")
        snapshot.require_complete("the export")
        yield snapshot


def _blocks(
    snapshot: Snapshot, count: int, progress: OnProgress | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    done = 0
    for ids, vectors in snapshot.embedding_blocks():
        yield ids, vectors
        done += len(ids)
        if progress:
            progress(Progress("exporting", done, count, passages=done))


def _accept_few_passages(built: Any) -> None:
    """Keep k-means from printing a line for each group of numbers that it has few vectors for; recall tells more."""
    faiss = load_faiss()
    inner = faiss.downcast_index(built.index)
    if isinstance(inner, faiss.IndexPreTransform):
        inner = faiss.downcast_index(inner.index)
    if isinstance(inner, faiss.IndexRefine):
        inner = faiss.downcast_index(inner.base_index)
    for clustered in (inner, getattr(inner, "pq", inner)):
        if hasattr(clustered, "cp"):
            clustered.cp.min_points_per_centroid = 1


@contextmanager
def _as_input_errors(type_: str, count: int) -> Iterator[None]:
    """Convert FAISS's errors about a type to errors that say what to type."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).rpartition(": ")[2].strip()
        raise InputError(
            f"FAISS cannot make an index of type '{type_}' of {count:,} passages: {reason}. {_EXAMPLES}."
        ) from None


def _measured(snapshot: Snapshot, built: Any) -> tuple[Measurement, tuple[Measurement, ...]]:
    """Search for passages of an index, exactly and in a FAISS index with several settings."""
    ids = snapshot.ids()
    chosen = np.random.default_rng(0).choice(ids, min(_QUERIES, len(ids)), replace=False)
    queries = snapshot.embeddings(chosen.tolist())
    nearest, times = [], []
    for id_, query in zip(chosen.tolist(), queries, strict=True):
        started = time.perf_counter()
        hits = snapshot.nearest(query, _K + 1)
        times.append(time.perf_counter() - started)
        nearest.append([cosine for other, cosine in hits if other != id_][:_K])
    exact = Measurement("", 1.0, 1e3 * statistics.median(times))
    if not any(nearest):
        return exact, ()
    searches = []
    for setting in _settings(built):
        recalls, times = [], []
        for id_, query, best in zip(chosen.tolist(), queries, nearest, strict=True):
            started = time.perf_counter()
            rows, _ = search_by_faiss(built, query, _K + 1)
            times.append(time.perf_counter() - started)
            recalls.append(_recall(snapshot, query, rows[rows != id_][: len(best)], best))
        searches.append(Measurement(setting, statistics.mean(recalls), 1e3 * statistics.median(times)))
    return exact, tuple(searches)


def _recall(
    snapshot: Snapshot, query: NDArray[np.float32], ids: NDArray[np.int64], best: Sequence[float]
) -> float:
    """Return the share of the nearest passages that were returned; of equally near ones, any counts."""
    return float((snapshot.cosines(query, ids) >= best[-1]).sum() / len(best))


def _settings(built: Any) -> Iterator[str]:
    """Apply settings that trade recall for time, one after the other, and FAISS's default at the end; yield each.

    A type without such a setting yields "".
    """
    faiss = load_faiss()
    inner = faiss.downcast_index(built.index)
    ivf = faiss.try_extract_index_ivf(built)
    if ivf is not None:
        holder, name = ivf, "nprobe"
        values = [value for value in _NPROBES if value <= ivf.nlist]
    elif isinstance(inner, faiss.IndexHNSW):
        holder, name, values = inner.hnsw, "efSearch", [*_EF_SEARCHES]
    elif isinstance(inner, faiss.IndexRefine):
        holder, name, values = inner, "k_factor", [*_K_FACTORS]
    else:
        yield ""
        return
    default = getattr(holder, name)
    for value in values:
        setattr(holder, name, value)
        yield f"{name} {value}"
    setattr(holder, name, default)
