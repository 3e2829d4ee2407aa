"""Token classification: the class of each word, as an entity or a part of speech.

Checkpoints mark entities in one of three ways: with BIO ("B-PER" begins an entity, "I-PER" continues it, "O" is no
entity); with BIOES, which adds "E-" for the last word and "S-" for a single word (BILOU writes "L-" and "U-"); or with
bare class names, where neighbouring words of the same class form one entity.
An entity begins and ends as in the CoNLL-2000 scorer, which seqeval follows: an "I-" without a "B-" before it, or after
another type, begins an entity.

A word has the class of its first token, as in Devlin et al. 2019 (section 5.3: "we use the representation of the first
sub-token as the input to the token-level classifier"). A long text is read in overlapping windows; each token is
classified in the window whose middle is nearest, where it has the most context.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers.pre_tokenizers import BertPreTokenizer

from search.errors import InputError
from search.lab.bert.checkpoint import Head, load_head, softmax
from search.lab.bert.tokenizing import check_text, without_space
from search.lab.records.predictions import TaggedPiece, TaggedWord, Tagging, TagTask
from search.records.documents import Mention

_PREFIXED = re.compile(r"([BIESLUM])[-_](.+)", re.DOTALL)
_SAME = {"L": "E", "U": "S", "M": "I"}  # prefixes of other schemes -> those of BIOES

_ENTITIES = {"PER": "person", "LOC": "location", "ORG": "organization", "MISC": "misc"}

_NO_WORDS = frozenset("O PUNCT SYM SPACE _SP HYPH -LRB- -RRB- # $ '' `` , . : \"".split())

NO_ENTITY = "O"
OVERLAP = 64  # tokens that two windows of a long text share
TAGGERS: dict[TagTask, str] = {
    "ner": "dslim/bert-base-NER",
    "pos": "vblagoje/bert-english-uncased-finetuned-pos",
}

Span = tuple[int, int]


def parsed(label: str) -> tuple[str, str]:
    """Split a class name into prefix (B, I, E, S or O) and type: ("B", "PER") for "B-PER".

    A name without a prefix gets "I"; "O", which means no entity, has the type "".
    """
    if label.upper() == NO_ENTITY:
        return NO_ENTITY, ""
    match = _PREFIXED.fullmatch(label)
    if match is None:
        return "I", label
    return _SAME.get(match[1], match[1]), match[2]


def chunks(labels: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the entities of a sentence: type, first word, and one past the last word.

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


def _check_task(labels: Sequence[str], task: TagTask, model: str) -> None:
    """Check that the classes of a checkpoint fit the task.

    Raises:
        InputError: the checkpoint predicts entities but the task is "pos", or parts of speech but the task is "ner".
    """
    finds_entities = any(label.upper() == NO_ENTITY for label in labels)
    if finds_entities != (task == "ner"):
        names, other = ", ".join(labels[:6]), "pos" if task == "ner" else "ner"
        raise InputError(
            f"'{model}' has no classes for --task {task}; its classes are {names}. Use --task {other}."
        )


def field_of(label: str, task: TagTask) -> str:
    """Return the plain name of a class: "person" for "B-PER", "noun" for "NOUN".

    The name is "" for words outside entities, punctuation and symbols.
    """
    if task == "ner":
        _, kind = parsed(label)
        return _ENTITIES.get(kind.upper(), "_".join(kind.lower().split()))
    return "" if label.upper() in _NO_WORDS else "_".join(label.lower().split())


def tag(
    text: str,
    *,
    model: str | None,
    task: TagTask = "ner",
    offline: bool = False,
) -> Tagging:
    """Predict the class of each word of a text and of its tokens, and its entities or parts of speech.

    Args:
        text: of any length; long texts are read in windows.
        model: a checkpoint with a head for classes of tokens, such as dslim/bert-base-NER.
        task: "ner" for entities, "pos" for parts of speech.
        offline: never download from the hub.

    Raises:
        InputError: no model is given, the text is empty or not valid Unicode, or the checkpoint's classes do not fit
            the task.
        ModelError: the model cannot be found or loaded, or has no head for classes of tokens.
    """
    check_text(text)
    tagger = load_tagger(model, task, offline)
    (words,) = tagger.read([text])
    return Tagging(
        model=tagger.head.name,
        task=task,
        text=text,
        labels=tagger.head.labels,
        words=words,
        mentions=mentions(text, words, task),
        held_out=tagger.head.held_out,
    )


def load_tagger(model: str | None, task: TagTask, offline: bool = False) -> Tagger:
    """Load a checkpoint for a task; errors as for `tag`."""
    if task not in TAGGERS:
        raise InputError(f"unknown task '{task}'. Choose ner or pos.")
    if not model:
        raise InputError(f"no model given. Add --model, for example {TAGGERS[task]}.")
    head = load_head("tag", model, offline)
    _check_task(head.labels, task, head.name)
    return Tagger(head)


class _Token(NamedTuple):
    """A token of the text: its vocabulary entry, its span, and its (classes,) logits.

    Attributes:
        begins: True if the tokenizer begins a new word here.
    """

    piece: str
    start: int
    end: int
    begins: bool
    logits: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Tagger:
    """A loaded checkpoint that classifies words; create one with `load_tagger`."""

    head: Head

    def read(
        self, texts: Sequence[str], words: Sequence[Sequence[Span]] | None = None
    ) -> list[tuple[TaggedWord, ...]]:
        """Classify the words of texts.

        Args:
            words: spans of the words of each text; a word without tokens gets the class O with score 0. None splits
                each text at whitespace, around each punctuation mark, and where the tokenizer begins a word.
        """
        windows = [self.head.windows(text, overlap=OVERLAP) for text in texts]
        places = [(i, j) for i, parts in enumerate(windows) for j in range(len(parts))]
        # Windows of similar length in a batch need little padding.
        places.sort(key=lambda place: len(windows[place[0]][place[1]].ids))
        outputs = self.head.run([windows[i][j] for i, j in places])
        logits = {place: output["logits"] for place, output in zip(places, outputs, strict=True)}
        read = []
        for i, text in enumerate(texts):
            tokens = _tokens(text, windows[i], [logits[i, j] for j in range(len(windows[i]))])
            groups = _own_words(text, tokens) if words is None else _given_words(words[i], tokens)
            read.append(tuple(self._word(text, *group) for group in groups))
        return read

    def _word(self, text: str, span: Span, tokens: Sequence[_Token]) -> TaggedWord:
        pieces = tuple(map(self._piece, tokens))
        label, score = (pieces[0].label, pieces[0].score) if pieces else (NO_ENTITY, 0.0)
        return TaggedWord(text[slice(*span)], *span, label, score, pieces)

    def _piece(self, token: _Token) -> TaggedPiece:
        likely = softmax(token.logits.astype(np.float64))
        best = int(likely.argmax())
        return TaggedPiece(
            token.piece, token.start, token.end, self.head.labels[best], float(likely[best])
        )


def mentions(
    text: str, words: Sequence[TaggedWord], task: TagTask, offset: int = 0
) -> tuple[Mention, ...]:
    """Return the entities of a text, each with the mean score of its words.

    Args:
        task: for "pos", the result has every word with its part of speech instead.
        offset: start of the text in its document.
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


def _tokens(
    text: str, windows: Sequence[tokenizers.Encoding], logits: Sequence[NDArray[np.float32]]
) -> list[_Token]:
    """Return the tokens of a text, each with the logits from the window whose middle is nearest."""
    inner = [[i for i, part in enumerate(window.sequence_ids) if part is not None] for window in windows]
    step = len(inner[0]) - min(OVERLAP, len(inner[0]) // 2)
    nearest: dict[int, tuple[float, int, int]] = {}
    for j, members in enumerate(inner):
        for place, i in enumerate(members, j * step):
            distance = abs(place - j * step - (len(members) - 1) / 2)
            nearest[place] = min(nearest.get(place, (np.inf, 0, 0)), (distance, j, i))
    columns = [(window.tokens, window.offsets, window.word_ids) for window in windows]
    tokens, before = [], None
    for _, (_, j, i) in sorted(nearest.items()):
        pieces, offsets, words = columns[j]
        start, end = without_space(text, *offsets[i])
        # Skip white space and tokens without characters of the text.
        if start < end:
            begins = words[i] is None or words[i] != before
            tokens.append(_Token(pieces[i], start, end, begins, logits[j][i]))
        before = words[i]
    return tokens


def _own_words(text: str, tokens: Sequence[_Token]) -> list[tuple[Span, list[_Token]]]:
    """Split a text into words, and return the span and the tokens of each."""
    starts = {start for _, (start, _) in BertPreTokenizer().pre_tokenize_str(text)}
    groups: list[tuple[Span, list[_Token]]] = []
    for token in tokens:
        (first, end), members = groups[-1] if groups else ((0, 0), [])
        if not members or (token.start >= end and (token.begins or token.start in starts)):
            groups.append(((token.start, token.end), [token]))
        else:
            groups[-1] = ((first, max(end, token.end)), [*members, token])
    return groups


def _given_words(words: Sequence[Span], tokens: Sequence[_Token]) -> list[tuple[Span, list[_Token]]]:
    """Return each span of `words` with the tokens that begin in it."""
    starts = [token.start for token in tokens]
    return [
        (span, list(tokens[bisect_left(starts, span[0]) : bisect_left(starts, span[1])]))
        for span in words
    ]
