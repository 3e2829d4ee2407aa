"""Documents near to a document that it is not linked with: what a writer of notes may want to link.

Left out are documents that the example links to, and those that link to it (`search.store.links`). Text of a template
says nothing about a note, so passages that consist of it are left out, too: a line is a template's if it stands in at
least three documents among the example and the nearest passages, and a passage with such lines consists of them if it
has fewer than five other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from search.ranking.question import query_of
from search.store.terms import word_spans

if TYPE_CHECKING:
    from search.ranking.question import EncodedQuery
    from search.records.contents import StoredPassage
    from search.store.snapshot import Snapshot

_NEAREST = 200  # passages whose lines are compared
_DOCUMENTS_OF_A_TEMPLATE = 3
_FEWEST_WORDS = 5


def unlinked_query(snapshot: Snapshot, ids: Sequence[int]) -> tuple[EncodedQuery, set[int]]:
    """Return a query made of an example's passages without those of a template, and the IDs of passages to leave out.

    Args:
        ids: the passages of the example.

    Raises:
        InputError: the index is on a server.
    """
    own = snapshot.siblings(ids)
    linked = snapshot.passages_of(snapshot.links().linked(set(own.values())))
    query = query_of(snapshot, ids)
    assert query.embedding is not None
    nearest = snapshot.nearest(query.embedding, _NEAREST, snapshot.passing(None, without=own), [])
    passages = snapshot.stored([*own, *(id_ for id_, _ in nearest)])
    template = _template_lines(passages.values())
    of_template = {id_ for id_, passage in passages.items() if _is_of_template(passage, template)}
    rest = [id_ for id_ in ids if id_ not in of_template]
    return query_of(snapshot, rest or ids), {*own, *linked, *of_template}


def _template_lines(passages: Iterable[StoredPassage]) -> set[str]:
    """Return the lines that stand in several documents."""
    of_each: dict[int, set[str]] = {}
    for passage in passages:
        of_each.setdefault(passage.document_id, set()).update(_lines(passage))
    counts = Counter(line for lines in of_each.values() for line in lines)
    return {line for line, count in counts.items() if count >= _DOCUMENTS_OF_A_TEMPLATE}


def _is_of_template(passage: StoredPassage, template: Collection[str]) -> bool:
    """Return True if a passage has lines of a template, and hardly any other words."""
    own = [line for line in _lines(passage) if line not in template]
    words = sum(1 for line in own for _ in word_spans(line))
    return words < _FEWEST_WORDS and len(own) < sum(1 for _ in _lines(passage))


def _lines(passage: StoredPassage) -> Iterator[str]:
    return (line.strip().casefold() for line in passage.visible_text.splitlines() if line.strip())
