"""Semantic textual similarity: pairs of sentences that people gave a score, as CSV or TSV.

The columns sentence1, sentence2 and score are needed. A TSV file is read without quoting, as the STS benchmark is
written: its sentences have single double quotes in them.
"""

from __future__ import annotations

import math
from pathlib import Path

from search.errors import InputError
from search.evaluating.dataset import Pair, SentencePairs
from search.evaluating.formats.strict import malformed, table

COLUMNS = ("sentence1", "sentence2", "score")
_FEWEST = 3  # a correlation of two points is always 1


def read_sts(path: Path) -> SentencePairs:
    """
    Raises:
        InputError: something is malformed, with file and line; there are fewer than three pairs; all have one score.
    """
    pairs = []
    for line, row in table(path, COLUMNS, quoted=path.suffix.lower() == ".csv"):
        for name in COLUMNS[:2]:
            if not row[name].strip():
                raise malformed(path, line, f"{name} is empty.")
        pairs.append(Pair(row["sentence1"], row["sentence2"], _score(path, line, row["score"])))
    if len(pairs) < _FEWEST or len({pair.score for pair in pairs}) < 2:
        raise InputError(f"{path} holds {len(pairs)} pairs, too few or too much alike for a correlation.")
    return SentencePairs(path.stem, path, tuple(pairs))


def _score(path: Path, line: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise malformed(path, line, f"'{text}' is no score.")
    return score
