"""Questions that an index can answer, made from its own headings and sentences.

Rules make candidates, each with the passage that it is from:

    heading     a heading or title that is a question, in any language        "Who pays for repairs?"
    line        a line that is a question, with text after it                 "Q: Which fields can I use?"
    permission  an English sentence that says what may, can or must be done   "May I keep a cat?"
    case        an English sentence that says what to do in some case         "What if a phone is used in class?"
    place       an English sentence that says where a thing is                "Where is the stopcock?"
    task        an English heading, or the begin of a sentence, with a task   "How do I report a problem?"

The words of a rule stay in their order, so that its grammar cannot go wrong: no question is better than nonsense. A
candidate is asked like any other query. It is kept only if its own passage is the first hit and the verdict, if there
is one, is good.

benchmarks/suggestions.py asked all 212 candidates of this project's examples and handbook, npm's documentation,
Node.js's guide for contributors and seven FAQs. The own passage is the first hit of 90 % of the headings, 80 % of the
lines (4 of 5), 68 % of the permissions, 62 % of the tasks, 51 % of the cases and 2 of 4 places; of 65 % of all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, get_args

from search.ranking.sentences import sentence_spans
from search.records.suggestions import Rule, Suggestion

if TYPE_CHECKING:
    from search.records.contents import StoredPassage
    from search.records.hits import Hit
    from search.store.snapshot import Snapshot

Ask = Callable[[str], "Sequence[Hit]"]
"""Function from a question to its hits, best first."""

MOST_SUGGESTIONS = 3
MOST_ASKED = 24  # queries for one index
# That are read: evenly spaced documents, and the first passages of each.
_MOST_DOCUMENTS, _MOST_PASSAGES = 200, 1_000
_GOOD = ("answered", "probably answered")
_LONGEST_SENTENCE = 200
_FEWEST_WORDS, _MOST_WORDS = 4, 14  # of a question
_NOT_PROSE = ("code", "csv", "jsonl", "xlsx", "ods", "ics", "vcf", "subtitles", "image")  # kinds

# Letters, digits and the marks of plain sentences: nothing that the query language reads as an operator.
_PLAIN = re.compile(r"¿?[\w ,.'’$£€&%/+-]+[?？]")
_QUESTION_MARKER = r"Q(?:uestion)?\s*\d*\s*[:.)]\s*"
_HEADING = re.compile(rf"(?:{_QUESTION_MARKER}|\d+[.)]\s*)?(?P<question>[^?？\n]{{8,120}}[?？])")
_LINE = re.compile(
    rf"(?:(?:\A|\n[ \t]*\n)[ \t]*(?:{_QUESTION_MARKER})?|\n[ \t]*{_QUESTION_MARKER})"
    r"(?P<question>(?:¿|[^\Wa-z])[^?？\n.!]{8,120}[?？])[ \t]*\n+[ \t]*(?=[^\s?？])"
)
_SPACES = re.compile(r"\s+")

# Words that do not begin or continue a noun phrase or a verb phrase of a rule.
_NO_WORD = (
    r"(?!(?:a|an|the|and|or|but|if|of|in|on|at|to|by|for|from|with|as|is|are|was|were|been|has|have|had|do|does|did|"
    r"not|no|who|whom|that|which|what|when|where|this|these|those|it|he|she|they|we|you|i|there|here|then|so|too|also|"
    r"can|could|may|might|must|shall|should|will|would|only|first|next|last|same|following|other|one|above|below|"
    r"rest|example|way|reason|problem|result|idea|point|answer|question|date|some|all|any|begin|me|him|us|them|sum)\b)"
)
# Words that refer to another sentence.
_UNCLEAR = (
    r"(?:it|its|they|them|their|this|that|these|those|he|she|his|her|him|so|not|any|one|none|both|such|there|here|"
    r"above|below|following|[a-z]*sel(?:f|ves))"
)
_REFERS = re.compile(r"\b(?:it|this|that|these|those|they|them)\b", re.IGNORECASE)
_WORD = rf"(?!{_UNCLEAR}\b)[\w'’-]+"
_NOUN = rf"{_NO_WORD}[a-z][a-z-]+"
_THING = rf"(?:the|our|your|my)(?: {_NOUN}){{1,3}}"
_PERMISSION = re.compile(
    rf"(?:(?:yes|no), )?(?P<subject>you|{_THING}|an?(?: {_NOUN}){{1,2}}) (?P<modal>may|can|must|should)"
    rf"(?: not| never| only| always)? (?P<rest>{_NO_WORD}[a-z]+(?: {_WORD}){{1,7}}?)(?:[,;:(] .*|\.)",
    re.IGNORECASE,
)
_CASE = re.compile(
    rf"If (?P<case>(?:the|an?|your|you|our|my|we|I|no|every|each|[A-Z][\w-]+)(?: {_WORD}){{2,8}}), .{{8,}}"
)
_PLACE = re.compile(
    rf"(?P<subject>(?i:{_THING})) (?P<verb>is|are)(?P<rest> (?:kept|stored|located|hidden))? "
    r"(?:in|under|behind|inside|above|below|beside|beneath|next to|on top of|at the back of|in front of|on) "
    r"(?:the|our|your|a)(?: [a-z'’-]+)+.*"
)
_TASK_SENTENCE = re.compile(rf"To (?P<task>{_NO_WORD}[a-z]+(?: {_WORD}){{1,6}}), .{{8,}}")
_VERBS = (
    "add|adjust|apply|ask|build|calculate|change|check|choose|clean|compare|compile|configure|connect|convert|copy|"
    "create|debug|delete|deploy|disable|download|enable|export|extend|find|fix|import|improve|index|install|make|"
    "measure|migrate|move|open|parse|pay|prepare|publish|remove|rename|repair|replace|report|reset|restore|run|save|"
    "search|send|set up|share|sort|start|stop|store|test|train|turn off|turn on|uninstall|update|upgrade|upload|use|"
    "write"
)
_TASK_HEADING = re.compile(
    r"(?i:how to) (?P<task>[a-z]+(?: [\w'’-]+){1,8})"
    rf"|(?P<verb>(?i:{_VERBS})) (?P<object>(?:an?|the|your|all|several|new) [\w'’ -]{{3,50}})"
)


@dataclass(frozen=True)
class QuestionCandidate:
    """A question that a rule has made.

    Attributes:
        document: ID of its document.
        passages: the passages of which one should be the first hit.
    """

    question: str
    rule: Rule
    document: int
    passages: frozenset[int]


def suggestions(
    proposed: Iterable[QuestionCandidate], ask: Ask, most: int = MOST_SUGGESTIONS
) -> tuple[Suggestion, ...]:
    """Return at most `most` questions that an index can answer, each from another document.

    Args:
        proposed: the candidates of the index.
        ask: function that answers a question; it is called at most `MOST_ASKED` times.
    """
    kept: dict[int, Suggestion] = {}
    for candidate in in_turn(proposed)[:MOST_ASKED]:
        if len(kept) == most:
            break
        if candidate.document not in kept:
            hits = ask(candidate.question)
            if is_answered(candidate, hits):
                kept[candidate.document] = Suggestion(candidate.question, candidate.rule, hits[0])
    return tuple(kept.values())


def is_answered(candidate: QuestionCandidate, hits: Sequence[Hit]) -> bool:
    """Return True if a question's own passage is its first hit, and the verdict, if there is one, is good."""
    if not hits or hits[0].passage_id not in candidate.passages:
        return False
    verdict = hits[0].verdict
    return verdict is None or verdict.probability is None or verdict.says in _GOOD


def in_turn(proposed: Iterable[QuestionCandidate]) -> list[QuestionCandidate]:
    """Return candidates with the rules taking turns, and within a rule spaced evenly over its documents."""
    by_rule: dict[Rule, list[QuestionCandidate]] = {rule: [] for rule in get_args(Rule)}
    for candidate in proposed:
        by_rule[candidate.rule].append(candidate)
    turns = [_spaced(list(same)) for same in by_rule.values()]
    return [candidate for turn in zip_longest(*turns) for candidate in turn if candidate]


def _spaced(items: list[QuestionCandidate]) -> list[QuestionCandidate]:
    """Return items in an order whose beginnings are spread over all of them: the middle, the quarters, the eighths."""
    order, step = list[int](), len(items)
    while step >= 1 and len(order) < len(items):
        step = (step + 1) // 2
        order += [at for at in range(step // 2, len(items), step) if at not in order]
        if step == 1:
            break
    return [items[at] for at in order]


def candidates(snapshot: Snapshot) -> list[QuestionCandidate]:
    """Return the candidates of some documents, in the order of their passages; no question occurs twice.

    An index with pending passages has none, as its first hits may change.
    """
    if len(snapshot.pending) or snapshot.approximate:
        return []
    documents = snapshot.status().documents
    sample = snapshot.some_documents(-(-documents // _MOST_DOCUMENTS) or 1)[:_MOST_DOCUMENTS]
    ids = [row[0] for row in sample if row[3] not in _NOT_PROSE]
    most = _MOST_PASSAGES // max(1, len(ids))
    passages = [id_ for own in snapshot.first_passages(ids, most).values() for id_ in own]
    stored = list(snapshot.stored(passages).values())
    under_heading: dict[tuple[int, str], set[int]] = defaultdict(set)
    for passage in stored:
        for heading in _headings(passage):
            under_heading[passage.document_id, heading].add(passage.passage_id)
    by_question: dict[str, QuestionCandidate] = {}
    for passage in stored:
        for heading in _headings(passage):
            own = frozenset(under_heading[passage.document_id, heading])
            for rule, question in of_heading(heading):
                by_question.setdefault(
                    question, QuestionCandidate(question, rule, passage.document_id, own)
                )
        for rule, question in of_text(passage.visible_text):
            own = frozenset([passage.passage_id])
            by_question.setdefault(question, QuestionCandidate(question, rule, passage.document_id, own))
    return list(by_question.values())


def _headings(passage: StoredPassage) -> list[str]:
    """Return the title and the headings of a passage."""
    parts = [passage.title, *re.split(r" [>·] ", passage.heading)]
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def of_heading(heading: str) -> Iterator[tuple[Rule, str]]:
    """Yield the questions that a heading gives.

    Example:
        >>> list(of_heading("Report a problem"))
        [('task', 'How do I report a problem?')]
    """
    if match := _HEADING.fullmatch(heading):
        if not _REFERS.search(heading):
            yield from _fit("heading", match["question"])
    elif match := _TASK_HEADING.fullmatch(heading.strip(" .")):
        task = match["task"] or f"{match['verb'].lower()} {match['object']}"
        yield from _fit("task", f"How do I {as_reader(task)}?")


def of_text(text: str) -> Iterator[tuple[Rule, str]]:
    """Yield the questions that a text without markup gives.

    Example:
        >>> list(of_text("If a phone is used in class, the teacher keeps it until noon."))
        [('case', 'What if a phone is used in class?')]
    """
    for match in _LINE.finditer(text):
        if not _REFERS.search(match["question"]):
            yield from _fit("line", match["question"])
    for start, end in sentence_spans(text, _LONGEST_SENTENCE):
        sentence = _SPACES.sub(" ", text[start:end]).strip()
        if sentence.endswith("."):
            yield from _of_sentence(sentence)


def _of_sentence(sentence: str) -> Iterator[tuple[Rule, str]]:
    """Yield the questions that an English sentence gives."""
    if match := _PERMISSION.fullmatch(sentence):
        modal, subject = match["modal"].capitalize(), as_reader(match["subject"].lower())
        yield from _fit("permission", f"{modal} {subject} {as_reader(match['rest'])}?")
    if match := _CASE.fullmatch(sentence):
        yield from _fit("case", f"What if {as_reader(match['case'])}?")
    if match := _PLACE.fullmatch(sentence):
        subject = as_reader(match["subject"].lower())
        yield from _fit("place", f"Where {match['verb']} {subject}{match['rest'] or ''}?")
    if match := _TASK_SENTENCE.fullmatch(sentence):
        yield from _fit("task", f"How do I {as_reader(match['task'])}?")


def as_reader(clause: str) -> str:
    """Return a clause that speaks to the reader in the reader's own words.

    Example:
        >>> as_reader("you are away and your key is lost")
        'I am away and my key is lost'
    """
    own = {"you are": "I am", "you're": "I'm", "you’re": "I’m", "you": "I", "your": "my"}
    return re.sub(r"\b(?:you are|you['’]re|your|you)\b", lambda match: own[match[0]], clause)


def _fit(rule: Rule, question: str) -> Iterator[tuple[Rule, str]]:
    """Yield a question if it is plain text of a fit length; languages without spaces are measured by letters."""
    question = _SPACES.sub(" ", question).strip()
    count = len(question.split()) if " " in question else len(question) // 2
    if _FEWEST_WORDS <= count <= _MOST_WORDS and _PLAIN.fullmatch(question):
        yield rule, question
