"""Queries: the syntax of a query text, and queries of several parts, which are weighted texts and examples.

In a query of one text, quotes, minus signs and fields have a meaning:

    "two words"             passages must have these words in a row, in any of their forms; they rank as one term
    -word  -"two words"     passages must not have it
    path:mail/** lang=de    a condition of the filter language (`search.ranking.where`), without spaces outside quotes;
    -kind=pdf               "-" negates it. The field is built in, or some document of the index has it

All else is text: hyphens in words, "--", a lone "-", "-" before a digit or a single letter, an unbalanced quote, and a
colon after a name that is not a field, as in URLs and times. A query of only digits and punctuation (09-01-28) counts
as quoted if a passage contains it.

The embedding of a query of several parts is the weighted sum of its parts' embeddings, scaled to length 1. So the
cosine of a passage is a sum, too: each part adds its own cosine with the passage, times its weight, divided by the
length of the unscaled sum. The embedding of an example document is the mean of its passages' embeddings, scaled to
length 1. The keywords are the words of the texts with a positive weight; all keywords have the same weight.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from search.encoding.tokenizer import require_characters
from search.errors import InputError, TextTooLong
from search.records.documents import BUILT_IN_FIELDS
from search.store.terms import NUMBER, QUOTED, unquoted, word_spans

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from search.encoding import Encoder
    from search.encoding.prompts import Role
    from search.records.contents import StoredPassage
    from search.records.option_tools import Ranking
    from search.records.tokens import TokenVectors
    from search.store.snapshot import Snapshot, Store

_VALUE = r"""(?:"[^"]+"|'[^']+'|[^\s(),'"=<>!:][^\s(),'"]*)"""
_OPERATOR = re.compile(
    rf"(?<!\S)(?P<sign>-?)(?P<filter>(?P<field>[^\W\d][\w.]*)(?::|[<>!]=|[=<>]){_VALUE})(?!\S)"
    r"|(?<!\S)-(?:\"(?P<excluded>[^\"]+)\"(?!\w)|(?P<word>[^\W\d_]\w[\w'.-]*)(?!\S))"
    f"|{QUOTED}"
)

Example: TypeAlias = str | Path | int  # a path as in `Index.why_not`, or a passage ID
# Default weight of an example that hits should be unlike.
UNLIKE = 0.5


@dataclass(frozen=True)
class Question:
    """A query of several parts; create one with `Question.of`.

    Attributes:
        texts: texts with weights, of which at least one is above 0.
        examples: passages and documents with weights; a weight below 0 asks for hits that are unlike the example.
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
        """Create a query of several parts.

        Args:
            texts: with or without a weight; the default is 1.
            like: passage IDs or paths, with or without a weight; the default is 1.
            unlike: likewise; the weight, by default 0.5, is subtracted.

        Raises:
            InputError: a text is empty, no text has a positive weight, or a weight is not a number.

        Example:
            >>> Question.of("keys", ("rotation", 0.5), unlike=[12]).examples
            ((12, -0.5),)
        """
        weighted = [_weighted(text, 1.0) for text in texts]
        examples = [_weighted(entry, 1.0) for entry in like]
        examples += [(item, -weight) for item, weight in (_weighted(entry, UNLIKE) for entry in unlike)]
        if not all(text.strip() for text, _ in weighted):
            raise InputError("one text of the query is empty. Describe what you are looking for.")
        if not any(weight > 0 for _, weight in weighted):
            raise InputError("no text of the query has a positive weight. Give at least one.")
        for text, _ in weighted:
            require_characters(text, "one text of the query")
        if not np.isfinite([weight for _, weight in (*weighted, *examples)]).all():
            raise InputError("a weight of the query is not a finite number. Use a number such as 0.5.")
        # Word offsets refer to `words_of`, so the texts with a positive weight come first.
        return cls(tuple(sorted(weighted, key=lambda text: text[1] <= 0)), tuple(examples))

    @property
    def words_of(self) -> str:
        """The texts whose words are keywords, one per line."""
        return "\n".join(text for text, weight in self.texts if weight > 0)


Query: TypeAlias = str | Question | Sequence[tuple[str, float]]


@dataclass(frozen=True, eq=False)
class QuestionPart:
    """One of several parts of a query.

    Attributes:
        name: the text, or a description of the part.
        factor: the query's cosine is the sum of the parts' cosines times these factors.
        embedding: (d,) unit length.
        text, context, role: the encoded text, for an explanation by tokens; "" if there is none.
        left_out: positions of tokens whose addends were taken out of the embedding, which is shorter then.
    """

    name: str
    factor: float
    embedding: NDArray[np.float32]
    text: str = ""
    context: str = ""
    role: Role = "query"
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """A query with its embedding.

    Attributes:
        embedding: (d,) vector of unit length, shorter without some of the words; None if the ranking does not need it.
        tokens: token vectors of the query; None if they are not needed, and for a query of several parts.
        parts: parts of the query, if it has several.
        left_out: positions of tokens whose addends were taken out of the embedding.
    """

    text: str
    embedding: NDArray[np.float32] | None
    tokens: TokenVectors | None = None
    parts: tuple[QuestionPart, ...] = ()
    left_out: tuple[int, ...] = ()


@contextmanager
def query_fits(name: str = "query") -> Iterator[None]:
    """Context manager: raise InputError if a query is too long. Queries are never truncated."""
    try:
        yield
    except TextTooLong as error:
        raise InputError(
            f"the {name} has {error.n_tokens} tokens, but the model reads at most {error.max_tokens}. Shorten it."
        ) from None


def as_question(query: Query) -> str | Question:
    """Return a query as one text, or as a question if it has several parts.

    Raises:
        InputError: the query is empty or of the wrong type.
    """
    if isinstance(query, str):
        if not query.strip():
            raise InputError("the query is empty. Describe what you are looking for.")
        require_characters(query, "the query")
        return query
    if not isinstance(query, Question):
        query = list(query)
        if not all(
            isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) for entry in query
        ):
            raise InputError(
                'a query is a text, a list of texts with weights such as [("keys", 1), '
                '("rotation", 0.5)], or a Question.'
            )
    question = query if isinstance(query, Question) else Question.of(*query)
    if len(question.texts) == 1 and not question.examples:
        return question.texts[0][0]
    return question


def parse_query(text: str, where: str | None, passes: Callable[[str], bool]) -> tuple[str, str | None]:
    """Split a query into its text, which keeps the quotes of phrases, and a filter.

    Args:
        where: a filter to combine with the conditions in the query.
        passes: returns True if some passage passes a filter.

    Raises:
        InputError: nothing is left to search for, or `where` is invalid.

    Example:
        >>> parse_query('ring "the dentist" -teeth', None, lambda filter: False)
        ('ring "the dentist"', 'text:"the dentist" and not text:"teeth"')
    """
    conditions: list[str] = []

    def read(match: re.Match[str]) -> str:
        field, excluded = match["field"], match["excluded"] or match["word"]
        if field:
            if field.casefold() not in BUILT_IN_FIELDS and not passes(f"has {field}"):
                return match[0]
            negation = "not " if match["sign"] else ""
            conditions.append(f"{negation}{match['filter']}")
            return ""
        if not any(word_spans(excluded or match[match.lastindex or 0])):
            return match[0]
        if excluded:
            conditions.append(f'not text:"{excluded}"')
            return ""
        conditions.append(f"text:{match[0]}")
        return match[0]

    rest = _OPERATOR.sub(read, text)
    if rest != text:
        rest = " ".join(rest.split())
    if not rest:
        raise InputError("the query only excludes or filters passages. Add words to search for.")
    if re.fullmatch(NUMBER, rest) and passes(f'text:"{rest}"'):
        conditions.append(f'text:"{rest}"')
    if where is not None and conditions:
        from search.ranking.where import parse

        parse(where)  # alone, so that an error quotes only this filter
        conditions.insert(0, f"({where})")
    return rest, " and ".join(conditions) or where


def without_operators(text: str) -> tuple[str, bool]:
    """Return a query without its quotes, exclusions and filters, and True if it has any.

    Example:
        >>> without_operators('ring "the dentist" -teeth')
        ('ring the dentist', True)
    """
    rest, condition = parse_query(text, None, lambda _: True) if text.strip() else ("", None)
    return unquoted(rest), condition is not None


def encoded(query: str | Question, ranking: Ranking, encoder: Encoder, store: Store) -> EncodedQuery:
    """Encode a query for a ranking.

    Raises:
        InputError: it is too long; or, for several parts, the ranking does not support them, an example is not in the
            index, or the parts cancel each other out.
    """
    with query_fits():
        if isinstance(query, Question):
            return encoded_question(query, ranking, encoder, store)
        if ranking.rerank == "late":
            return encoded_text(query, encoder, [-1])
        return EncodedQuery(query, encoder.encode([unquoted(query)], role="query")[0])


def as_embedding(vector: ArrayLike, dimension: int) -> NDArray[np.float32]:
    """Return a vector at unit length.

    Raises:
        InputError: it is not of this dimension, not finite, or zero.
    """
    embedding = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(embedding))
    if embedding.shape != (dimension,) or not 0 < length < np.inf:
        raise InputError(f"a query vector needs {dimension} finite numbers that are not all 0.")
    return (embedding / length).astype(np.float32)


def encoded_text(text: str, encoder: Encoder, layers: Sequence[int | str]) -> EncodedQuery:
    """Encode a query of one text, with its token vectors at the last layer and the given layers."""
    (tokens,) = encoder.tokens([unquoted(text)], role="query", layers=layers)
    return EncodedQuery(text, tokens.embedding.astype("float32", copy=False), tokens)


def encoded_question(
    question: Question, ranking: Ranking, encoder: Encoder, store: Store, *, explained: bool = False
) -> EncodedQuery:
    """Encode a query of several parts; see `encoded`.

    Args:
        explained: also encode for a ranking without embeddings, because an explanation needs them.
    """
    if ranking.rerank:
        raise InputError(
            "a query with several parts cannot be reranked. Leave the rerank out, or give a single text."
        )
    if not ranking.by_meaning:
        if question.examples:
            raise InputError(
                "like and unlike need embeddings, which this ranking does not use. Use mode hybrid or dense."
            )
        if not explained:
            return EncodedQuery(question.words_of, None)
    texts = [text for text, _ in question.texts]
    parts = [
        QuestionPart(text, weight, vector, text)
        for (text, weight), vector in zip(
            question.texts, encoder.encode(texts, role="query"), strict=True
        )
    ]
    if question.examples:
        with store.reading() as snapshot:
            parts += [_example(snapshot, example, weight) for example, weight in question.examples]
    return _summed(question.words_of, parts)


def query_of(snapshot: Snapshot, ids: Sequence[int]) -> EncodedQuery:
    """Return a query made of some passages with equal weights."""
    stored = snapshot.stored(ids)
    parts = [
        QuestionPart(
            f"{stored[id_].document} p{id_}",
            1.0,
            vector,
            "" if stored[id_].own_vector else stored[id_].visible_text,
            stored[id_].context,
            "document",
        )
        for id_, vector in zip(ids, snapshot.embeddings(ids), strict=True)
    ]
    return _summed("\n".join(part.text for part in parts), parts)


def most_similar_part(snapshot: Snapshot, query: EncodedQuery, passage: int) -> EncodedQuery:
    """Return the query with the text of a single part: the one that adds most to the cosine with a passage."""
    snapshot.passage(passage)
    (vector,) = snapshot.embeddings([passage])
    best = int(np.argmax([part.factor * float(part.embedding @ vector) for part in query.parts]))
    parts = tuple(part if i == best else replace(part, text="") for i, part in enumerate(query.parts))
    return replace(query, text=query.parts[best].text, parts=parts)


def _summed(text: str, parts: Sequence[QuestionPart]) -> EncodedQuery:
    """Return the query that is the weighted sum of parts; the factor of each part is still its weight.

    Raises:
        InputError: they cancel each other out.
    """
    total = np.sum([part.factor * part.embedding.astype(np.float64) for part in parts], axis=0)
    length = _length(total, "the parts of the query")
    scaled = tuple(replace(part, factor=part.factor / length) for part in parts)
    return EncodedQuery(text, (total / length).astype(np.float32), parts=scaled)


def _length(vector: NDArray[np.float64], name: str) -> float:
    length = float(np.linalg.norm(vector))
    if length < 1e-6:
        raise InputError(f"{name} cancel each other out. Change a text, an example or a weight.")
    return length


def _example(snapshot: Snapshot, example: Example, weight: float) -> QuestionPart:
    """Return a passage or document as a part of a query."""
    mean = snapshot.embeddings(passages_of(snapshot, example)).astype(np.float64).mean(axis=0)
    length = _length(mean, f"the passages of '{example}'")
    name = name_of_example(snapshot.passage(example)) if isinstance(example, int) else str(example)
    return QuestionPart(
        f"{'like' if weight > 0 else 'unlike'} {name}", weight, (mean / length).astype(np.float32)
    )


def name_of_example(passage: StoredPassage) -> str:
    """Return the name of a passage that hits should resemble, in the parts of a score."""
    return PurePosixPath(passage.document).stem


def passages_of(snapshot: Snapshot, example: Example) -> tuple[int, ...]:
    """Return the IDs of a passage, or of all passages of a document (or a line of it).

    Raises:
        InputError: the example is not in the index.
    """
    if isinstance(example, int):
        return (snapshot.passage(example).passage_id,)
    resolved = snapshot.resolve(example)
    if not resolved.passages:
        raise InputError(
            f"'{example}' is not in the index. Give a path or passage ID from a list of hits."
        )
    return resolved.passages


def _weighted(entry: Example | tuple[Example, float], default: float) -> tuple[Any, float]:
    return (entry[0], float(entry[1])) if isinstance(entry, tuple) else (entry, default)
