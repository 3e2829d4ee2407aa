"""Compute the map of an index from stored embeddings."""

from __future__ import annotations

from collections import Counter
from posixpath import commonpath
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.topics import groups_of, names_of, number_of_topics, words_of
from search.records.document_map import FEWEST_DOCUMENTS, OTHER, DocumentMap, GroupedBy, MapPoint

if TYPE_CHECKING:
    from search.store.snapshot import Snapshot

MAX_POINTS = 5_000
_MAX_PASSAGES = 15_000  # embeddings that are read; of longer documents the first passages count
_MAX_GROUPS = 4
_MAX_TEXTS = 5_000  # passages whose words are read, for names of topics


def document_map(snapshot: Snapshot) -> DocumentMap:
    """Return the documents as points in two dimensions; see `Searcher.map`."""
    documents = snapshot.status().documents
    sample = snapshot.some_documents(-(-documents // MAX_POINTS) or 1)[:MAX_POINTS]
    most = max(1, _MAX_PASSAGES // max(1, len(sample)))
    passages = snapshot.first_passages([row[0] for row in sample], most)
    if len(snapshot.pending):  # a document is placed by its passages that are encoded
        encoded = {id_: snapshot.without_pending(np.array(ids)).tolist() for id_, ids in passages.items()}
        passages = {id_: ids for id_, ids in encoded.items() if ids}
    sample = [row for row in sample if row[0] in passages]
    if not sample:
        return DocumentMap((), {}, documents, 0.0)
    ids = [id_ for row in sample for id_ in passages[row[0]]]
    lengths = [len(passages[row[0]]) for row in sample]
    starts = np.cumsum([0, *lengths[:-1]])
    means = np.add.reduceat(snapshot.embeddings(ids), starts, axis=0) / np.array(lengths)[:, None]
    coordinates, explained = _principal(means)
    topics = _topics(snapshot, means, [passages[row[0]] for row in sample])
    grouped_by, groups = topics or _groups([row[1] for row in sample], [row[3] for row in sample])
    points = tuple(
        MapPoint(id_, name, title, group, round(float(x), 4), round(float(y), 4))
        for (id_, name, title, _), group, (x, y) in zip(sample, groups, coordinates, strict=True)
    )
    counts = Counter(groups).most_common()
    by_size = dict(sorted(counts, key=lambda item: item[0] == OTHER))
    return DocumentMap(points, by_size, documents, explained, grouped_by)


def _principal(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the (n, 2) first two principal components, in [-1, 1], and their share of the variance."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, :-3:-1]
    # The largest entry of an axis is positive, so that the map looks the same in every run.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    coordinates = np.zeros((len(rows), 2))
    coordinates[:, : axes.shape[1]] = centred @ axes
    limits = np.percentile(np.abs(coordinates), 98, axis=0)
    total = float(values.sum())
    explained = float(values[-2:].sum()) / total if total > 0 else 0.0
    return np.clip(coordinates / np.where(limits > 0, limits, 1), -1, 1), explained


def _topics(
    snapshot: Snapshot, means: np.ndarray, passages: list[list[int]]
) -> tuple[GroupedBy, list[str]] | None:
    """Return the topic of each document; None for few documents, or if fewer than two topics have a name."""
    if len(means) < FEWEST_DOCUMENTS:
        return None
    groups = groups_of(means, number_of_topics(len(means))).tolist()
    most = max(1, _MAX_TEXTS // len(passages))
    names = names_of(groups, words_of(snapshot, [own[:most] for own in passages]))
    return ("topic", [names.get(group, OTHER) for group in groups]) if len(names) > 1 else None


def _groups(names: list[str], kinds: list[str]) -> tuple[GroupedBy, list[str]]:
    """Return the criterion, and the group of each document: its folder below the common folder, or its kind."""
    around = commonpath([name.rpartition("/")[0] for name in names])
    inner = [name.removeprefix(around).lstrip("/") for name in names]
    groups = [name.partition("/")[0] if "/" in name else "" for name in inner]
    has_folders = 2 * sum(group != "" for group in groups) > len(groups)
    if not has_folders:
        groups = kinds
    large = {group for group, _ in Counter(filter(None, groups)).most_common(_MAX_GROUPS)}
    return "folder" if has_folders else "kind", [group if group in large else OTHER for group in groups]
