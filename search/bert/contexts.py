"""The public `in_contexts`: vectors of words in several texts, side by side, layer by layer.

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
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.contexts import ContextualCosines


def in_contexts(
    word: str,
    texts: Sequence[str],
    against: Sequence[str] = (),
    *,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
) -> ContextualCosines:
    """Cosines of a word's vectors in several texts, and with other words, at every layer.

    Args:
        word: what to look for, whatever its case; as a whole word, the first one where there are several. Its
            vector is the mean of its tokens' vectors.
        texts: the contexts. One will do where there is something to compare with.
        against: words or phrases, each read by itself.

    Raises:
        InputError: a text lacks the word, is empty or too long, or there is nothing to compare.
        ModelError: the model cannot be found, loaded or taken apart.
    """
    if isinstance(texts, str) or isinstance(against, str):
        raise InputError("texts and against are lists of strings.")
    places = [occurrences(word, text) for text in texts]
    if not texts or (len(texts) == 1 and not against):
        raise InputError(
            "there is nothing to compare: give two texts, or something to compare the word with."
        )
    checkpoint = load_checkpoint(model, offline)
    vectors, pieces = zip(
        *(_word(checkpoint, text, word, *spans[0]) for text, spans in zip(texts, places, strict=True)),
        strict=True,
    )
    others = [_whole(checkpoint, text) for text in against]
    here = _unit(np.stack(vectors, axis=1))
    there = _unit(np.stack(others, axis=1)) if others else np.zeros((len(here), 0, here.shape[2]))
    return ContextualCosines(
        word=word,
        texts=tuple(texts),
        found=tuple(spans[0] for spans in places),
        counts=tuple(len(spans) for spans in places),
        pieces=pieces,
        against=tuple(against),
        between=here @ here.transpose(0, 2, 1),
        others=here @ there.transpose(0, 2, 1),
        model=checkpoint.name,
    )


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


def _whole(checkpoint: Checkpoint, text: str) -> NDArray[np.float64]:
    """(layers + 1, d) the mean vector of a text's own tokens, read by itself."""
    made = checkpoint.tokens(text)
    at = [i for i, token in enumerate(made.tokens) if not token.special]
    if not at:
        raise InputError(f"the tokenizer of '{checkpoint.name}' leaves nothing of '{text}'. Leave it out.")
    return _mean(checkpoint.run(made), at)


def _mean(output: object, at: list[int]) -> NDArray[np.float64]:
    states = getattr(output, "hidden_states")  # noqa: B009 - transformers has no types
    return np.stack([state[0, at].double().numpy().mean(axis=0) for state in states])


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
