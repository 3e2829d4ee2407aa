"""Forms of words in languages other than English: inflected words, compounds, and text without spaces.

FTS5 stems English. For a passage in another language, `language_tokens` returns further tokens, which are indexed with
its words, but do not count in its length:

- for each word but function words, its Snowball stem (Porter 2001, "Snowball: a language for stemming algorithms");
- for scripts without spaces between words, the overlapping n-grams of each run of letters: bigrams for Chinese,
  Japanese and Korean, trigrams for Thai.

Such a token begins with a private-use character and its language, so it never equals a word, and a passage in another
language never has it.

A word of a query has a token in each language of the index (`forms_of`). In languages that write compounds as one word,
it also finds the stems that it begins or ends, if the rest is a word of the index, too: "Kaution" finds "Mietkaution".
A long word is found after any long beginning: "Versicherung" finds "Haftpflichtversicherung". A word that occurs
nowhere has the words that it is composed of as its forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from search.languages import ENGLISH, function_words

if TYPE_CHECKING:
    from Stemmer import Stemmer as Snowball

FIRST, LAST = (
    "\ue000",
    "\ue001",
)  # private use; FTS5 counts them as letters, and its stemmer removes no ending
_ALGORITHMS = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_GRAMS = {"ja": 2, "ko": 2, "th": 3, "zh": 2}
_COMPOUNDING = frozenset({"da", "de", "fi", "hu", "nl", "no", "sv"})
# Letters between the parts of compounds, longest first.
_LINKS = ("ens", "ns", "es", "en", "er", "s", "n", "e", "")
_SHORTEST_PART = 4  # letters of a stem that is sought in compounds, and of the rest
_SHORTEST_REST = 3
# The last part of a compound names what it is. It is found after any long beginning, which is then no prefix: zurück-,
# wieder-, unter-.
_SHORTEST_HEAD, _LONG_REST = 6, 7
COMPOUND_SHARE = 0.5
"""Frequency that counts for a compound of which a word of the query is a part; 1 for the word itself."""

_WORD = re.compile(r"[^\W\d_]{2,}")
# Runs of letters that are written without spaces: Thai, Hangul, kana and ideographs.
_RUN = re.compile(
    r"[\u0e00-\u0e7f]+|[\uac00-\ud7a3]+|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


class WordForm(NamedTuple):
    """A token that counts as an occurrence of a word.

    Attributes:
        stem: the token as FTS5 stores it.
        share: what one occurrence adds to the frequency of the word.
    """

    stem: str
    share: float = 1.0


class StemLookup(Protocol):
    """Stems of an index."""

    def has(self, stem: str) -> bool:
        """Return True if a passage has the stem."""

    def containing(self, part: str) -> Iterable[str]:
        """Return the stems that contain a text."""


def language_tokens(text: str, language: str) -> Iterator[str]:
    """Yield the further tokens of a text in a language, in order; none for English and unknown languages."""
    if language in _GRAMS:
        for run in _RUN.findall(text):
            yield from (letters_token(language, gram) for gram in grams(run, language))
    elif language in _ALGORITHMS:
        empty = function_words(language)
        for word in _WORD.findall(text.casefold()):
            if word not in empty:
                yield _token(language, stem_in(word, language))


def grams(run: str, language: str) -> list[str]:
    """Return the overlapping n-grams of a run of letters; the run itself if it is shorter."""
    size = _GRAMS[language]
    return [run[start : start + size] for start in range(max(1, len(run) - size + 1))]


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each run of letters in a script without spaces."""
    return (match.span() for match in _RUN.finditer(text))


def is_unspaced(language: str) -> bool:
    return language in _GRAMS


def stem_in(word: str, language: str) -> str:
    """Return the Snowball stem of a word in lower case."""
    if language == "tr":
        word = word.replace("ı", "i")  # without its dot, as it is often typed
    return _snowball(language).stemWord(word)


def forms_of(
    word: str,
    languages: Collection[str],
    stored: Callable[[str], str],
    vocabulary: StemLookup,
    occurs: bool,
) -> tuple[WordForm, ...]:
    """Return the forms of a word of a query in some languages.

    Args:
        word: the word, as typed.
        stored: returns a token as FTS5 stores it.
        vocabulary: the stems of the index.
        occurs: True if the index has the word as it is typed.

    Returns:
        Only forms that occur.
    """
    forms: list[WordForm] = []
    lower = word.casefold()
    for language in sorted(set(languages) & _ALGORITHMS.keys()):
        stem = stored(_token(language, stem_in(lower, language)))
        if vocabulary.has(stem):
            forms.append(WordForm(stem))
        if language in _COMPOUNDING:
            forms += (WordForm(s, COMPOUND_SHARE) for s in _compounds_with(stem, language, vocabulary))
    if not forms and not occurs:
        for language in sorted(set(languages) & _COMPOUNDING):
            parts = _parts(lower, language, stored, vocabulary)
            forms += (WordForm(part, COMPOUND_SHARE) for part in parts)
    return tuple(forms)


def gram_form(
    gram: str, languages: Collection[str], stored: Callable[[str], str]
) -> tuple[WordForm, ...]:
    """Return the forms of an n-gram of a query in some languages without spaces."""
    return tuple(
        WordForm(stored(letters_token(language, gram)))
        for language in sorted(set(languages) & _GRAMS.keys())
    )


def token_of(word: str, language: str) -> str:
    """Return the token of a word of a passage in a language; "" if the language has no stemmer."""
    return _token(language, stem_in(word.casefold(), language)) if language in _ALGORITHMS else ""


def _token(language: str, stem: str) -> str:
    return f"{FIRST}{language}{stem}{LAST}"


def letters_token(language: str, gram: str) -> str:
    """Return the token of some letters, in hexadecimal, as FTS5 would separate ideographs and Thai vowel signs."""
    return _token(language, "".join(f"{ord(character):05x}" for character in gram))


def _inner(token: str) -> str:
    return token[len(FIRST) + 2 : -len(LAST)]


def _compounds_with(token: str, language: str, vocabulary: StemLookup) -> Iterator[str]:
    """Yield the tokens of compounds that begin or end with a word."""
    part = _inner(token)
    if len(part) < _SHORTEST_PART:
        return
    for other in vocabulary.containing(part):
        if other == token or not other.startswith(FIRST + language) or not other.endswith(LAST):
            continue
        whole = _inner(other)
        before, after = whole.removesuffix(part), whole.removeprefix(part)
        rest = before if len(before) < len(whole) else after
        if rest == whole:
            continue
        is_head = rest is before and len(part) >= _SHORTEST_HEAD and len(rest) >= _LONG_REST
        if is_head or _is_word(rest, rest is before, language, vocabulary):
            yield other


def _is_word(rest: str, is_first: bool, language: str, vocabulary: StemLookup) -> bool:
    """Return True if the rest of a compound, without its link, is a word of the index."""
    for link in _LINKS:
        stem = rest.removesuffix(link) if is_first else rest.removeprefix(link)
        is_long = len(stem) + len(link) == len(rest) and len(stem) >= _SHORTEST_REST
        if is_long and vocabulary.has(_token(language, stem)):
            return True
    return False


def _parts(
    word: str, language: str, stored: Callable[[str], str], vocabulary: StemLookup
) -> Iterator[str]:
    """Yield the tokens of words that a compound begins or ends with, the longest first part and last part."""
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    for pieces in ((word[:cut] for cut in reversed(cuts)), (word[cut:] for cut in cuts)):
        for piece in pieces:
            token = stored(_token(language, stem_in(piece, language)))
            if vocabulary.has(token):
                yield token
                break


@cache
def _snowball(language: str) -> Snowball:
    import Stemmer

    return Stemmer.Stemmer(_ALGORITHMS[language])


def stemmed(languages: Iterable[str]) -> frozenset[str]:
    """Return the languages, other than English, of which words have forms here."""
    return frozenset(languages) & (_ALGORITHMS.keys() | _GRAMS.keys()) - {ENGLISH}
