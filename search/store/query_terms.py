"""Words of a query in the languages of an index: without function words, with their forms, and n-grams."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from search.languages import ENGLISH, function_words, language_of_query
from search.store.terms import IndexTerm, Stemmer
from search.store.word_forms import (
    FIRST,
    StemLookup,
    forms_of,
    gram_form,
    grams,
    is_unspaced,
    runs,
    token_of,
)


def terms_in(
    query: str, languages: Collection[str], stemmer: Stemmer, vocabulary: StemLookup
) -> list[IndexTerm]:
    """Return the terms of a query for an index with other languages than English.

    Function words of the query's own language are left out, unless it has no other words. Quoted terms have no forms.
    """

    def stored(token: str) -> str:
        ((stem, *_),) = stemmer.stems([token])
        return stem

    def with_forms(term: IndexTerm) -> IndexTerm:
        if len(term.stems) != 1 or query[term.start - 1 : term.start] == '"':
            return term
        occurs = vocabulary.has(term.stems[0])
        return term._replace(forms=forms_of(term.text, languages, stored, vocabulary, occurs))

    terms = _without_function_words(query, stemmer.terms(query), languages)
    ngrams = list(_ngrams(query, languages, stored))
    terms = [
        term for term in terms if not any(g.start <= term.start and term.end <= g.end for g in ngrams)
    ]
    return sorted([*map(with_forms, terms), *ngrams], key=lambda term: (term.start, term.end))


def spans_of_forms(
    terms: Sequence[IndexTerm], language: str, text: str, words: Sequence[IndexTerm], stemmer: Stemmer
) -> list[list[tuple[int, int]]]:
    """Return the spans of the forms of each term in a text in a language.

    Args:
        words: all words of the text.
    """
    tokens = [token_of(word.text, language) for word in words]
    stored = stemmer.stems(tokens) if any(tokens) else []
    return [_spans(term, language, text, words, stored) for term in terms]


def _spans(
    term: IndexTerm,
    language: str,
    text: str,
    words: Sequence[IndexTerm],
    stored: Sequence[tuple[str, ...]],
) -> list[tuple[int, int]]:
    """Return the spans of the forms of a term.

    Args:
        stored: the further token of each word, as FTS5 stores it; none for a language without a stemmer.
    """
    if term.stems and term.stems[0].startswith(FIRST):  # an n-gram
        starts = (match.start() for match in re.finditer(re.escape(term.text), text))
        return [(start, start + len(term.text)) for start in starts] if is_unspaced(language) else []
    stems = {form.stem for form in term.forms}
    pairs = zip(words, stored, strict=False)
    return [word[1:3] for word, token in pairs if stems.intersection(token)]


def _without_function_words(
    query: str, terms: Sequence[IndexTerm], languages: Collection[str]
) -> list[IndexTerm]:
    language = language_of_query(query, languages)
    if language == ENGLISH:
        return list(terms)
    empty = function_words(language)
    return [term for term in terms if term.text.casefold() not in empty] or list(terms)


def _ngrams(query: str, languages: Collection[str], stored: Callable[[str], str]) -> Iterator[IndexTerm]:
    """Yield a term for each n-gram of the query's runs of letters in scripts without spaces."""
    unspaced = [language for language in sorted(languages) if is_unspaced(language)]
    if not unspaced:
        return
    seen = set()
    for start, end in runs(query):
        for language in unspaced:
            for offset, gram in enumerate(grams(query[start:end], language)):
                if len(gram) > 1 and gram not in seen:
                    seen.add(gram)
                    first, *others = gram_form(gram, unspaced, stored)
                    at = start + offset
                    yield IndexTerm(gram, at, at + len(gram), (first.stem,), tuple(others))
