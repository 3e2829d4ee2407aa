"""The classes of a token classifier: what their names mean, and how those of words make entities.

Entities are marked by BIO ("B-PER" begins one, "I-PER" is inside, "O" is none), by BIOES (also "E-" for the last word
and "S-" for a single one; BILOU writes L and U), or by bare names, of which neighbours with the same name are one
entity. What begins and ends one is decided as in the CoNLL-2000 scorer, which seqeval follows: an "I-" without a "B-"
before it, or after another type, begins an entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from search.errors import InputError
from search.records.predictions import TagTask

_PREFIXED = re.compile(r"([BIESLUM])[-_](.+)", re.DOTALL)
_SAME = {"L": "E", "U": "S", "M": "I"}

_ENTITIES = {"PER": "person", "LOC": "location", "ORG": "organization", "MISC": "misc"}

_UNIVERSAL = {
    "ADJ": "adjective", "ADP": "adposition", "ADV": "adverb", "AUX": "auxiliary", "CCONJ": "conjunction",
    "CONJ": "conjunction", "DET": "determiner", "INTJ": "interjection", "NOUN": "noun", "NUM": "numeral",
    "PART": "particle", "PRON": "pronoun", "PROPN": "proper_noun", "SCONJ": "conjunction", "VERB": "verb",
    "X": "other",
}  # fmt: skip
_PENN = {
    "CC": "conjunction", "CD": "numeral", "DT": "determiner", "EX": "pronoun", "FW": "other", "IN": "adposition",
    "JJ": "adjective", "LS": "other", "MD": "auxiliary", "NN": "noun", "NNP": "proper_noun", "PDT": "determiner",
    "POS": "particle", "PRP": "pronoun", "RB": "adverb", "RP": "particle", "TO": "particle", "UH": "interjection",
    "VB": "verb", "WDT": "determiner", "WP": "pronoun", "WRB": "adverb", "ADD": "other", "AFX": "other", "GW": "other",
    "XX": "other", "NFP": "",
}  # fmt: skip
_PENN_ENDINGS = re.compile(r"(JJ)[RS]|(NN)S|(NNP)S|(PRP|WP)\$|(RB)[RS]|(VB)[DGNPZ]")
_NO_WORDS = frozenset("PUNCT SYM SPACE _SP HYPH -LRB- -RRB- # $ '' `` , . : \"".split())

NO_ENTITY = "O"


def parsed(label: str) -> tuple[str, str]:
    """B, I, E, S or "O", and the type: ("B", "PER") of "B-PER"; a bare name counts as "I"."""
    if label.upper() == NO_ENTITY:
        return NO_ENTITY, ""
    found = _PREFIXED.fullmatch(label)
    if found is None:
        return "I", label
    return _SAME.get(found[1], found[1]), found[2]


def chunks(labels: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The entities of a sentence: type, first word, and the one behind the last.

    Example:
        >>> list(chunks(["B-PER", "I-PER", "O", "B-LOC", "I-PER"]))
        [('PER', 0, 2), ('LOC', 3, 4), ('PER', 4, 5)]
    """
    first, before = 0, (NO_ENTITY, "")
    for i, label in enumerate([*labels, NO_ENTITY]):
        now = parsed(label)
        starts = now[0] != NO_ENTITY and (now[0] in "BS" or before[0] in "OES" or now[1] != before[1])
        if before[0] != NO_ENTITY and (starts or now[0] == NO_ENTITY):
            yield before[1], first, i
        if starts:
            first = i
        before = now


def check_task(labels: Sequence[str], task: TagTask, model: str) -> None:
    """
    Raises:
        InputError: a checkpoint for entities is to find parts of speech, or the other way round.
    """
    finds_entities = any(label.upper() == NO_ENTITY for label in labels)
    shown = ", ".join(labels[:6]) + (" ..." if len(labels) > 6 else "")
    if task == "ner" and not finds_entities:
        raise InputError(
            f"'{model}' names no class O for words that are no entity; it has {shown}. If these are parts of speech, "
            "seewhy tag --task pos finds them; otherwise name a checkpoint that was trained for entities, such as "
            "dslim/bert-base-NER."
        )
    if task == "pos" and finds_entities and any(_PREFIXED.fullmatch(label) for label in labels):
        raise InputError(
            f"the classes of '{model}' are those of entities ({shown}). Use --task ner, or name a checkpoint that was "
            "trained for parts of speech, such as vblagoje/bert-english-uncased-finetuned-pos."
        )


def field_of(label: str, task: TagTask) -> str:
    """The plain name of a class: person of "B-PER", noun of "NNS"; "" for what is no entity, and no word."""
    if task == "ner":
        _, kind = parsed(label)
        return _ENTITIES.get(kind.upper(), "_".join(kind.lower().split()))
    name = label.upper()
    if name in _NO_WORDS or name == NO_ENTITY:
        return ""
    if name in _UNIVERSAL:
        return _UNIVERSAL[name]
    ending = _PENN_ENDINGS.fullmatch(name)
    stem = next(filter(None, ending.groups())) if ending else name
    return _PENN.get(stem, "_".join(label.lower().split()))
