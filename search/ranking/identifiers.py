"""Identifiers in queries: numbers of contracts, error codes, names in source code, options, paths.

Who types one wants the places where it stands. So an identifier that occurs in the index counts as one keyword, as if
it were quoted: its parts must stand in a row; and keywords weigh more (`weight_for`). If a query has no other words,
passages with the identifier come first, because no others have a keyword score. Which words are identifiers is decided
by their form (`_FORMS`) and by their occurrence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from search.store.terms import QUOTED, word_spans

# Weight of the meaning in a hybrid score for a query of identifiers alone. A passage that contains all the words of a
# query once has a keyword score of at least 0.37. Times 0.75, this is more than a cosine of 1 times 0.25.
WEIGHT_ALONE = 0.25
# The same for a query with other words.
WEIGHT_BESIDE_WORDS = 0.5

_WORD = re.compile(r"\S+")
_AROUND = "()[]{}<>\"'`.,;:!?¿¡„“”‚‘’«»"
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"(?=.*\d)(?=.*[^\W\d_])(?=.*[A-Z]|.*\d{3}|.*[_/:#])\w+(?:[-_./:#+]\w+)+",  # NLF-88301-Q, CVE-2025-32464
        r"[A-Z]{1,4}\d{2,}",  # E18, SC2086
        r"(?!\d{4}-\d\d-\d\d)(?=(?:\D*\d){7})\d+(?:[-/]\d+)+",  # 60-4471-228, but no dates
        r"(?=(?:.*\d){2})(?=.*[^\W\d_]{2})(?=.*[A-Z])[A-Z\d]{5,}",  # DE02120300000000202051, HOM77120934
        r"[^\W_]+(?:_[^\W_]+)+",  # wal_autocheckpoint, FST_ERR_NOT_FOUND
        r"_{1,2}[^\W_]\w*",  # __init__
        r"\w+(?:::\w+)+",  # Aptitude::ProblemResolver
        r"-{1,2}[^\W\d_][\w]*(?:-\w+)+",  # --skip-systemctl-redirect
        r"\w{2,}(?:\.\w{2,})+(?:\(\))?",  # asyncio.gather, jail.conf
        r"\w+\(\)",  # strlen()
        r"(?:~/|\.{1,2}/)?[\w.-]+(?:/[\w.-]+){2,}/?",  # usr/share/doc
        r"(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]+)+/?",  # /etc/hosts
        r"[a-z][a-z\d]+(?:[A-Z][a-z\d]+)+|(?:[A-Z][a-z\d]+){3,}",  # getUserName, NoSuchFileError
        r"\d{6,}|(?:\d[- ]?){9,12}[\dX]",  # 77120934, ISBN
    )
)


@dataclass(frozen=True)
class Identifiers:
    """The identifiers of a query.

    Attributes:
        present: those that occur in the index.
        missing: those that do not.
    """

    present: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def is_identifier(word: str) -> bool:
    """Return True if a word without spaces has the form of an identifier."""
    return any(form.fullmatch(word) for form in _FORMS)


def with_identifiers(text: str, occurs: Callable[[str], bool]) -> tuple[str, Identifiers]:
    """Return a query with double quotes around its identifiers that occur; and all of its identifiers.

    Args:
        text: the query, without conditions; what it has in quotes stays.
        occurs: returns True if a passage has the words of a text in a row.

    Example:
        >>> with_identifiers("where is NLF-88301-Q?", lambda text: True)[0]
        'where is "NLF-88301-Q"?'
    """
    quoted = [match.span() for match in re.finditer(QUOTED, text)]
    pieces, last = [], 0
    present: list[str] = []
    missing: list[str] = []
    for match in _WORD.finditer(text):
        if any(start <= match.start() < end for start, end in quoted):
            continue
        start, word = _stripped(match)
        if not is_identifier(word) or '"' in word or not any(word_spans(word)):
            continue
        if occurs(word):
            present.append(word)
            pieces += [text[last:start], f'"{word}"']
            last = start + len(word)
        else:
            missing.append(word)
    return "".join([*pieces, text[last:]]), Identifiers(tuple(present), tuple(missing))


def identifiers_of(text: str) -> tuple[str, ...]:
    """Return the identifiers of a query as from `with_identifiers`: those in double quotes, then those not in quotes.

    Example:
        >>> identifiers_of('NLF-88301-Q and "HOM-77120934", "not this"')
        ('HOM-77120934', 'NLF-88301-Q')
    """
    quoted = filter(is_identifier, re.findall(QUOTED, text))
    names = [*quoted, *with_identifiers(text, lambda word: False)[1].missing]
    return tuple({name.casefold(): name for name in reversed(names)}.values())[::-1]


def weight_for(text: str) -> float | None:
    """Return the weight of the meaning for a query, as from `with_identifiers`; None without identifiers in quotes.

    Example:
        >>> weight_for('"NLF-88301-Q"'), weight_for('where is "NLF-88301-Q"'), weight_for("where is it")
        (0.25, 0.5, None)
    """
    quoted = re.findall(QUOTED, text)
    if not any(map(is_identifier, quoted)):
        return None
    is_alone = all(map(is_identifier, quoted)) and not any(word_spans(re.sub(QUOTED, " ", text)))
    return WEIGHT_ALONE if is_alone else WEIGHT_BESIDE_WORDS


def _stripped(match: re.Match[str]) -> tuple[int, str]:
    """Return start and text of a word without the punctuation around it; a leading dot or dash of a name stays."""
    word = match[0].rstrip(_AROUND)
    if match[0].startswith(word + "()"):
        word += "()"
    bare = word.lstrip(_AROUND)
    return match.start() + len(word) - len(bare), bare
