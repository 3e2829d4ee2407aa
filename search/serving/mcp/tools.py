"""The tools for agents: search, fetch, documents, similar, explain, why_not, status. Signatures define parameters."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from search import index as library
from search.errors import IdMissing, InputError, SearchError, first_line, quoted
from search.index import searcher_of
from search.indexes import Indexes, absences, name_of
from search.ranking.question import without_operators
from search.records import hits as records
from search.records.comparisons import WhyNot
from search.records.contents import DocumentText, StoredPassage
from search.records.documents import CONVERTED_KINDS, PLAIN_KINDS
from search.records.explanations import Explanation
from search.records.option_tools import defaults
from search.records.options import FilterOptions
from search.records.shares import Share
from search.render.format import no_hits
from search.serving.app_state import AppState, GenerationGone, in_one_generation
from search.serving.fields import LONGEST_QUERY, as_next, of_next
from search.serving.mcp import answers
from search.serving.mcp.answers import PassageId, listed, tokens
from search.serving.mcp.quoting import commented_out, document_text

FEWEST_TOKENS, MOST_TOKENS = 300, 8_000
LONGEST_EXCERPT = 600  # characters: most passages are little longer
MOST_QUERIES = 5
_SHARES = 20
_HITS = 5  # of a search, by default
_ENCODINGS = 60  # for a change, at most: an agent waits for it
_VALUES = 10  # of a field
_LINE_END = re.compile(r"\r\n|\n|\r")
LINES = r"^[0-9]{1,9}-[0-9]{1,9}$"
_PATH_AND_LINES = re.compile(r"(?P<path>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)
_PASSAGE_ID = re.compile(r"@[0-9]+/p[0-9]+$")

Span = tuple[int, int]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
IndexName = Annotated[Text | None, Field(description="Name of an index. Default: all.")]
Id = Annotated[str, Field(max_length=4_500, description="id of a search result.")]
Query = Annotated[Text, Field(description="The question, in natural language.")]
Tokens = Annotated[
    int,
    Field(
        ge=FEWEST_TOKENS,
        le=MOST_TOKENS,
        description="Limit of the answer's length; a token is four characters.",
    ),
]


def search(
    served: AppState,
    query: Annotated[
        Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_QUERIES)],
        Field(description="The question, in natural language; or several, answered in `more`."),
    ],
    index: IndexName = None,
    k: Annotated[int, Field(ge=1, le=20, description="Number of hits.")] = 5,
    next: Annotated[Text | None, Field(description="`next` of the previous answer.")] = None,
    max_tokens: Tokens = 1_500,
    **options: Any,
) -> answers.SearchAnswer:
    """Find the passages that best answer a question in natural language. Better than grep if you do not know the exact
    wording; for an exact name or string use grep, or quotes: "two words" must occur, -word must not, and path:mail/**
    or language=de filters. Read `verdict` first: 'probably not here' means that no document seems to answer the
    question, so say so or rephrase it. `text` has the sentences that answer, at the lines of `place`; fetch reads on.
    If the right document is there without the answer, search again in it: path:FILE question."""
    if isinstance(query, list):
        if next:
            raise InputError("next continues a single question. Pass that question alone.")
        share = max(FEWEST_TOKENS, max_tokens // len(query))
        first, *others = [_search(served, text, index, k, None, share, options) for text in query]
        return first.model_copy(update={"more": others or None})
    return _search(served, query, index, k, next, max_tokens, options)


def _search(
    served: AppState,
    query: str,
    index: str | None,
    k: int,
    next: str | None,
    max_tokens: int,
    options: dict[str, Any],
) -> answers.SearchAnswer:
    """Answer a single question."""
    indexes = _comparable(served, index)
    expected, offset = of_next(next) if next else (None, 0)

    def find() -> records.Hits:
        return indexes.query(query, k, offset=offset, **options)

    generation, hits = in_one_generation(indexes, expected, find)
    notes, coverage = list(indexes.notes), hits.coverage
    if coverage:
        notes.append(f"{coverage.sentence}.")
    notes += [absence.sentence for absence in absences(indexes, query)]
    total = sum(searcher_of(member).store.facts.passages for member in indexes.all)
    if not hits and not offset:
        limits = [name for name in defaults(FilterOptions) if options.get(name)]
        words, restricts = without_operators(query)
        is_lexical = options.get("mode") == "lexical"
        notes.append(no_hits(words, total, limits, restricts=restricts, by_keywords=is_lexical))
    quotes = [replace(hit, text=commented_out(hit)) for hit in hits]
    # The other indexes have comparable embeddings.
    sentences = searcher_of(indexes.all[0]).answering(query, quotes) if hits else None
    ids = [str(PassageId(hit.index, indexes.of(hit).generation, hit.passage_id)) for hit in hits]

    def make(count: int, characters: int) -> answers.SearchAnswer:
        has_more = count < len(hits) or len(hits) == k
        spans = sentences.spans(min(characters, LONGEST_EXCERPT)) if sentences else []
        return answers.SearchAnswer(
            verdict=_verdict(hits),
            results=[
                _hit(hit, span, id_) for hit, span, id_ in zip(quotes[:count], spans, ids, strict=False)
            ],
            next=as_next(generation, offset + count) if hits and has_more else None,
            total=total,
            complete=False if coverage else None,
            encoded=coverage.encoded if coverage else None,
            index=", ".join(map(name_of, indexes.all)),
            notes=notes or None,
        )

    return listed(max_tokens, len(hits), make)


def _comparable(served: AppState, name: str | None) -> Indexes:
    """Return the named index; without a name, the first readable index and all others with comparable scores."""
    named = served.named(name)
    if len(named) == 1:
        return Indexes(list(named.values()))
    first, alike, notes = None, [], []
    for name, index in named.items():
        try:
            fingerprint = index.fingerprint
        except SearchError as error:
            notes.append(f"skipped index '{name}': {first_line(error)}")
            continue
        first = first or fingerprint
        if not fingerprint.differences(replace(first, passages=fingerprint.passages)):
            alike.append(index)
        else:
            notes.append(f"'{name}' was not searched: its embeddings differ. Give it as `index`.")
    if not alike:
        raise InputError(" ".join(notes))
    return Indexes(alike, notes, skip_damaged=True)


def _verdict(hits: Sequence[records.Hit]) -> answers.VerdictAnswer | None:
    best = hits[0].verdict if hits else None
    if best is None:
        return None
    if best.probability is None:
        return answers.VerdictAnswer(
            says=best.says, identifiers={count.identifier: count.files for count in best.identifiers}
        )
    return answers.VerdictAnswer(says=best.says, probability=round(best.probability, 3))


def _hit(hit: records.Hit, span: Span, id_: str) -> answers.HitAnswer:
    title, (start, end) = hit.title or PurePosixPath(hit.document).name, span
    excerpt = f"{'… ' if start else ''}{hit.text[start:end].strip()}{' …' if end < len(hit.text) else ''}"
    heading = hit.heading if hit.heading.startswith(title) else f"{title} > {hit.heading}".strip(" >")
    return answers.HitAnswer(
        id=id_,
        place=place(hit.document, *_lines_of_excerpt(hit, *span)),
        heading=None if excerpt.startswith(f"# {heading}\n") else heading,
        text=excerpt,
        score=round(hit.score, 3),
        changed=hit.changed or None,
        copies=hit.copies or None,
    )


def _lines_of_excerpt(hit: records.Hit, start: int, end: int) -> tuple[int, int]:
    """Return the lines of a part of a passage; those of the passage if its text is not that of the file."""
    if hit.kind not in PLAIN_KINDS or "#" in hit.document.rpartition("/")[2]:
        return hit.line_start, hit.line_end
    first = hit.line_start + len(_LINE_END.findall(hit.text, 0, start))
    return first, first + len(_LINE_END.findall(hit.text, start, end))


def place(document: str, first: int, last: int) -> str:
    return f"{document}:{first}-{last}"


def passage_of(served: AppState, text: str) -> tuple[library.Index, PassageId]:
    """Return the index that an agent's passage ID belongs to, and the parsed ID.

    Raises:
        GenerationGone: the passage is no longer in the index.
    """
    id_ = PassageId.of(text)
    index = served.index(id_.index)
    try:
        index.passage(id_.passage)
    except IdMissing:
        now = index.generation
        if now == id_.generation:
            raise
        raise GenerationGone(f"{text} is gone: the index has changed. Search again.") from None
    return index, id_


def explain(served: AppState, query: Query, id: Id, **options: Any) -> answers.ExplanationAnswer:
    """Explain the score of a passage for a query: the contribution of each query word, by meaning and as a keyword.
    The contributions sum to the score."""
    from search.render.why import sentence

    index, id_ = passage_of(served, id)

    def find() -> tuple[records.Hit, Explanation, str | None]:
        hit = searcher_of(index).hit(query, id_.passage, **options)
        return hit, index.explain(query, hit), _change(index, query, hit, _HITS)

    _, (hit, why, change) = in_one_generation(index, None, find)
    shares = sorted(why.shares(), key=lambda share: -abs(share.contribution))
    return answers.ExplanationAnswer(
        id=id,
        place=place(hit.document, hit.line_start, hit.line_end),
        summary=sentence(why) or "No word of the query adds to the score.",
        score=round(why.score, 6),
        cosine=round(why.cosine, 6),
        shares=[_share(share) for share in shares[:_SHARES]],
        others=round(sum(share.contribution for share in shares[_SHARES:]), 6),
        residual=why.residual,
        change=change,
    )


def _change(
    index: library.Index, query: str, target: records.Hit | str | Path | int, k: int, **options: Any
) -> str | None:
    """Return what would move a passage or document out of the first k hits, or among them, as a sentence.

    None where it cannot be said: in an index on a server, or one that is not complete.
    """
    with suppress(InputError):
        return index.counterfactual(query, target, k, most_encodings=_ENCODINGS, **options).sentence
    return None


def similar(
    served: AppState,
    id: Id,
    k: Annotated[int, Field(ge=1, le=20, description="Number of hits.")] = 5,
    unlinked: Annotated[bool, Field(description="Leave out documents linked with it.")] = False,
    max_tokens: Tokens = 1_500,
) -> answers.SearchAnswer:
    """Find the documents nearest to the document of a passage, such as notes on the same subject that should be linked
    with it (`unlinked`)."""
    index, id_ = passage_of(served, id)

    def find() -> records.Hits:
        document = searcher_of(index).location(index.passage(id_.passage).document_id)
        return index.similar(document, k, unlinked=unlinked, per_document=1)

    generation, hits = in_one_generation(index, None, find)
    quotes = [replace(hit, text=commented_out(hit)) for hit in hits]

    def make(count: int, characters: int) -> answers.SearchAnswer:
        return answers.SearchAnswer(
            results=[
                _hit(
                    hit,
                    (0, min(characters, len(hit.text))),
                    str(PassageId(id_.index, generation, hit.passage_id)),
                )
                for hit in quotes[:count]
            ],
            total=searcher_of(index).store.facts.passages,
            index=id_.index,
            notes=list(index.notes) or None,
        )

    return listed(max_tokens, len(hits), make)


def _share(share: Share) -> answers.ShareAnswer:
    by = [partner.text for partner in share.partners] or None
    return answers.ShareAnswer(word=share.text, kind=share.kind, adds=round(share.contribution, 6), by=by)


def why_not(
    served: AppState,
    query: Query,
    document: Annotated[
        Text,
        Field(description="Path of a file within the indexed folder, or an id from search."),
    ],
    index: IndexName = None,
    k: Annotated[int, Field(ge=1, le=100, description="Number of hits.")] = 5,
    **options: Any,
) -> answers.WhyNotAnswer:
    """Return the rank of a document for a query, and why it is not among the hits: others score higher, it is not
    indexed, its file has changed, or a filter excludes it."""
    from search.render.why import REMEDIES, answer

    def stand(name: str, index: library.Index, item: str | Path | int) -> Standing:
        generation, standing = in_one_generation(
            index, None, lambda: index.why_not(query, item, k, **options)
        )
        return Standing(name, generation, standing, index, item)

    name, generation, standing, opened, item = _standing(served, document, index, stand)
    hit = standing.hit
    return answers.WhyNotAnswer(
        index=name,
        document=standing.document,
        cause=standing.cause,
        reason=" ".join(filter(None, (answer(standing), REMEDIES.get(standing.reason)))),
        rank=hit.rank if hit else None,
        id=str(PassageId(name, generation, hit.passage_id)) if hit else None,
        place=place(hit.document, hit.line_start, hit.line_end) if hit else None,
        score=round(hit.score, 4) if hit else None,
        change=_change(opened, query, item, k, **options) if standing.can_change else None,
    )


class Standing(NamedTuple):
    """The rank of a document for a query, in an index of a generation.

    Attributes:
        opened: the index.
        item: the path, or ID of the document or passage, in this index.
    """

    name: str
    generation: int
    why_not: WhyNot
    opened: library.Index
    item: str | Path | int


Stand = Callable[[str, library.Index, str | Path | int], Standing]


def _standing(served: AppState, document: str, name: str | None, stand: Stand) -> Standing:
    """Return the rank of a document in its index; if several indexes are searched, in one that contains it."""
    try:
        index, id_ = passage_of(served, document)
    except InputError:
        standings, problem = [], None
        for name_, opened in served.named(name).items():
            try:
                standings.append(stand(name_, opened, _within(opened, document)))
            except SearchError as error:
                problem = problem or error
        if problem and not standings:
            raise problem from None
        return min(
            standings,
            key=lambda standing: (
                standing.why_not.cause == "not indexed",
                standing.why_not.reason == "not there",
            ),
        )
    return stand(id_.index, index, id_.passage)


def _within(index: library.Index, document: str) -> str | Path:
    """Return the path of a document, which agents give relative to the folder; for one from memory, its ID.

    Raises:
        InputError: the path is absolute, invalid or outside of the folder.
    """
    folders = searcher_of(index).store.facts.folders
    root = folders.root
    if folders.memory:
        return document
    try:
        is_within = (root / document).resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):
        is_within = False
    if Path(document).is_absolute() or not is_within:
        raise InputError(f"give the path of the document within {folders.described}.")
    return root / document


def status(served: AppState, index: IndexName = None) -> answers.IndexesAnswer:
    """List the indexes, with folder, size and time of the last update. For a named index, list
    also its filter fields, for `where` of search, with their most frequent values."""
    indexes = [_status(name, opened, bool(index)) for name, opened in served.named(index).items()]
    return answers.IndexesAnswer(indexes=indexes, notes=list(served.notes) or None)


def documents(
    served: AppState,
    index: IndexName = None,
    name: Annotated[
        str, Field(max_length=LONGEST_QUERY, description="Words that the path or title must have.")
    ] = "",
    k: Annotated[int, Field(ge=1, le=200, description="Number of documents.")] = 50,
    next: Annotated[Text | None, Field(description="`next` of the previous answer.")] = None,
) -> answers.DocumentsAnswer:
    """List the documents of an index by path, to see what there is or to find a document by name. Without `index`, the
    first index. Pass an id to fetch to read the document from its first lines."""
    name_ = index or served.first
    opened = served.index(name_)
    expected, offset = of_next(next) if next else (None, 0)
    generation, listing = in_one_generation(
        opened, expected, lambda: searcher_of(opened).documents_named(name, k + 1, offset=offset)
    )
    return answers.DocumentsAnswer(
        index=name_,
        documents=[
            answers.DocumentEntry(
                id=str(PassageId(name_, generation, document.passage_id)),
                path=document.name,
                title=document.title,
            )
            for document in listing[:k]
        ],
        next=as_next(generation, offset + k) if len(listing) > k else None,
    )


def _fields(index: library.Index) -> dict[str, list[str]]:
    return {facet.field: [value.where for value in facet.values[:_VALUES]] for facet in index.facets()}


def _status(name: str, index: library.Index, with_fields: bool = False) -> answers.IndexStatus:
    try:
        current = index.status()
        return answers.IndexStatus(
            name=name,
            folder=current.folder,
            documents=current.documents,
            passages=current.passages,
            updated=current.updated,
            model=current.model,
            generation=index.generation,
            fields=_fields(index) if with_fields else None,
            notes=list(index.notes) or None,
        )
    except SearchError as error:
        return answers.IndexStatus(name=name, problem=str(error))


def fetch(
    served: AppState,
    id: Annotated[
        str,
        Field(
            max_length=4_500,
            description="id of a search result; or a path, as in `place`: a/keys.md:3-9.",
        ),
    ],
    index: Annotated[Text | None, Field(description="Index of this path.")] = None,
    around: Annotated[
        int, Field(ge=0, le=10_000, description="Lines before and after the passage.")
    ] = 20,
    lines: Annotated[
        str | None,
        Field(pattern=LINES, description="Read these lines instead, such as 120-180."),
    ] = None,
    offset: Annotated[
        int, Field(ge=0, description="Characters to skip: see `cut` of the previous answer.")
    ] = 0,
    more: Annotated[
        list[Id],
        Field(max_length=9, description="Further ids to read; they share max_tokens."),
    ] = [],  # noqa: B006
    max_tokens: Tokens = 2_000,
) -> answers.FetchAnswer:
    """Read a passage from search with the lines around it, or any lines of a document. If the document is right but the
    answer is elsewhere in it, read on with `lines`. Answer from this text, and cite `place`."""
    share = max_tokens // (1 + len(more))
    others = [_fetch(served, other_id, index, around, None, 0, share) for other_id in more]
    first = _fetch(served, id, index, around, lines, offset, share)
    return first.model_copy(update={"more": others or None})


def _fetch(
    served: AppState,
    id: str,
    index_name: str | None,
    around: int,
    lines: str | None,
    offset: int,
    max_tokens: int,
) -> answers.FetchAnswer:
    index, id_, named_lines = _named(served, id, index_name)
    lines = lines or named_lines

    def find() -> tuple[StoredPassage, DocumentText]:
        passage = index.passage(id_.passage)
        document, text = (
            index.document(passage.document_id),
            searcher_of(index).file_text(passage.document_id),
        )
        if text is None:
            return passage, replace(document, text=document_text(document, document.text))
        return passage, replace(document, text=document_text(document, text), gaps=())

    generation, (passage, document) = in_one_generation(index, None, find)
    notes = list(index.notes)
    if generation != id_.generation:
        notes.append("The index has changed since the search that returned this id.")
    notes += _about_records(document, passage, lines)

    def make(start: int, stop: int, cut: str = "") -> answers.FetchAnswer:
        return _fetched(document, passage, id_, (start, stop), cut, notes)

    limit = around
    start, end = _span(document, passage, lines, around)
    while around and not lines and tokens(make(start, end, _CUT)) > max_tokens:
        around //= 2
        start, end = _span(document, passage, lines, around)
    if offset >= end - start:
        raise InputError(f"the text ends before offset {offset}. Use a smaller offset.")
    rest = f"{_EXCEEDS}only {around} lines before and after are included." if around != limit else ""
    begin, stop = start + offset, min(end, start + offset + 4 * max_tokens)
    same = f"lines={lines}" if lines else f"around={around}"
    while (
        tokens(answer := make(begin, stop, rest if stop == end else _CUT)) > max_tokens
        and stop > begin + 1
    ):
        stop = begin + (stop - begin) * 9 // 10
    if stop < end:
        stop = document.text.rfind("\n", begin, stop) + 1 or stop
        answer = make(begin, stop, f"{_EXCEEDS}continue with {same} and offset={stop - start}.")
    return answer


def _about_records(document: DocumentText, passage: StoredPassage, lines: str | None) -> list[str]:
    """Return a note if the requested lines go beyond the record of a file that the answer is from."""
    file, mark, _ = document.document.rpartition("#")
    last = int(lines.rpartition("-")[2]) if lines else 0
    if not mark or document.kind not in CONVERTED_KINDS or last <= passage.line_end:
        return []
    rest = f"{file}:{passage.line_end + 1}-{last}"
    return [f"This is one record of '{file}'. For the lines after it, fetch {rest}."]


def _named(
    served: AppState, text: str, index_name: str | None
) -> tuple[library.Index, PassageId, str | None]:
    """Return the index and the passage that an agent names by an ID, or by a path; and the lines after the path.

    Raises:
        InputError: no index has a document of this path, or it is not certain which one is meant.
    """
    try:
        index, id_ = passage_of(served, text)
    except InputError as error:
        if _PASSAGE_ID.search(text):
            raise
        problem = error
    else:
        if index_name and served.index(index_name).path != index.path:
            raise InputError(f"id {text} is not of the index '{index_name}'. Leave out `index`.")
        return index, id_, None
    named = served.named(index_name)
    matches = [
        (index, PassageId(name, index.generation, ids[0]), lines)
        for name, index in named.items()
        for ids, lines in [_passages(index, text)]
        if ids
    ]
    # The agent may have the path from a namespace, which has documents of its own by the same name.
    is_unclear = len(matches) > 1 or (
        not index_name and any(index.namespaces() for index in named.values())
    )
    if is_unclear:
        raise InputError(
            f"several indexes may have {quoted(text[:80])}. Pass one as `index`, or the id of a search result."
        )
    if not matches:
        raise InputError(
            f"no document {quoted(text[:80])}. Copy the id or the place of a search result."
        ) from problem
    return matches[0]


def _passages(index: library.Index, text: str) -> tuple[tuple[int, ...], str | None]:
    """Return the passages of the document of a path, and the lines after the path; () if there is no document."""
    searcher = searcher_of(index)

    def has_document(name: str) -> bool:
        with suppress(SearchError):
            return searcher.has_document(name)
        return False

    def passages(name: str) -> tuple[int, ...]:
        with suppress(SearchError):
            return searcher.passages_at(_within(index, name))
        return ()

    match = _PATH_AND_LINES.fullmatch(text)
    if match and not has_document(text):
        first, last = match["first"], match["last"] or match["first"]
        names = [match["path"]]
        row = f"{match['path']}:{first}"  # the row of a table at the first line
        if not searcher.store.facts.folders.memory and not has_document(row):
            names.insert(0, row)
        for name in names:
            if ids := passages(name):
                return ids, f"{first}-{last}"
    return passages(text), None


_EXCEEDS = "The text exceeds max_tokens: "
_CUT = f"{_EXCEEDS}{'':60}"  # as long as the message will be


def _span(
    document: DocumentText, passage: StoredPassage, lines: str | None, around: int
) -> tuple[int, int]:
    """Return the span of the requested lines, or of a passage with the lines around it.

    Raises:
        InputError: the document has no such lines.
    """
    if not lines and not around:
        return passage.start, passage.end
    first, last = max(1, passage.line_start - around), passage.line_end + around
    if lines:
        first, last = map(int, lines.split("-"))
    if document.kind in CONVERTED_KINDS:
        parts = [part for part in document.passages if part.line_start <= last and part.line_end >= first]
        if parts:
            return parts[0].start, parts[-1].end
    elif 1 <= first <= min(last, len(starts := _line_starts(document)) - 1):
        return starts[first - 1], starts[min(last, len(starts) - 1)]
    count = len(_line_starts(document)) - 1
    if document.kind in CONVERTED_KINDS:
        count = max((part.line_end for part in document.passages), default=0)
    raise InputError(f"lines {lines} are outside '{document.document}' ({count:,} lines).")


def _line_starts(document: DocumentText) -> list[int]:
    """Return the start of each line, and the end of the last one."""
    from search.corpus.text import line_starts  # loads all file readers, which a search does not need

    size = len(document.text)
    return [*(start for start in line_starts(document.text) if start < size), size]


def _lines(document: DocumentText, passage: StoredPassage, start: int, stop: int) -> tuple[int, int]:
    """Return the numbers of the first and the last line of a span in the source file."""
    if document.kind in CONVERTED_KINDS:
        parts = [part for part in document.passages if part.start < stop and start < part.end]
        parts = parts or [passage]
        return parts[0].line_start, parts[-1].line_end
    starts = _line_starts(document)
    first = bisect_right(starts, start)
    return first, max(first, bisect_left(starts, stop))


def _readable(document: DocumentText, start: int, end: int) -> str:
    """Return a part of a document without the spaces that fill gaps between passages; indentation stays."""
    pieces, at = [], start
    for gap in document.gaps:
        if not gap.blank and at < gap.end and gap.start < end:
            pieces += [
                document.text[at : gap.start],
                document.text[max(at, gap.start) : gap.end].rstrip(" "),
            ]
            at = gap.end
    return "".join((*pieces, document.text[at:end]))


def _fetched(
    document: DocumentText,
    passage: StoredPassage,
    id_: PassageId,
    span: tuple[int, int],
    cut: str,
    notes: list[str],
) -> answers.FetchAnswer:
    first, last = _lines(document, passage, *span)
    page = {"page": str(passage.page)} if passage.page else {}
    about = {str(name): str(value) for name, value in document.metadata.items()}
    return answers.FetchAnswer(
        id=str(id_),
        title=document.title or document.document,
        text=_readable(document, *span),
        url=f"{Path(document.path).as_uri()}#L{first}-L{last}" if document.path else "",
        place=place(document.document, first, last),
        heading=passage.heading or None,
        cut=cut or None,
        changed=document.changed or None,
        notes=notes or None,
        metadata={**about, "index": id_.index, "kind": document.kind, **page},
    )
