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

from search.encoding import Encoder
from search.encoding.tokenizer import Role, with_context
from search.errors import InputError
from search.records.comparisons import Faithfulness, Removal
from search.records.explanations import Explanation
from search.records.shown import Shown, Spans, shown
from search.records.tokens import Word

COUNTS, DRAWS = (1, 3, 5), 20
_SAME = 0.01  # cosines of the same two texts by the same model differ by far less, whatever the engine


def faithfulness(
    why: Explanation,
    encoder: Encoder,
    *,
    counts: Sequence[int] = COUNTS,
    draws: int = DRAWS,
    seed: int = 0,
    roles: tuple[Role | None, Role | None] = ("query", "document"),
) -> Faithfulness:
    """Cut out the words that added most, encode what is left, and do the same with random words.

    It is the cosine that is looked at, and what words added to that. A word part of the score needs no such test:
    without a term, what the term added is gone.

    Args:
        why: an explanation of two texts by `encoder`.
        counts: how many words to cut out, each number of these in turn; where the passage has fewer, all.
            Random words are drawn from all words, so they may be the same ones.
        draws: how many times to draw.
        seed: of the draws. A draw's words do not depend on what other numbers are asked for.
        roles: what the two texts were encoded as.

    Raises:
        InputError: a count or number of draws below 1, an explanation by another model, or one of a score that
            no cosine is part of.
    """
    for name, number in [("words to cut out", min(counts, default=0)), ("draws", draws)]:
        if number < 1:
            raise InputError(f"the number of {name} is {number}, but it must be at least 1.")
    if why.mode == "lexical":
        raise InputError(
            "the hit was ranked by its words alone, so there is no cosine to check; what each term added is exact. "
            "Ask with --mode dense or --mode hybrid."
        )
    strongest = ranked_words(why)
    in_text = sorted(strongest, key=lambda word: word.start)
    sizes = sorted({min(count, len(strongest)) for count in counts} - {0})
    chance = np.random.default_rng(seed)
    orders = [[in_text[i] for i in chance.permutation(len(in_text))] for _ in range(draws)]
    cut = [words[:size] for size in sizes for words in (strongest, *orders)]
    texts = [shown(why.passage, why.hidden), *(without(why.passage, words, why.hidden) for words in cut)]
    cosine, *rest = _cosines(why, texts, encoder, roles)
    if abs(cosine - why.cosine) > _SAME:
        raise InputError(
            f"the explanation is of a cosine of {why.cosine:.4f}, but its two texts have {cosine:.4f} here. "
            "Explain a hit of the same query, with the same index, and check that."
        )
    drops = [cosine - other for other in rest]
    step = draws + 1
    removals = [
        Removal(tuple(strongest[:size]), drops[at], tuple(drops[at + 1 : at + step]))
        for size, at in zip(sizes, range(0, len(drops), step), strict=True)
    ]
    return Faithfulness(
        query=why.query,
        passage=why.passage,
        context=why.context,
        cosine=cosine,
        is_score=why.weight == 1 and not why.terms,
        words=len(strongest),
        removals=tuple(removals),
        seed=seed,
    )


def _cosines(
    why: Explanation, texts: Sequence[str], encoder: Encoder, roles: tuple[Role | None, Role | None]
) -> list[float]:
    """Of the query with each text in the passage's place. Equal texts have one cosine, to the last digit."""
    asked = encoder.encode([why.query], role=roles[0])[0].astype(np.float64)
    different = list(dict.fromkeys(texts))
    embeddings = encoder.encode([with_context(why.context, text) for text in different], role=roles[1])
    known = dict(zip(different, (embeddings.astype(np.float64) @ asked).tolist(), strict=True))
    return [known[text] for text in texts]


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
