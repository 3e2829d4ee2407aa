"""What each tool answers: the library's records, as short as a model needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from search import index as library
from search.errors import IdMissing, InputError, SearchError, first_line
from search.records import hits as records
from search.records.comparisons import WhyNot
from search.records.explanations import Explanation, Highlight, Share
from search.records.options import QueryOptions, RankOptions, RerankOptions
from search.render.passage import cut
from search.serving.mcp import answers, asked
from search.serving.mcp.answers import PassageId, as_next, listed, of_next
from search.serving.served import GenerationGone, Served, in_one_generation
from search.several import Indexes, name_of

_STRONGEST = 3
_SHARES = 20


def search(served: Served, given: asked.Search) -> answers.Found:
    """The best passages for a query."""
    index = _comparable(served, given)
    wanted, offset = of_next(given.next) if given.next else (None, 0)

    def find() -> tuple[records.Hits, Sequence[Sequence[Highlight]], list[str]]:
        options = given.of(QueryOptions)
        options["offset"] = offset
        hits = index.query(given.query, given.k, **options)
        ids = [str(PassageId(hit.index, index.of(hit).generation, hit.passage_id)) for hit in hits]
        return hits, index.highlights(given.query, hits) if hits else (), ids

    generation, (hits, marks, ids) = in_one_generation(index, wanted, find)
    notes = [*index.notes, *(_no_hits(given) if not hits else ())]
    total = sum(one.status().passages for one in index.all)

    def make(count: int, characters: int) -> answers.Found:
        there_is_more = count < len(hits) or len(hits) == given.k
        return answers.Found(
            verdict=_verdict(hits),
            results=[
                _hit(hit, of_hit, id_, characters)
                for hit, of_hit, id_ in zip(hits[:count], marks, ids, strict=False)
            ],
            next=as_next(generation, offset + count) if hits and there_is_more else None,
            total=total,
            index=", ".join(map(name_of, index.all)),
            generation=generation,
            changed=any(hit.changed for hit in hits[:count]),
            notes=notes or None,
        )

    return listed(given.max_tokens, len(hits), make)


def _comparable(served: Served, given: asked.Search) -> Indexes:
    """The index that is named; else the first that can be asked, and all whose scores compare with its."""
    named = served.named(given.index)
    if len(named) == 1:
        return Indexes(list(named.values()))
    first, alike, notes = None, [], []
    for name, index in named.items():
        try:
            ranking, made = index.ranking(given.query, **given.of(RerankOptions)), index.fingerprint
        except SearchError as error:
            notes.append(f"the index '{name}' is left out: {first_line(error)}")
            continue
        first = first or (ranking, made)
        if ranking == first[0] and not made.differences(replace(first[1], passages=made.passages)):
            alike.append(index)
        else:
            notes.append(
                f"the index '{name}' has other scores and was not asked. To ask it, name it as `index`."
            )
    if not alike:
        raise InputError(" ".join(notes))
    return Indexes(alike, notes, whatever_there_is=True)


def _no_hits(given: asked.Search) -> list[str]:
    if given.next:
        return ["There are no more hits."]
    if given.where or given.since:
        return ["No passage passes the filter. Ask without where and since."]
    return ["No passage has a word of the query."] if given.mode == "lexical" else []


def _verdict(hits: Sequence[records.Hit]) -> answers.Verdict | None:
    said = hits[0].verdict if hits else None
    return answers.Verdict(says=said.says, probability=round(said.probability, 3)) if said else None


def _hit(hit: records.Hit, marks: Sequence[Highlight], id_: str, characters: int) -> answers.Hit:
    return answers.Hit(
        id=id_,
        index=hit.index,
        title=hit.title or PurePosixPath(hit.document).name,
        url=hit.uri,
        place=place(hit.document, hit.line_start, hit.line_end),
        heading=hit.heading,
        text=_snippet(hit, marks, characters),
        score=round(hit.score, 4),
        **{name: round(value, 4) for name, value in hit.addends.items()},
        percentile=None if hit.percentile is None else round(hit.percentile, 1),
        strongest=_strongest(hit, marks) or None,
        changed=hit.changed or None,
    )


def _strongest(hit: records.Hit, marks: Sequence[Highlight]) -> list[answers.Addend]:
    added: Counter[str] = Counter()
    for mark in marks:
        added[hit.text[mark.start : mark.end].lower()] += mark.weight  # type: ignore[assignment]
    return [answers.Addend(word=word, adds=round(adds, 4)) for word, adds in added.most_common(_STRONGEST)]


def _snippet(hit: records.Hit, marks: Sequence[Highlight], characters: int) -> str:
    """The passage if it is so short, else what of it the query's words stand in."""
    if len(hit.text) <= characters:
        return hit.text
    start = min(cut(hit, marks).start, len(hit.text) - characters)
    end = start + characters
    return f"{'… ' if start else ''}{hit.text[start:end].strip()}{' …' if end < len(hit.text) else ''}"


def place(document: str, first: int, last: int) -> str:
    return f"{document}:{first}-{last}"


def passage_of(served: Served, said: str) -> tuple[library.Index, PassageId]:
    """The index of an id, and the id.

    Raises:
        GenerationGone: the passage has left the index since.
    """
    id_ = PassageId.of(said)
    index = served.index(id_.index)
    try:
        index.passage(id_.passage)
    except IdMissing:
        now = index.generation
        if now == id_.generation:
            raise
        raise GenerationGone(
            f"the passage {said} is gone: the index '{id_.index}' has changed since generation {id_.generation}, and "
            f"is of {now} now. Search again with the same query."
        ) from None
    return index, id_


def explain(served: Served, given: asked.Explain) -> answers.Explained:
    """Why a passage has its score."""
    from search.render.why import sentence

    index, id_ = passage_of(served, given.id)

    def find() -> tuple[records.Hit, Explanation]:
        hit = index.hit(given.query, id_.passage, **given.of(RerankOptions))
        return hit, index.explain(given.query, hit)

    generation, (hit, why) = in_one_generation(index, None, find)
    shares = sorted(why.shares(), key=lambda share: -abs(share.contribution))
    return answers.Explained(
        id=given.id,
        place=place(hit.document, hit.line_start, hit.line_end),
        said=sentence(why) or _no_words(why),
        score=round(why.score, 6),
        cosine=round(why.cosine, 6),
        shares=[_share(share) for share in shares[:_SHARES]],
        others=round(sum(share.contribution for share in shares[_SHARES:]), 6),
        residual=why.residual,
        generation=generation,
    )


def _no_words(why: Explanation) -> str:
    """What is said of a score that no word of the query adds to."""
    if any(term.kind == "model" for term in why.terms):
        return "Another model gave the score, and not word by word."
    return "No word of the query adds to the score." if why.weight else "No word of the query stands in it."


def _share(share: Share) -> answers.Share:
    by = [partner.text for partner in share.partners] or None
    return answers.Share(word=share.text, kind=share.kind, adds=round(share.contribution, 6), by=by)


def why_not(served: Served, given: asked.WhyNot) -> answers.Why:
    """Where a document stands, and why it is not among the hits."""
    from search.render.why import WAYS_OUT, answer

    name, generation, standing = _standing(served, given)
    hit, last, contrast = standing.hit, standing.last, standing.contrast
    return answers.Why(
        index=name,
        document=standing.document,
        cause=standing.cause,
        said=" ".join(filter(None, (answer(standing), WAYS_OUT.get(standing.reason)))),
        rank=standing.rank,
        passages=standing.passages,
        id=str(PassageId(name, generation, hit.passage_id)) if hit else None,
        place=place(hit.document, hit.line_start, hit.line_end) if hit else None,
        score=round(hit.score, 4) if hit else None,
        last=place(last.document, last.line_start, last.line_end) if last and contrast else None,
        gap=round(contrast.gap, 4) if contrast else None,
        differences=_differences(standing) or None,
        generation=generation,
    )


def _standing(served: Served, given: asked.WhyNot) -> tuple[str, int, WhyNot]:
    """Where a document stands in its index, with name and generation; of several, in the one that knows most of it."""

    def standing(name: str, index: library.Index, what: Path | int) -> tuple[str, int, WhyNot]:
        return name, *in_one_generation(
            index, None, lambda: index.why_not(given.query, what, given.k, **given.of(RankOptions))
        )

    try:
        index, id_ = passage_of(served, given.document)
    except InputError:
        standings, problem = [], None
        for name, index in served.named(given.index).items():
            try:
                standings.append(standing(name, index, _within(index, given.document)))
            except SearchError as error:
                problem = problem or error
        if problem and not standings:
            raise problem from None
        return min(standings, key=lambda one: (one[2].cause == "not indexed", one[2].reason == "not there"))
    return standing(id_.index, index, id_.passage)


def _within(index: library.Index, document: str) -> Path:
    """A document by its path, which leads out of no folder.

    Raises:
        InputError: it does, or no file can be called so.
    """
    root = index.folders.root
    try:
        is_within = (root / document).resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):
        is_within = False
    if Path(document).is_absolute() or not is_within:
        raise InputError(
            f"name a document by its path within {index.folders.described}, as search does in `place`."
        )
    return root / document


def _differences(standing: WhyNot) -> list[answers.Addend]:
    words = standing.contrast.words if standing.contrast else ()
    return [
        answers.Addend(word=word.text, adds=round(word.gap, 4))
        for word in sorted(words, key=lambda word: -abs(word.gap))[:5]
    ]


def status(served: Served, given: asked.Status) -> answers.Indexes:
    """What indexes are and hold."""
    indexes = [_status(name, index) for name, index in served.named(given.index).items()]
    return answers.Indexes(indexes=indexes, notes=list(served.notes) or None)


def _status(name: str, index: library.Index) -> answers.Index:
    try:
        held = index.status()
        return answers.Index(
            name=name,
            folder=held.folder,
            documents=held.documents,
            passages=held.passages,
            updated=held.updated,
            model=held.model,
            generation=index.generation,
            skipped=sum(group.count for group in held.skipped),
            notes=list(index.notes) or None,
        )
    except SearchError as error:
        return answers.Index(name=name, problem=str(error))
