"""Languages of documents and queries, and the function words of each.

Function words (articles, pronouns, prepositions, ...) are in every text of their language and say nothing about its
subject. `function_words.txt` lists those of the languages in which words are stemmed (`search.store.word_forms`).

Most English texts are recognised by their function words alone. For others, py3langid decides (Lui and Baldwin 2012,
"langid.py: An Off-the-shelf Language Identification Tool"), and the text must have function words of the language, if
it is one with a list: source code, tables and lists of names have none, and have no language here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from search.records.documents import ParsedDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH = "en"
# Function words of other languages that are English words, too: each counts as half a word, so that one of them alone
# makes no text and no query foreign.
_ALSO_ENGLISH = frozenset(
    "al also an am are as at bare be bin by care come con den did die do door dos due era for had has hat he hem her "
    "here hers his in is jo man me men mine mint most no of on once or os over pas plus pour sale sans sea sin so some "
    "son sub sue ten till to tout under up van war was we wen were will".split()
)
UNSPACED = frozenset({"ja", "ko", "th", "zh"})
"""Languages without function words here: their words are not separated by spaces, or end in particles."""

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 6_000  # characters that are read
_MOST_WORDS = 400
_FEWEST_WORDS = 4
# A text is English without further tests if it has at least so many words, of which so many are English function
# words, and so many more than of any other language.
_CLEAR_WORDS, _CLEAR_SHARE, _CLEAR_LEAD = 30, 0.25, 0.1
# Otherwise, the probability of a language, and the share of its function words, unless its script tells. Both were
# chosen on manual pages in 17 languages, and on source code and configuration, which are to have none.
_LEAST_PROBABILITY, _LEAST_SHARE = 0.6, 0.06
_LEAST_COUNT = 1.5
_OWN_SCRIPT = UNSPACED | {"el", "ru"}


@cache
def _by_language() -> Mapping[str, frozenset[str]]:
    text = (files("search") / "function_words.txt").read_text(encoding="utf-8")
    lines = (line.casefold().split() for line in text.splitlines())  # a final sigma, too
    return {language: frozenset(words) for language, *words in lines}


@cache
def _languages_of() -> Mapping[str, tuple[str, ...]]:
    """Function word of at least two letters -> its languages."""
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in _by_language().items():
        for word in words:
            if len(word) > 1:
                languages[word] = (*languages.get(word, ()), language)
    return languages


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language, case-folded; none for a language without a list."""
    return _by_language().get(language, frozenset())


def with_language(document: ParsedDocument) -> ParsedDocument:
    """Return a document with its language; see `language_of`."""
    start = document.sections[0].start if document.sections else 0
    return replace(document, language=language_of(document.text[start : start + _SAMPLE]))


def language_of(text: str) -> str:
    """Return the language of a text as an ISO 639-1 code; "" if it is too short, or not in a language."""
    words = _WORD.findall(text[:_SAMPLE].casefold())[:_MOST_WORDS]
    counts = _counts(words)
    english = counts[ENGLISH]
    others = max((count for language, count in counts.items() if language != ENGLISH), default=0)
    clear = english >= _CLEAR_SHARE * len(words) and english - others >= _CLEAR_LEAD * len(words)
    if clear and len(words) >= _CLEAR_WORDS:
        return ENGLISH
    if len(words) < _FEWEST_WORDS and text.isascii():
        return ""
    language, probability = _identifier().classify(text[:_SAMPLE])
    if probability < _LEAST_PROBABILITY:
        return ""
    if language not in {ENGLISH, *_OWN_SCRIPT} and 1.5 * counts[language] <= english:
        return ""
    if language not in _OWN_SCRIPT and counts[language] < max(_LEAST_COUNT, _LEAST_SHARE * len(words)):
        return ""
    return str(language)


def language_of_query(text: str, languages: Collection[str]) -> str:
    """Return the language among some, and English, of which a query has most function words; "" if it has none."""
    counts = _counts(_WORD.findall(text.casefold()))
    among = [language for language in (ENGLISH, *sorted(languages)) if counts[language] >= 1]
    return max(among, key=lambda language: counts[language], default="")


def _counts(words: Iterable[str]) -> Mapping[str, float]:
    """Return language -> number of words that are function words of it; see `_ALSO_ENGLISH`."""
    languages_of = _languages_of()
    counts: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for language in languages_of.get(word, ()):
            counts[language] += 0.5 if language != ENGLISH and word in _ALSO_ENGLISH else 1
    return counts


@cache
def _identifier() -> Any:
    """The identifier of py3langid for the languages with function words, and those without spaces."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*_by_language(), *UNSPACED])
    return identifier
