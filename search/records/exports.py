"""Records of exports: the files that were written, and how well a FAISS index finds what exact search finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """Searches with one setting of a FAISS index.

    Attributes:
        setting: such as "nprobe 16"; "" if the type has none.
        recall: share of the ten nearest passages that were returned (recall@10), in [0, 1].
        milliseconds: median time of a search, in one thread.
    """

    setting: str
    recall: float
    milliseconds: float


@dataclass(frozen=True)
class FaissExport:
    """A FAISS index that was written.

    Attributes:
        file: its path.
        type: FAISS's factory string.
        passages, dimension: number and width of its vectors.
        bytes: size of the file.
        seconds: time to train and fill the index.
        exact: seewhy's own exact search of the same index; None if nothing was measured.
        searches: one for each setting that was measured.
    """

    file: str
    type: str
    passages: int
    dimension: int
    bytes: int
    seconds: float
    exact: Measurement | None = None
    searches: tuple[Measurement, ...] = ()


@dataclass(frozen=True)
class VectorExport:
    """Embeddings that were written to a NumPy or Parquet file.

    Attributes:
        files: paths of the files, the one with the vectors first.
        passages, dimension: number and width of the vectors.
        bytes: size of the first file.
    """

    files: tuple[str, ...]
    passages: int
    dimension: int
    bytes: int
