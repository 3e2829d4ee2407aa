"""Topics of an index: groups of documents with similar content, named by the words that are typical of them.

Groups are those of spherical k-means on the documents' mean embeddings, from which their common mean is subtracted, as
it says what all documents are about. Of eight starts with a fixed seed the one counts whose documents are nearest to
the means of their groups, so an index always has the same topics. There are sqrt(n / 2) groups for n documents, and at
most 8, as a reader looks through them. Groups of fewer than three documents, and those without a name, are no topics.

A name is the three words with the highest log-likelihood ratio (Dunning, 1993) of the passages with the word, within
the group and outside. A word belongs to the topic where its ratio is highest, occurs in two documents, and is written
in the form that is most frequent there. Stop words of the documents' languages are no names.

benchmarks/topics.py asks for the names: of the first ten hits, 72, 90, 66 and 74 % are of the topic in this project's
examples, its handbook, npm's documentation and Node.js's guide for contributors. By chance it would be 22, 17, 17 and
22 %.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from search.languages import ENGLISH, function_words
from search.ranking.where import is_of_topic
from search.records.document_map import OTHER, DocumentMap
from search.records.explanations import STOP_WORDS
from search.store.conditions import (
    Condition,
    Field,
    FieldComparison,
    Joined,
    Not,
    Value,
    Where,
    comparing,
    wrong,
)
from search.store.passages import passage_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.snapshot import Snapshot

MOST_TOPICS = 8
SEPARATOR = " · "
_FEWEST_DOCUMENTS = 3  # of a topic
_WORDS = 3  # of a name
_STARTS, _STEPS = 8, 50  # of k-means
_LEAST_RATIO = 3.84  # the 5 % point of chi-squared with one degree of freedom
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_MOST_LISTED = 12  # topics in a message


def number_of_topics(documents: int) -> int:
    """Return the number of groups to make of so many documents."""
    return max(1, min(MOST_TOPICS, round((documents / 2) ** 0.5)))


def groups_of(means: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the (n,) group of each document, from 0; see the docstring of the module.

    Args:
        means: (n, d) mean embeddings of the documents, n >= 1.
        k: number of groups; some may be empty.

    Example:
        >>> groups_of(np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]], dtype=np.float32), 2).tolist()
        [0, 1, 0]
    """
    finite = np.nan_to_num(means, posinf=0.0, neginf=0.0)  # a damaged index may have others
    rows = _unit(finite - finite.mean(axis=0))
    random = np.random.default_rng(0)
    best, lowest = np.zeros(len(rows), dtype=np.int64), -np.inf
    for _ in range(_STARTS):
        centres = rows[_spread_rows(rows, k, random)]
        for _ in range(_STEPS):
            groups = (rows @ centres.T).argmax(axis=1)
            sums = np.stack([rows[groups == group].sum(axis=0) for group in range(len(centres))])
            moved = np.where(sums.any(axis=1, keepdims=True), _unit(sums), centres)
            if np.allclose(moved, centres):
                break
            centres = moved
        nearness = float((rows * centres[groups]).sum())
        if nearness > lowest + 1e-9:
            best, lowest = groups, nearness
    order = {group: number for number, group in enumerate(dict.fromkeys(best.tolist()))}
    return np.array([order[group] for group in best.tolist()], dtype=np.int64)


def _spread_rows(rows: NDArray[np.float32], k: int, random: np.random.Generator) -> list[int]:
    """Return k rows to start with: each is drawn with a chance by its distance from the others (k-means++)."""
    chosen = [int(random.integers(len(rows)))]
    while len(chosen) < k:
        distances = np.maximum(1 - (rows @ rows[chosen].T).max(axis=1), 0)
        total = distances.sum()
        if total <= 1e-6:
            break
        chosen.append(int(random.choice(len(rows), p=distances / total)))
    return chosen


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 1e-9, lengths, 1), dtype=np.float32)


def words_of(snapshot: Snapshot, passages: Sequence[Sequence[int]]) -> list[list[dict[str, str]]]:
    """Return for each document stem -> form of the words of each of its passages, without stop words.

    Args:
        passages: IDs of the passages of each document.
    """
    ids = chain.from_iterable(passages)
    texts = {text.id: text.encoded for text in passage_texts(snapshot.connection, ids)}
    by_passage = {id_: list(dict.fromkeys(_LETTERS.findall(text))) for id_, text in texts.items()}
    ignored = STOP_WORDS.union(*map(function_words, {ENGLISH, *snapshot.languages}))
    forms = dict.fromkeys(form for own in by_passage.values() for form in own)
    stems = {
        term.text: term.stems[0]
        for term in snapshot.tokenize(" ".join(forms))
        if len(term.stems) == 1 and term.text.casefold() not in ignored
    }
    return [
        [
            {stems[form]: form for form in reversed(by_passage[id_]) if form in stems}
            for id_ in own
            if id_ in by_passage
        ]
        for own in passages
    ]


def names_of(groups: Sequence[int], words: Sequence[Sequence[Mapping[str, str]]]) -> dict[int, str]:
    """Return group -> name of the groups that are topics.

    Args:
        groups: group of each document, from 0.
        words: for each document, stem -> form of the words of each of its passages, without stop words.
    """
    sizes, k = Counter(groups), max(groups) + 1
    passages = np.zeros(k)
    with_stem: Counter[tuple[str, int]] = Counter()  # passages of a group with a stem
    documents: Counter[tuple[str, int]] = Counter()
    forms: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for group, own in zip(groups, words, strict=True):
        passages[group] += len(own)
        for passage in own:
            for stem, form in passage.items():
                with_stem[stem, group] += 1
                forms[stem, group][form] += 1
        documents.update((stem, group) for stem in set().union(*own))
    rows = {stem: row for row, stem in enumerate(dict.fromkeys(stem for stem, _ in with_stem))}
    counts = np.zeros((len(rows), k), dtype=np.int64)
    for (stem, group), count in with_stem.items():
        counts[rows[stem], group] = count
    ratios = log_likelihood_ratios(counts, passages)
    typical: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for stem, row in rows.items():
        best = int(ratios[row].argmax())
        if ratios[row, best] > _LEAST_RATIO and documents[stem, best] >= 2:
            typical[best].append((-float(ratios[row, best]), stem))
    return {
        group: SEPARATOR.join(_form(forms[stem, group]) for _, stem in sorted(typical[group])[:_WORDS])
        for group in sorted(typical)
        if sizes[group] >= _FEWEST_DOCUMENTS
    }


def _form(forms: Counter[str]) -> str:
    """Return the most frequent form of a word; of equally frequent ones the first in the alphabet."""
    return min(forms, key=lambda form: (-forms[form], form))


def log_likelihood_ratios(
    counts: NDArray[np.int64], passages: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the (s, k) log-likelihood ratio of each word in each group and outside; 0 where it is rarer than outside.

    Args:
        counts: (s, k) number of passages of each group with the word.
        passages: (k,) number of passages of each group.

    Example:
        >>> log_likelihood_ratios(np.array([[4, 0]]), np.array([4.0, 4.0])).round(2).tolist()
        [[11.09, 0.0]]
    """
    total, everywhere = passages.sum(), counts.sum(axis=1, keepdims=True)
    inside, outside = counts, everywhere - counts
    others, share = total - passages, everywhere / max(total, 1)
    ratios = 2 * (
        _times_log(inside, passages * share)
        + _times_log(outside, others * share)
        + _times_log(passages - inside, passages * (1 - share))
        + _times_log(others - outside, others * (1 - share))
    )
    return np.where(inside * others > outside * passages, ratios, 0.0)


def _times_log(observed: NDArray[Any], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return observed * log(observed / expected); 0 where either is 0."""
    has = (observed > 0) & (expected > 0)
    quotient = np.divide(observed, expected, out=np.ones(expected.shape), where=has)
    return np.asarray(observed * np.log(quotient), dtype=np.float64)


def with_topics(where: Where, map_: DocumentMap) -> Where:
    """Return a filter in which conditions on topics are replaced by conditions on documents.

    Raises:
        InputError: the map has no such topic, or it does not show all documents.
    """
    topics: dict[str, set[int]] = defaultdict(set)
    if map_.grouped_by == "topic":
        for point in map_.points:
            if point.group != OTHER:
                topics[point.group].add(point.document_id)

    def resolved(condition: Condition) -> Condition:
        if isinstance(condition, Not):
            return Not(resolved(condition.part))
        if isinstance(condition, Joined):
            return replace(condition, parts=tuple(map(resolved, condition.parts)))
        if not is_of_topic(condition.field):
            return condition
        return _of_documents(where, condition, map_, topics)

    return Where(where.text, resolved(where.condition))


def _of_documents(
    where: Where, condition: FieldComparison, map_: DocumentMap, topics: Mapping[str, Collection[int]]
) -> FieldComparison:
    """Return a condition on documents for one on topics."""
    if map_.documents > len(map_.points):
        problem = (
            f"the map shows {len(map_.points):,} of {map_.documents:,} documents, so it filters none"
        )
        raise wrong(where.text, condition.field.at, problem)
    tests = [comparing(condition.operator, value) for value in condition.values]
    names = [name for name in topics if condition.operator == "has" or any(test(name) for test in tests)]
    if not names and condition.operator != "has":
        listed = "; ".join(list(topics)[:_MOST_LISTED]) or "none"
        problem = f"the map has no such topic; topics change with the index. Its topics: {listed}"
        raise wrong(where.text, condition.field.at, problem)
    ids = sorted(id_ for name in names for id_ in topics[name])
    values = tuple(Value(str(id_), False) for id_ in ids)
    return FieldComparison(Field("document", ("document",), condition.field.at), "=", values)
