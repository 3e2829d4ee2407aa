"""Queries of several parts: texts with weights, and what hits shall be like or unlike.

The embedding of such a query is the sum of its parts' embeddings, each times its weight, scaled to length 1. So a
passage's cosine is a sum too, of its cosines with the parts, each times the same factor for all passages: the part's
weight by the length of the sum. A document counts as the mean of its passages' embeddings, scaled to length 1.
The words that are looked for are those of the texts with a weight above 0, all alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from search.errors import InputError
from search.ranking.ranking import Asked, Part, Ranking, check_query
from search.ranking.selection import stored_vectors
from search.store.place_of import place_of
from search.store.snapshot import one_passage

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.store.vectors import LoadedVectors

Example: TypeAlias = str | Path | int  # a path as `Index.why_not` takes it, or a passage id
UNLIKE = 0.5  # what an example counts that hits shall be unlike, if nothing else is said


@dataclass(frozen=True)
class Question:
    """A query of several parts; make one with `Question.of`.

    Attributes:
        texts: with their weights; at least one above 0.
        examples: passages and documents with their weights, below 0 for what hits shall be unlike.
    """

    texts: tuple[tuple[str, float], ...]
    examples: tuple[tuple[Example, float], ...] = ()

    @classmethod
    def of(
        cls,
        *texts: str | tuple[str, float],
        like: Iterable[Example | tuple[Example, float]] = (),
        unlike: Iterable[Example | tuple[Example, float]] = (),
    ) -> Question:
        """
        Args:
            texts: with or without a weight, which is 1.
            like: passage ids or paths, with or without a weight, which is 1.
            unlike: likewise; the weight, 0.5 if none is given, is taken off.

        Raises:
            InputError: a text is empty, no text has a weight above 0, or a weight is not a number.

        Example:
            >>> Question.of("keys", ("rotation", 0.5), unlike=[12]).examples
            ((12, -0.5),)
        """
        weighted = [_weighted(text, 1.0) for text in texts]
        examples = [_weighted(one, 1.0) for one in like]
        examples += [(what, -weight) for what, weight in (_weighted(one, UNLIKE) for one in unlike)]
        if not all(text.strip() for text, _ in weighted):
            raise InputError("a text of the query is empty. Say in your own words what you are looking for.")
        if not any(weight > 0 for _, weight in weighted):
            raise InputError("no text of the query has a weight above 0. Say what you are looking for.")
        if not np.isfinite([weight for _, weight in (*weighted, *examples)]).all():
            raise InputError("a weight of the query is not a finite number. Take one such as 0.5.")
        # The words of a query stand where they stand in the texts with a positive weight, one a line.
        return cls(tuple(sorted(weighted, key=lambda part: part[1] <= 0)), tuple(examples))

    @property
    def words_of(self) -> str:
        """The texts whose words are looked for, one a line."""
        return "\n".join(text for text, weight in self.texts if weight > 0)


Query: TypeAlias = str | Question | Sequence[tuple[str, float]]


def one_or_more(query: Query) -> str | Question:
    """A query as one text, or as a question where it has several parts.

    Raises:
        InputError: it cannot be asked.
    """
    if isinstance(query, str):
        check_query(query)
        return query
    if not isinstance(query, Question):
        query = list(query)
        if not all(isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) for part in query):
            raise InputError(
                'a query is a text, a list of texts with weights, [("keys", 1), ("rotation", 0.5)], or a Question.'
            )
    question = query if isinstance(query, Question) else Question.of(*query)
    if len(question.texts) == 1 and not question.examples:
        return question.texts[0][0]
    return question


def asked_of(
    loaded: LoadedVectors, encoder: Encoder, question: Question, ranking: Ranking, explained: bool = False
) -> Asked:
    """A query of several parts, as it is searched for.

    Args:
        explained: embeddings are needed, whatever the ranking.

    Raises:
        InputError: the ranking does not fit, an example is not in the index, or the parts cancel out.
        TextTooLong: one of the texts.
    """
    if ranking.rerank:
        raise InputError(
            "a query of several parts cannot be reranked. Leave the rerank out, or ask with one text alone."
        )
    if not ranking.by_meaning:
        if question.examples:
            raise InputError(
                "what hits shall be like or unlike counts by meaning, which this ranking does not use. "
                "Choose the mode hybrid or dense."
            )
        if not explained:
            return Asked(question.words_of, None)
    texts = [text for text, _ in question.texts]
    parts = [
        Part(text, weight, vector, text)
        for (text, weight), vector in zip(question.texts, encoder.encode(texts, role="query"), strict=True)
    ]
    parts += [example_of(loaded, what, weight) for what, weight in question.examples]
    return summed(question.words_of, parts)


def summed(text: str, parts: Sequence[Part]) -> Asked:
    """The query that is the sum of some parts, whose factors are weights yet.

    Raises:
        InputError: they cancel out.
    """
    total = np.sum([part.factor * part.embedding.astype(np.float64) for part in parts], axis=0)
    length = float(np.linalg.norm(total))
    if length < 1e-6:
        raise InputError("the parts of the query cancel out: nothing is left to look for. Change a weight.")
    scaled = tuple(
        Part(part.name, part.factor / length, part.embedding, part.text, part.context, part.role)
        for part in parts
    )
    return Asked(text, (total / length).astype(np.float32), parts=scaled)


def example_of(loaded: LoadedVectors, what: Example, weight: float) -> Part:
    """A passage or document as a part of a query."""
    ids = passages_of(loaded, what)
    with loaded.reader.reading() as connection:
        mean = stored_vectors(connection, ids).astype(np.float64).mean(axis=0)
    length = np.linalg.norm(mean)
    if length < 1e-6:
        raise InputError(f"the passages of '{what}' cancel out. Name one of them.")
    shown = f"p{what}" if isinstance(what, int) else str(what)
    return Part(f"{'like' if weight > 0 else 'unlike'} {shown}", weight, (mean / length).astype(np.float32))


def passages_of(loaded: LoadedVectors, what: Example) -> tuple[int, ...]:
    """The ids of a passage, or of all passages of a document (or a line of it).

    Raises:
        InputError: it is not in the index.
    """
    if isinstance(what, int):
        with loaded.reader.reading() as connection:
            return (one_passage(connection, what).id,)
    found = place_of(loaded, what).passages
    if not found:
        raise InputError(
            f"'{what}' is not in the index. Name a file or a passage that is, as hits are listed."
        )
    return found


def _weighted(what: Example | tuple[Example, float], default: float) -> tuple[Any, float]:
    return (what[0], float(what[1])) if isinstance(what, tuple) else (what, default)
