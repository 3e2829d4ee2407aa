"""Queries and judged documents: how well an index ranks them. A document is as good as its best passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from search.errors import InputError
from search.evaluating.asking import Found, OpenIndex, Plan, measure, named
from search.evaluating.collection import indexed_names, require_documents
from search.evaluating.dataset import Query, Retrieval
from search.evaluating.formats.strict import malformed
from search.evaluating.metrics import DEPTH, ranking_values
from search.records.evaluations import Evaluation, Setting
from search.records.hits import Hit
from search.store.sqlite import SQLiteStore

Judgements = Mapping[str, Mapping[str, int]]


def evaluate_retrieval(
    data: Retrieval, index: OpenIndex, settings: Sequence[Setting], plan: Plan, *, allow_missing: bool = False
) -> Evaluation:
    """
    Args:
        index: of the collection, or the user's own.
        allow_missing: see `search.evaluate`.

    Raises:
        InputError: relevant documents are missing, the index is empty, no query has an answer.
    """
    status = index.status()
    if not status.passages:
        raise InputError(f"the index '{index.path}' holds no passages. Fill it with: seewhy index FOLDER")
    if data.entries:
        judgements, held = data.judgements, indexed_names(index.path)
        name: Callable[[Hit], str] = _record_name
    else:
        judgements, held = _resolved(data, index)
        name = partial(_judged_name, judged={name for grades in judgements.values() for name in grades})
    notes = [*missing_documents(data, judgements, held, index, allow_missing), *about_judgements(data)]
    if not status.complete:
        notes.append("the last run of indexing was stopped, so the index is not whole")

    def find(setting: Setting) -> Callable[[Query], Found]:
        ask = partial(index.query, per_document=1, **setting.options)
        plain = partial(ask, rerank=None) if setting.options.get("rerank") else ask
        depth = max(DEPTH, plan.k)

        def found(query: Query) -> Found:
            ranked = ranked_documents(plain, query.text, depth, name)
            if plain is not ask:  # what a user sees was looked at again; behind that it goes on as before
                first = ranked_documents(ask, query.text, plan.k, name)
                ranked = list(dict.fromkeys([*first, *ranked]))[:depth]
            return Found(ranking_values(ranked, judgements[query.id], plan.k), tuple(ranked))

        return found

    done, compared, remarks = measure(
        data.queries,
        settings,
        find,
        lambda setting: partial(index.query, k=plan.k, **setting.options),
        plan,
        passages=status.passages,
    )
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="retrieval",
        split=data.split,
        index=str(index.path),
        model=status.model,
        pooling=status.pooling,
        documents=status.documents,
        passages=status.passages,
        judgements=sum(map(len, judgements.values())),
        primary=f"ndcg@{plan.k}",
        settings=done,
        comparisons=compared,
        notes=(*notes, *remarks, *index.notes),
    )


def ranked_documents(
    ask: Callable[..., Sequence[Hit]], text: str, depth: int, name: Callable[[Hit], str]
) -> list[str]:
    """The names of the `depth` best documents, best first.

    More and more hits are asked for until there are so many documents, or no further hits.

    Args:
        ask: (text, k=k) -> hits, best first; fewer than k only if there are no more.
        name: of a hit's document.
    """
    wanted = depth
    while True:
        hits = ask(text, k=wanted)
        found = list(dict.fromkeys(map(name, hits)))
        if len(found) >= depth or len(hits) < wanted:
            return found[:depth]
        wanted *= 2


def about_judgements(data: Retrieval) -> list[str]:
    """What has to be said of queries that count for nothing, and of documents that nothing can find."""
    notes = []
    if data.unjudged:
        end = "no judgement; left out"
        notes.append(named(data.unjudged, f"query has {end}", f"queries have {end}"))
    hopeless = [query.id for query in data.queries if max(data.judgements[query.id].values()) < 1]
    if len(hopeless) == len(data.queries):
        raise InputError("no query has a relevant document, so every figure would be 0.")
    if hopeless:
        end = "no relevant document, and so 0, as in trec_eval"
        notes.append(named(hopeless, f"query has {end}", f"queries have {end}"))
    relevant = _relevant(data.judgements)
    empty = [name for name, entry in data.entries.items() if name in relevant and not entry.whole]
    if empty:
        end = "no text and cannot be found"
        notes.append(named(empty, f"relevant document holds {end}", f"relevant documents hold {end}"))
    return notes


def missing_documents(
    data: Retrieval, judgements: Judgements, held: set[str], index: OpenIndex, allowed: bool
) -> list[str]:
    """What has to be said of relevant documents that the index does not hold, though there is text in them."""
    empty = {name for name, entry in data.entries.items() if not entry.whole}
    relevant = _relevant(judgements)
    note = require_documents(sorted(relevant - held - empty), len(relevant), index.path, allowed)
    return [note] if note else []


def _relevant(judgements: Judgements) -> set[str]:
    return {name for grades in judgements.values() for name, grade in grades.items() if grade > 0}


def _record_name(hit: Hit) -> str:
    """The name that a collection gives a document."""
    return str(hit.metadata["_id"])


def _judged_name(hit: Hit, judged: set[str]) -> str:
    """What a hit counts for: its record if that was judged, its file if that was, else itself."""
    if hit.document not in judged:
        file, mark, record = hit.document.rpartition("#")
        if mark and record.isdecimal() and file in judged:
            return file
    return hit.document


def _resolved(data: Retrieval, index: OpenIndex) -> tuple[dict[str, dict[str, int]], set[str]]:
    """The judgements by the names that documents have in the index, and those of them that it holds.

    Raises:
        InputError: a path is a folder or has a line, or two paths of a query mean one document; with file and line.
    """
    names, held = {}, set()
    with SQLiteStore(index.path).reading() as snapshot:
        for path, line in data.lines.items():
            try:
                place = snapshot.place(path)
            except InputError as error:
                raise malformed(data.source, line, str(error)) from None
            if place.line is not None and place.passages:
                raise malformed(
                    data.source,
                    line,
                    f"'{path}' is a line of a document; judge the whole: '{place.document}'.",
                )
            names[path] = place.document
            if place.passages:
                held.add(place.document)
    judgements: dict[str, dict[str, int]] = {}
    for query, grades in data.judgements.items():
        mine = judgements.setdefault(query, {})
        for path, grade in grades.items():
            if mine.setdefault(names[path], grade) != grade:
                raise malformed(
                    data.source, data.lines[path], f"'{path}' is judged twice, differently, under two names."
                )
    return judgements, held
