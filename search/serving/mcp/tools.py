"""The tools `search`, `explain`, `why_not` and `status`: the library's records, as short as a model needs them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field

from search import index as library
from search.errors import IdMissing, InputError, SearchError, first_line
from search.records import hits as records
from search.records.comparisons import WhyNot
from search.records.explanations import Explanation, Highlight, Share
from search.records.options import FilterOptions, ModeOptions, part_of
from search.render.passage import cut
from search.serving.fields import LONGEST_QUERY, fields_of
from search.serving.mcp import answers
from search.serving.mcp.answers import PassageId, as_next, listed, of_next
from search.serving.served import GenerationGone, Served, in_one_generation
from search.several import Indexes, name_of

FEWEST_TOKENS, MOST_TOKENS = 300, 8_000
_STRONGEST = 3
_SHARES = 20

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
IndexName = Annotated[Text | None, Field(description="Name of an index; all where none is named.")]
Id = Annotated[str, Field(max_length=4_500, description="The id of a hit of search.")]
Query = Annotated[Text, Field(description="What to look for, in your own words.")]
Tokens = Annotated[
    int,
    Field(
        ge=FEWEST_TOKENS,
        le=MOST_TOKENS,
        description="How long the answer may be; four characters count as a token.",
    ),
]


@dataclass(frozen=True)
class Tool:
    """A function that agents call.

    Attributes:
        signature: its arguments as agents give them.
    """

    function: Callable[..., BaseModel]
    title: str
    signature: inspect.Signature


TOOLS: list[Tool] = []
Function = TypeVar("Function", bound=Callable[..., BaseModel])


def tool(title: str, *kinds: type) -> Callable[[Function], Function]:
    """Offer a function to agents; its docstring tells a model what it is for.

    Args:
        kinds: of declared options, which the function takes as keywords.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        _, *parameters = (one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD)
        for kind in kinds:
            for name, field in fields_of(kind).model_fields.items():
                type_: Any = Annotated[field.annotation, field]
                option = inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=type_
                )
                parameters.append(option)
        TOOLS.append(Tool(function, title, signature.replace(parameters=parameters)))
        return function

    return register


@tool("Search by meaning and words", FilterOptions, ModeOptions)
def search(
    served: Served,
    query: Query,
    index: IndexName = None,
    k: Annotated[int, Field(ge=1, le=20, description="How many hits.")] = 5,
    next: Annotated[
        Text | None, Field(description="What an answer said as `next`; with the same query, the hits behind.")
    ] = None,
    max_tokens: Tokens = 1_500,
    **options: Any,
) -> answers.Found:
    """Find the passages of the indexed documents that answer a question best, asked in your own words. Better than grep
    where the wording is not known; for an exact name or string grep is better. Read `verdict` first: 'nothing' means
    that probably nothing here answers this, so say that or ask otherwise. `text` is a part of a passage: fetch it
    before you answer from it."""
    asked = _comparable(served, query, index, options)
    wanted, offset = of_next(next) if next else (None, 0)

    def find() -> tuple[records.Hits, Sequence[Sequence[Highlight]]]:
        hits = asked.query(query, k, offset=offset, **options)
        return hits, asked.highlights(query, hits) if hits else ()

    generation, (hits, marks) = in_one_generation(asked, wanted, find)
    notes = [*asked.notes, *(_no_hits(next, options) if not hits else ())]
    total = sum(one.status().passages for one in asked.all)
    ids = [str(PassageId(hit.index, asked.of(hit).generation, hit.passage_id)) for hit in hits]

    def make(count: int, characters: int) -> answers.Found:
        there_is_more = count < len(hits) or len(hits) == k
        return answers.Found(
            verdict=_verdict(hits),
            results=[
                _hit(hit, of_hit, id_, characters)
                for hit, of_hit, id_ in zip(hits[:count], marks, ids, strict=False)
            ],
            next=as_next(generation, offset + count) if hits and there_is_more else None,
            total=total,
            index=", ".join(map(name_of, asked.all)),
            generation=generation,
            changed=any(hit.changed for hit in hits[:count]),
            notes=notes or None,
        )

    return listed(max_tokens, len(hits), make)


def _comparable(served: Served, query: str, name: str | None, options: dict[str, Any]) -> Indexes:
    """The index that is named; else the first that can be asked, and all whose scores compare with its."""
    named = served.named(name)
    if len(named) == 1:
        return Indexes(list(named.values()))
    first, alike, notes = None, [], []
    for name, index in named.items():
        try:
            ranking, made = index.ranking(query, **part_of(options, ModeOptions)), index.fingerprint
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


def _no_hits(next: str | None, options: dict[str, Any]) -> list[str]:
    if next:
        return ["There are no more hits."]
    if options.get("where") or options.get("since"):
        return ["No passage passes the filter. Ask without where and since."]
    return ["No passage has a word of the query."] if options.get("mode") == "lexical" else []


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


@tool("Why a passage has its score", ModeOptions)
def explain(served: Served, query: Query, id: Id, **options: Any) -> answers.Explained:
    """Say why a passage has its score for a query: what each word of the query added, by its meaning and because it
    stands there. The addends sum to the score."""
    from search.render.why import sentence

    index, id_ = passage_of(served, id)

    def find() -> tuple[records.Hit, Explanation]:
        hit = index.hit(query, id_.passage, **options)
        return hit, index.explain(query, hit)

    generation, (hit, why) = in_one_generation(index, None, find)
    shares = sorted(why.shares(), key=lambda share: -abs(share.contribution))
    return answers.Explained(
        id=id,
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


@tool("Why a document was not found", FilterOptions, ModeOptions)
def why_not(
    served: Served,
    query: Query,
    document: Annotated[
        Text,
        Field(
            description="Path of a file within the indexed folder, maybe with a line (keys.md:31); or an id."
        ),
    ],
    index: IndexName = None,
    k: Annotated[int, Field(ge=1, le=100, description="How many hits there were to be.")] = 5,
    **options: Any,
) -> answers.Why:
    """Say where a document stands for a query and why it is not among the hits: others score higher, it is not indexed,
    its file has changed, a filter leaves it out."""
    from search.render.why import WAYS_OUT, answer

    def stand(name: str, asked: library.Index, what: Path | int) -> tuple[str, int, WhyNot]:
        return name, *in_one_generation(asked, None, lambda: asked.why_not(query, what, k, **options))

    name, generation, standing = _standing(served, document, index, stand)
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


Stand = Callable[[str, library.Index, Path | int], tuple[str, int, WhyNot]]


def _standing(served: Served, document: str, name: str | None, stand: Stand) -> tuple[str, int, WhyNot]:
    """Where a document stands in its index; of several, in the one that knows most of it."""
    try:
        index, id_ = passage_of(served, document)
    except InputError:
        standings, problem = [], None
        for each, index in served.named(name).items():
            try:
                standings.append(stand(each, index, _within(index, document)))
            except SearchError as error:
                problem = problem or error
        if problem and not standings:
            raise problem from None
        return min(standings, key=lambda one: (one[2].cause == "not indexed", one[2].reason == "not there"))
    return stand(id_.index, index, id_.passage)


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


@tool("What the indexes hold")
def status(served: Served, index: IndexName = None) -> answers.Indexes:
    """List the indexes: their folders, how much they hold, when they were brought up to date."""
    indexes = [_status(name, index) for name, index in served.named(index).items()]
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
