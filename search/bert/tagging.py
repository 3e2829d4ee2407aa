"""Token classification: the class of each word, entities, parts of speech.

Entities are marked by BIO ("B-PER" begins one, "I-PER" is inside, "O" is none), by BIOES (also "E-" for the last word
and "S-" for a single one; BILOU writes L and U), or by bare names, of which neighbours with the same name are one
entity. What begins and ends one is decided as in the CoNLL-2000 scorer, which seqeval follows: an "I-" without a "B-"
before it, or after another type, begins an entity.

A word has the class of its first token, as in Devlin et al. 2019 (section 5.3: "we use the representation of the
first sub-token as the input to the token-level classifier"). A text that is longer than the model reads is read in
overlapping windows; each token counts in the window in whose middle it stands nearest, where it has seen most of what
is around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.bert.checkpoint import Head, load_head, softmax
from search.bert.tokenizing import check_text, without_space
from search.errors import InputError
from search.records.documents import Mention
from search.records.options import TagTask
from search.records.predictions import Tagged, TaggedWord

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
            "seewhy lab tag --task pos finds them; otherwise name a checkpoint that was trained for entities, such as "
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


TAGGERS = "dslim/bert-base-NER"
OVERLAP = 64  # tokens that two windows of a long text share

Span = tuple[int, int]


def tag(
    text: str,
    *,
    model: str | None,
    task: TagTask = "ner",
    offline: bool = False,
    device: str | None = None,
) -> Tagged:
    """The class of each word of a text, and the entities or parts of speech that follow.

    Args:
        text: of any length; what is longer than the model reads is read in windows.
        model: a checkpoint with a head for classes of tokens, such as dslim/bert-base-NER.
        task: "ner" for entities, "pos" for parts of speech.
        offline, device: as for `load_head`.

    Raises:
        InputError: no model is named, the text is empty or no valid Unicode, or the checkpoint's classes are not
            those of the task.
        ModelError: the model cannot be found or loaded, or has no head for classes of tokens.
    """
    check_text(text)
    tagger = load_tagger(model, task, offline, device)
    (words,) = tagger.read([text])
    return Tagged(
        model=tagger.head.name,
        task=task,
        text=text,
        labels=tagger.head.labels,
        words=words,
        mentions=mentions(text, words, task),
    )


def load_tagger(model: str | None, task: TagTask, offline: bool = False, device: str | None = None) -> Tagger:
    """A checkpoint for a task; errors as of `tag`."""
    if task not in ("ner", "pos"):
        raise InputError(f"there is no task '{task}' for words; there are ner and pos.")
    head = load_head("tag", required(model), offline, device)
    check_task(head.labels, task, head.name)
    return Tagger(head)


def required(model: str | None) -> str:
    """
    Raises:
        InputError: no checkpoint is named.
    """
    if not model:
        raise InputError(
            f"name a checkpoint that was trained to classify tokens with --model, such as {TAGGERS}."
        )
    return model


@dataclass(frozen=True, eq=False)
class _Tokens:
    """All tokens of a text without special ones.

    Attributes:
        spans: in the text, without white space around them.
        logits: (n, classes).
        breaks: whether a token begins a new word for the tokenizer.
    """

    pieces: list[str]
    spans: list[Span]
    logits: NDArray[np.float32]
    breaks: list[bool]


@dataclass(frozen=True, eq=False)
class Tagger:
    """A loaded checkpoint that classifies words; make one with `load_tagger`."""

    head: Head

    def read(
        self, texts: Sequence[str], words: Sequence[Sequence[Span]] | None = None
    ) -> list[tuple[TaggedWord, ...]]:
        """Texts -> their words with classes.

        Args:
            words: of each text the spans of its words, where they are known; a word that the tokenizer makes nothing
                of has no tokens, and the class O with score 0. None finds them: runs between white space, each
                punctuation mark and each Chinese or Japanese character by itself.
        """
        windows = [self.head.windows(text, overlap=OVERLAP) for text in texts]
        order = sorted(
            ((i, j) for i, made in enumerate(windows) for j in range(len(made))),
            key=lambda at: len(windows[at[0]][at[1]].ids),
        )
        logits: dict[tuple[int, int], NDArray[np.float32]] = {}
        for at, output in zip(order, self.head.run([windows[i][j] for i, j in order]), strict=True):
            logits[at] = output["logits"]
        found = []
        for i, text in enumerate(texts):
            tokens = _merged(text, windows[i], [logits[i, j] for j in range(len(windows[i]))])
            groups = _own_words(text, tokens) if words is None else _given_words(words[i], tokens)
            found.append(tuple(self._words(text, tokens, groups)))
        return found

    def _words(
        self, text: str, tokens: _Tokens, groups: Sequence[tuple[Span, list[int]]]
    ) -> Iterator[TaggedWord]:
        for (start, end), members in groups:
            label, score = "O", 0.0
            if members:
                logits = tokens.logits[members[0]].astype(np.float64)
                best = int(logits.argmax())
                label, score = self.head.labels[best], float(softmax(logits)[best])
            pieces = tuple(tokens.pieces[i] for i in members)
            yield TaggedWord(text[start:end], start, end, label, score, pieces)


def mentions(text: str, words: Sequence[TaggedWord], task: TagTask, offset: int = 0) -> tuple[Mention, ...]:
    """The entities of a text, each with the mean score of its words; for "pos" each word with its part of speech.

    Args:
        offset: where the text begins in its document.
    """
    if task == "pos":
        groups = [(field_of(word.label, task), [word]) for word in words]
    else:
        labels = [word.label for word in words]
        groups = [(field_of(kind, task), list(words[a:b])) for kind, a, b in chunks(labels)]
    return tuple(
        Mention(
            field,
            text[inside[0].start : inside[-1].end],
            inside[0].start + offset,
            inside[-1].end + offset,
            sum(word.score for word in inside) / len(inside),
        )
        for field, inside in groups
        if field
    )


def _merged(
    text: str, windows: Sequence[tokenizers.Encoding], logits: Sequence[NDArray[np.float32]]
) -> _Tokens:
    """The tokens of a text, each with its logits from the window in whose middle it stands nearest."""
    inner = [[i for i, part in enumerate(one.sequence_ids) if part is not None] for one in windows]
    step = len(inner[0]) - min(OVERLAP, len(inner[0]) // 2)
    total = step * (len(windows) - 1) + len(inner[-1])
    nearest: list[tuple[float, int, int]] = [(np.inf, 0, 0)] * total
    for j, members in enumerate(inner):
        middle = (len(members) - 1) / 2
        for place, i in enumerate(members):
            at = j * step + place
            nearest[at] = min(nearest[at], (abs(place - middle), j, i))
    pieces, spans, breaks, rows = [], [], [], []
    before: Any = None
    for _, j, i in nearest:
        one = windows[j]
        word = one.word_ids[i]
        pieces.append(one.tokens[i])
        spans.append(without_space(text, *one.offsets[i]))
        breaks.append(word is None or word != before)
        rows.append(logits[j][i])
        before = word
    classes = logits[0].shape[1]
    return _Tokens(pieces, spans, np.array(rows, dtype=np.float32).reshape(total, classes), breaks)


def _own_words(text: str, tokens: _Tokens) -> list[tuple[Span, list[int]]]:
    """Words of a text with their tokens: a token that begins where a word may begin starts a new one."""
    starts = _word_starts(text)
    groups: list[tuple[Span, list[int]]] = []
    for i, (start, end) in enumerate(tokens.spans):
        if start == end:  # white space, or what a normaliser made of nothing
            continue
        behind = groups[-1][0][1] if groups else -1
        if not groups or (start >= behind and (tokens.breaks[i] or start in starts)):
            groups.append(((start, end), [i]))
        else:
            (first, _), members = groups[-1]
            groups[-1] = ((first, max(behind, end)), [*members, i])
    return groups


def _word_starts(text: str) -> set[int]:
    """Where BERT's basic tokenizer cuts a text, whatever the model's own does (Devlin et al. 2019, tokenization.py)."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    found = {start for _, (start, _) in BertPreTokenizer().pre_tokenize_str(text)}
    for i, character in enumerate(text):
        if not character.isascii() and unicodedata.category(character) == "Lo" and _stands_alone(character):
            found |= {i, i + 1}
    return found


def _stands_alone(character: str) -> bool:
    """Whether a character is one of scripts that put no spaces between words."""
    return unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "KATAKANA"))


def _given_words(words: Sequence[Span], tokens: _Tokens) -> list[tuple[Span, list[int]]]:
    """Words with the tokens that begin in them."""
    groups: list[tuple[Span, list[int]]] = [(span, []) for span in words]
    at = 0
    for i, (start, end) in enumerate(tokens.spans):
        if start == end:
            continue
        while at < len(words) and words[at][1] <= start:
            at += 1
        if at < len(words) and words[at][0] <= start:
            groups[at][1].append(i)
    return groups
