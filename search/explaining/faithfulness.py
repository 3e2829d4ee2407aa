"""Are the words that an explanation says count most those that the cosine needs?

As "comprehensiveness" in DeYoung et al. 2020, "ERASER: A Benchmark to Evaluate Rationalized NLP Models", and the
erasure of Li, Monroe & Jurafsky 2016, "Understanding Neural Networks through Representation Erasure": leave out what
is said to matter, ask the model again, and see how far the number falls. Any shorter text has another cosine, so
the fall says something only beside that of as many words drawn at random.

Words are cut out of the text, not replaced by [MASK]. What is left is a text that somebody could have written, so
the test can be repeated with an editor; not every tokenizer has a mask token; and [MASK] would be one of the tokens
that are pooled, one that models of sentences do not see in training. The price is that the words behind move up and
that there are fewer tokens to pool, but so it is with random words. benchmarks/faithfulness.py has both ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.tokenizer import with_context
from search.errors import InputError
from search.records.comparisons import Faithfulness, Removal
from search.records.explanations import Explanation
from search.records.shown import Shown, Spans
from search.records.tokens import Word

COUNTS, DRAWS = (1, 3, 5), 20
_SAME = 0.01  # cosines of the same two texts by the same model differ by far less, whatever the engine


def faithfulness(why: Explanation, encoder: Encoder) -> Faithfulness:
    """Cut out the words that added most, encode what is left, and do the same with random words.

    Only the cosine is tested: without a keyword, what the keyword added is gone. Random words are drawn from all words
    of the passage, so they may be the same ones; draws are the same every time.

    Raises:
        InputError: the explanation is by another model, or the score has no cosine.
    """
    if why.mode == "lexical":
        raise InputError(
            "the hit was ranked by its words alone, so there is no cosine to check; what each term added is exact. "
            "Ask with --mode dense or --mode hybrid."
        )
    strongest = ranked_words(why)
    in_text = sorted(strongest, key=lambda word: word.start)
    sizes = sorted({min(count, len(strongest)) for count in COUNTS} - {0})
    chance = np.random.default_rng(0)
    drawn = [[in_text[i] for i in chance.permutation(len(in_text))] for _ in range(DRAWS)]
    cut = [order[:size] for size in sizes for order in (strongest, *drawn)]
    cosine, *rest = _cosines(why, [without(why.passage, words, why.hidden) for words in ([], *cut)], encoder)
    if abs(cosine - why.cosine) > _SAME:
        raise InputError(
            f"the explanation is of a cosine of {why.cosine:.4f}, but its two texts have {cosine:.4f} here. "
            "Explain a hit of the same query, with the same index, and check that."
        )
    drops = (cosine - np.array(rest)).reshape(len(sizes), 1 + DRAWS).tolist()
    removals = [
        Removal(tuple(strongest[:size]), drop, tuple(random))
        for size, (drop, *random) in zip(sizes, drops, strict=True)
    ]
    return Faithfulness(cosine, len(strongest), tuple(removals))


def _cosines(why: Explanation, texts: Sequence[str], encoder: Encoder) -> NDArray[np.float64]:
    """Cosines of the query with each text; equal texts are encoded once and so have equal cosines."""
    (query,) = encoder.encode([why.query], role="query").astype(np.float64)
    different, places = np.unique(texts, return_inverse=True)
    embeddings = encoder.encode([with_context(why.context, text) for text in different], role="document")
    found: NDArray[np.float64] = (embeddings.astype(np.float64) @ query)[places]
    return found


def ranked_words(why: Explanation) -> list[Word]:
    """The words of a passage's own text, the one that added most first; at equal addends as they stand there."""
    words = why.words()
    added = words.contributions.sum(axis=0)
    own = [j for j, word in enumerate(words.passage) if word.kind == "word"]
    return [words.passage[j] for j in sorted(own, key=lambda j: -float(added[j]))]


def without(text: str, words: Sequence[Word], hidden: Spans = ()) -> str:
    """A text less its markup and some of its words; a blank stands for each and the white space around it.

    The blank keeps the neighbours from becoming one word where nothing stood between them, as in Chinese.
    """
    read = Shown(text, hidden)
    pieces, at = [], 0
    for word in sorted(words, key=lambda word: word.start):
        pieces.append(read.text[at : read.offset(word.start)].strip())
        at = max(at, read.offset(word.end))
    pieces.append(read.text[at:].strip())
    return " ".join(piece for piece in pieces if piece)
