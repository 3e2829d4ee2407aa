"""The public `in_contexts` and `equal_rows`: vectors of several texts side by side, layer by layer.

`in_contexts` follows one word through several texts: the same entry of the vocabulary, other vectors. In layer 0 a
word's vector depends on the word and its place alone; each further layer mixes in what stands around it. "python"
beside "pet" moves towards "snake", beside "coding" towards "programming".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from search.bert.checkpoint import Checkpoint, load_checkpoint
from search.bert.inspecting import inspect
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.contexts import ContextualCosines, EqualRows
from search.records.inspections import Inspection

_ROUNDING = 1e-6  # of float32, by what is computed beside it


def in_contexts(
    word: str | Sequence[str],
    texts: Sequence[str],
    against: Sequence[str] = (),
    *,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
) -> ContextualCosines:
    """Cosines of words' vectors in several texts, and with other words, at every layer.

    Args:
        word: what to look for, whatever its case; as a whole word, the first one where there are several. Its
            vector is the mean of its tokens' vectors. Or a word for each text: "python" in the first, "snake" in the
            second.
        texts: the contexts. One will do where there is something to compare with.
        against: words or phrases, each read by itself; the vector of a phrase is the mean of its tokens'.

    Raises:
        InputError: a text lacks its word, is empty or too long, or there is nothing to compare.
        ModelError: the model cannot be found, loaded or taken apart.

    Example:
        >>> found = in_contexts(["python", "snake"], ["my pet python", "a snake bit me"])    # doctest: +SKIP
        >>> found.between[:, 0, 1]    # a cosine for each layer                             # doctest: +SKIP
    """
    if isinstance(texts, str) or isinstance(against, str):
        raise InputError("texts and against are lists of strings.")
    words = [word] * len(texts) if isinstance(word, str) else list(word)
    if len(words) != len(texts):
        raise InputError(
            f"words: {len(words)}, texts: {len(texts)}. Give one word for all texts, or one for each."
        )
    try:
        places = [occurrences(word, text) for word, text in zip(words, texts, strict=True)]
    except InputError as error:
        if len(texts) == 1 or not isinstance(word, str):
            raise
        raise InputError(
            f"{error} Or name a word for each text, in their order: --word {word} --word snake; in Python a list."
        ) from None
    if not texts or (len(texts) == 1 and not against):
        raise InputError(
            "there is nothing to compare: give two texts, or something to compare the word with."
        )
    checkpoint = load_checkpoint(model, offline)
    vectors, pieces = zip(
        *(
            _word(checkpoint, text, word, *spans[0])
            for word, text, spans in zip(words, texts, places, strict=True)
        ),
        strict=True,
    )
    wholes = [_whole(checkpoint, text) for text in against]
    others = [vectors for vectors, _ in wholes]
    here = _unit(np.stack(vectors, axis=1))
    there = _unit(np.stack(others, axis=1)) if others else np.zeros((len(here), 0, here.shape[2]))
    return ContextualCosines(
        words=tuple(words),
        texts=tuple(texts),
        found=tuple(spans[0] for spans in places),
        counts=tuple(len(spans) for spans in places),
        pieces=pieces,
        against=tuple(against),
        lengths=tuple(length for _, length in wholes),
        between=here @ here.transpose(0, 2, 1),
        others=here @ there.transpose(0, 2, 1),
        model=checkpoint.name,
    )


def equal_rows(text: str, text2: str, *, model: str = DEFAULT_MODEL, offline: bool = False) -> EqualRows:
    """Two texts, each read by itself: which vectors at the same place are equal, and how alike the others are.

    In the tables a row depends on the entry, the place or the segment alone, so [CLS] has equal rows in any two texts.
    From layer 1 on it has not, as it has read the others.

    Raises:
        InputError: a text is empty or too long.
        ModelError: the model cannot be found, loaded or taken apart.
    """
    one, two = (inspect(each, model=model, offline=offline) for each in (text, text2))
    sides = _vectors(one), _vectors(two)
    places = min(len(one.tokens), len(two.tokens))
    pairs = [(sides[0][part][:places], sides[1][part][:places]) for part in sides[0]]
    return EqualRows(
        texts=(text, text2),
        tokens=(one.tokens, two.tokens),
        parts=tuple(sides[0]),
        cosines=np.stack([(_unit(a) * _unit(b)).sum(axis=1) for a, b in pairs], axis=1),
        equal=np.stack([np.abs(a - b).max(axis=1) <= _ROUNDING for a, b in pairs], axis=1),
        elsewhere=tuple(
            (i, j)
            for i, left in enumerate(one.tokens)
            for j, right in enumerate(two.tokens)
            if left.id == right.id and i != j
        ),
        model=one.model.name,
    )


def _vectors(inspected: Inspection) -> dict[str, NDArray[np.float64]]:
    """The vectors of a text's tokens by the name of what they come from, each (n, width)."""
    layer = inspected.embedding
    found = {"word": layer.words, "position": layer.positions}
    if layer.segments is not None:
        found["segment"] = layer.segments
    return found | {f"layer {i}": states.astype(np.float64) for i, states in enumerate(inspected.states)}


def occurrences(word: str, text: str, named: str | None = None) -> list[tuple[int, int]]:
    """Spans of a whole word in a text, which an error calls `named`."""
    word = word.strip()
    if not word:
        raise InputError("the word is empty. Give one that stands in the texts.")
    # A sign such as "." or the end of "c++" may have a letter beside it; an accent belongs to the letter before it.
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    behind = r"(?![\w\u0300-\u036f])" if re.search(r"\w$", word) else r"(?![\u0300-\u036f])"
    pattern = before + re.escape(word) + behind
    found = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    if not found:
        raise InputError(f"the word '{word}' does not stand in '{named or text}'. Give texts that have it.")
    return found


def _word(
    checkpoint: Checkpoint, text: str, word: str, start: int, end: int
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """(layers + 1, d) the vectors of the tokens within a span of a text, and those tokens."""
    made = checkpoint.tokens(text)
    at = [
        i
        for i, token in enumerate(made.tokens)
        if token.source is not None and token.start < end and token.end > start
    ]
    if not at:
        raise InputError(
            f"the tokenizer of '{checkpoint.name}' leaves nothing of '{word}'. Take another word."
        )
    return _mean(checkpoint.run(made), at), tuple(made.tokens[i].text for i in at)


def _whole(checkpoint: Checkpoint, text: str) -> tuple[NDArray[np.float64], int]:
    """(layers + 1, d) the mean vector of a text's own tokens, read by itself, and how many there are."""
    made = checkpoint.tokens(text)
    at = [i for i, token in enumerate(made.tokens) if not token.special]
    if not at:
        raise InputError(f"the tokenizer of '{checkpoint.name}' leaves nothing of '{text}'. Leave it out.")
    return _mean(checkpoint.run(made), at), len(at)


def _mean(output: object, at: list[int]) -> NDArray[np.float64]:
    states = getattr(output, "hidden_states")  # noqa: B009 - transformers has no types
    return np.stack([state[0, at].double().numpy().mean(axis=0) for state in states])


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.maximum(
        np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300
    )  # a row of padding is 0
