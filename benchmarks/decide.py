"""Does "why" help? Which of two hits holds the answer, judged by nothing but their explanations.

    python benchmarks/decide.py FOLDER=QUESTIONS ... [--sample 300] [--limit N] [--show] [--readers FOLDER]
    python benchmarks/decide.py --score KEY ANSWERS ...

FOLDER is a folder or an index. QUESTIONS are those of benchmarks/spoken/, with the `paths` of the documents that
answer, or of benchmarks/asked/, with `answers`, each a `path` and what the passage `says`; of these the spoken ones
and those in other words. A question in two files of one folder is asked once, with its answers. --sample takes so many
files of a larger folder: those that answer, and others by chance.

From the first ten hits of a question, at most three of a document, two are taken: the first that holds the answer, and
the first of a document that does not. A question without both is left out and counted. A judge gets the explanations
of the two hits, in both orders equally often, without scores, texts and names. That is forward simulation (Doshi-Velez
& Kim 2017, "Towards A Rigorous Science of Interpretable Machine Learning"), but of the answer, not of the model's
choice.

| explanation | for each content word of the question |
|---|---|
| last layer | its share of the score, and the passage words that add most with it; `layer="last"` |
| traced | the same traced to the words as typed, the default |
| cosine | the passage word that is most similar to it at the middle layer, and their cosine |
| keywords | its addend to BM25 |
| sentence | none: the sentences of the passage that answer, as on the page. Text, so an upper bound for people |

Judges are rules. Most give an explanation a number; the hit with the larger one is chosen, a tie counts half. Content
words are those that are no stop words, each once; rarity is the idf of BM25. But for the last rule, none uses the
score, its sum or its rank:

- **words met**: share of the content words, by rarity, that the passage meets. In both splits: the word adds at least
  a quarter of what the strongest one adds (as in `Explanation.strongest`), and what adds most with it is no stop word,
  punctuation or special token, unless the word itself is a keyword there. Cosine: at least 0.5 with a word that is no
  stop word. Keywords: an addend. Sentence: an occurrence within it.
- **word by word**: each content word has votes, its rarity, for the hit where its share, cosine or addend is larger;
  the hit with most votes is chosen. Not of sentences.
- **rarest word**: of the rarest content word alone, its share of the score, its cosine, its addend, or 1 if the
  sentence has it.
- **little rest**: the share of the score that belongs to content words; of splits only.
- **read**: cosine of the sentence alone with the question. A model reads here, as no person does; of sentences only.
- **sum of words**: the sum of the addends of content words, in units of the score, as the bars of the page show them.
  This nearly computes the score again: it tells whether the score is better without the rest. Of splits and keywords.

"Words met" is the rule that explanations are compared by. *The higher score* is the baseline. A rule that only computes
the score again chooses the same hit (*as score*) and is right exactly if the answer ranks above; so accuracies are also
printed for questions where it ranks above and where it ranks below, with their mean (*balanced*), which is 0.5 for the
score. Intervals are 95 % bootstrap intervals over questions, p is from a paired randomization test.

--readers writes sheets for people to a folder: 20 questions, in half of which the answer ranks below as far as there
are so many, in an order of each sheet's own; and their keys to its folder `keys`. A reader sends a file with lines
such as "7 A". --score compares such files with the key.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from folders import sampled
from machine import headline
from numpy.typing import NDArray

import search
from search.index import searcher_of
from search.records.explanations import STOP_WORDS, Explanation
from search.records.tokens import WordMatrices
from search.records.visible_text import VisibleText
from search.render.why import ALIKE, WordLine, content_lines, word_lines
from search.statistics import compared, mean_of
from search.store.bm25 import weight
from search.store.layout import is_index

LAST, TRACED, COSINE, KEYWORDS, SENTENCE = "last layer", "traced", "cosine", "keywords", "sentence"
EXPLANATIONS = (LAST, TRACED, COSINE, KEYWORDS, SENTENCE)
SCORE = "the higher score"
DEPTH, PER_DOCUMENT = 10, 3
KINDS = ("spoken", "words")
LEAST = 0.25  # of the largest contribution, for a word to be met; as in `Explanation.strongest`
EXCERPT = 240  # characters, as on the page
PARTNERS, STRONGEST = 3, 5  # passage words in a sheet: with a word of the query, and in all
CASES = 20
SEED = 0
EQUAL = 1e-9

Query = Mapping[str, Any]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Clue:
    """Explanation of one content word of the question.

    Attributes:
        rarity: idf of the word.
        size: share of the score, cosine, or addend.
        partners: passage words that it meets, strongest first.
        is_met: as the rule "words met" defines it.
        is_keyword: the word itself occurs in the passage.
    """

    word: str
    rarity: float
    size: float
    partners: tuple[str, ...] = ()
    is_met: bool = False
    is_keyword: bool = False


@dataclass(frozen=True)
class Clues:
    """Explanation of a hit, as judges get it.

    Attributes:
        content: share of the score of all content words; None for other explanations than splits.
        amount: sum of the addends of content words; None for cosines and sentences. Readers do not get it.
        strongest: passage words with the largest contributions.
        excerpt: the sentences that answer; "" for other explanations.
        cosine: cosine of the excerpt with the question.
    """

    words: tuple[Clue, ...]
    content: float | None = None
    amount: float | None = None
    strongest: tuple[str, ...] = ()
    excerpt: str = ""
    cosine: float | None = None


@dataclass(frozen=True)
class Case:
    """A question with two hits: the first of `hits` holds the answer, the second does not.

    Attributes:
        name: set of the question.
        is_exact: the passage with the answer is judged, not only its document.
        pairs: the explanations of the two hits, by name.
    """

    name: str
    query: str
    hits: tuple[search.Hit, search.Hit]
    is_exact: bool
    pairs: Mapping[str, tuple[Clues, Clues]]

    @property
    def is_above(self) -> bool:
        return self.hits[0].rank < self.hits[1].rank


@dataclass
class Counts:
    """Questions of a set, and those left out because the first hits lack one of the two."""

    questions: int = 0
    without_answer: int = 0
    without_other: int = 0
    cases: list[Case] = field(default_factory=list)


def words_met(clues: Clues) -> float:
    total = sum(clue.rarity for clue in clues.words)
    return sum(clue.rarity for clue in clues.words if clue.is_met) / (total or 1.0)


def rarest_word(clues: Clues) -> float:
    return max(clues.words, key=lambda clue: clue.rarity).size


def votes(clues: Clues, others: Clues) -> float:
    """Rarities of the words whose size is larger than in the other explanation of the same question."""
    sizes = {clue.word: clue.size for clue in others.words}
    return sum(clue.rarity for clue in clues.words if clue.size > sizes.get(clue.word, 0.0) + EQUAL)


def preference(first: float, second: float) -> float:
    """1 if the first number is larger, 0 if the second is, 0.5 if they are equal."""
    return 0.5 if abs(first - second) < EQUAL else float(first > second)


Pair = tuple[Clues, Clues]
# Rule -> its preference of two explanations, 1 for the first one; None if it does not suit them.
RULES: dict[str, Callable[[Pair], float | None]] = {
    "words met": lambda pair: preference(words_met(pair[0]), words_met(pair[1])),
    "word by word": lambda pair: (
        None if pair[0].excerpt else preference(votes(*pair), votes(pair[1], pair[0]))
    ),
    "rarest word": lambda pair: preference(rarest_word(pair[0]), rarest_word(pair[1])),
    "little rest": lambda pair: optional_preference(pair[0].content, pair[1].content),
    "read": lambda pair: optional_preference(pair[0].cosine, pair[1].cosine),
    "sum of words": lambda pair: optional_preference(pair[0].amount, pair[1].amount),
}
MAIN = "words met"


def optional_preference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else preference(first, second)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="FOLDER=QUESTIONS")
    parser.add_argument("--sample", type=int, default=None, help="so many files of a larger folder")
    parser.add_argument(
        "--limit", type=int, default=None, help="only the first so many questions of a folder"
    )
    parser.add_argument("--show", action="store_true", help="print the choices for each question")
    parser.add_argument(
        "--readers", type=Path, default=None, metavar="FOLDER", help="write sheets for people"
    )
    parser.add_argument(
        "--score", type=Path, nargs="+", default=None, metavar="FILE", help="a key, then answers"
    )
    args = parser.parse_args()
    if args.score:
        key, *answers = args.score
        print_readers(json.loads(key.read_text(encoding="utf-8")), answers)
        return
    if not args.sets:
        parser.error("name at least one FOLDER=QUESTIONS, or --score KEY ANSWERS")
    print(headline("numpy", "openvino"))
    cases: list[Case] = []
    for folder, files in by_folder(args.sets).items():
        queries = read_queries(files, folder.name)[: args.limit]
        with tempfile.TemporaryDirectory() as home:
            index = opened(folder, queries, args.sample, Path(home))
            counts = collect(index, folder.name, queries)
        print(
            f"{folder.name}: {counts.questions} questions; {counts.without_answer} without an answer and "
            f"{counts.without_other} without another document among {DEPTH} hits; {len(counts.cases)} left"
        )
        cases += counts.cases
    if not cases:
        print("No question has both hits.")
        return
    print_figures(cases)
    for case in cases if args.show else ():
        show(case)
    if args.readers:
        write_sheets(args.readers, cases)


def by_folder(sets: Sequence[str]) -> dict[Path, list[Path]]:
    files: dict[Path, list[Path]] = {}
    for pair in sets:
        folder, _, questions = pair.rpartition("=")
        files.setdefault(Path(folder), []).append(Path(questions))
    return files


def read_queries(files: Sequence[Path], folder: str) -> list[Query]:
    """Questions of a folder, each once, with the `paths` of all documents that answer, and the `answers` if judged."""
    merged: dict[str, dict[str, Any]] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        rows = (
            [json.loads(line) for line in text.splitlines()]
            if file.suffix == ".jsonl"
            else json.loads(text)
        )
        for row in rows:
            answers = row.get("answers", [])
            paths = [*row.get("paths", []), *(answer["path"] for answer in answers)]
            if row.get("folder", folder) == folder and row.get("kind", "spoken") in KINDS and paths:
                query = merged.setdefault(
                    row["query"], {"query": row["query"], "paths": [], "answers": []}
                )
                query["paths"] = list(dict.fromkeys([*query["paths"], *paths]))
                query["answers"] += answers
    return list(merged.values())


def opened(folder: Path, queries: Sequence[Query], sample: int | None, home: Path) -> search.Index:
    if is_index(folder):
        return search.Index.open(folder, offline=True)
    files = sum(path.is_file() for path in folder.iterdir())
    if sample and files > sample:
        folder = sampled(folder, queries, sample, home)
    return search.Index.build(folder, index=f"{home}/index", offline=True)


def collect(index: search.Index, name: str, queries: Sequence[Query]) -> Counts:
    """Ask the questions, and explain the two hits of each that has both."""
    counts = Counts()
    for query in queries:
        counts.questions += 1
        hits = index.query(query["query"], DEPTH, per_document=PER_DOCUMENT)
        right = next((hit for hit in hits if holds_answer(hit, query)), None)
        other = next((hit for hit in hits if not is_of(hit, query["paths"])), None)
        if right and other:
            pairs = explanations(index, query["query"], (right, other))
            exact = bool(query["answers"])
            counts.cases.append(Case(name, query["query"], (right, other), exact, pairs))
        elif other:
            counts.without_answer += 1
        else:
            counts.without_other += 1
    return counts


def holds_answer(hit: search.Hit, query: Query) -> bool:
    text = as_line(hit.text)
    if query["answers"]:
        answers = query["answers"]
        return any(is_of(hit, [answer["path"]]) and as_line(answer["says"]) in text for answer in answers)
    return is_of(hit, query["paths"])


def is_of(hit: search.Hit, paths: Sequence[str]) -> bool:
    """Return True if a hit is of one of the documents, or of a record of one."""
    return any(hit.document == path or hit.document.startswith(f"{path}#") for path in paths)


def as_line(text: str) -> str:
    return " ".join(text.split())


def explanations(
    index: search.Index, query: str, hits: tuple[search.Hit, search.Hit]
) -> dict[str, tuple[Clues, Clues]]:
    """All explanations of two hits."""
    traced, last = index.explain(query, hits), index.explain(query, hits, layer="last")
    rarities = rarities_of(index, query, traced[0])
    spans = searcher_of(index).answering(query, hits).spans(EXCERPT)
    excerpts = [
        VisibleText(hit.text, hit.hidden).between(*span) for hit, span in zip(hits, spans, strict=True)
    ]
    (embedding,) = index.encoder.encode([query], role="query")
    cosines = (index.encoder.encode(excerpts, role="document", truncate=True) @ embedding).tolist()
    by_name: dict[str, list[Clues]] = {name: [] for name in EXPLANATIONS}
    for number in range(2):
        why = traced[number]
        by_name[LAST].append(split(last[number], rarities))
        by_name[TRACED].append(split(why, rarities))
        by_name[COSINE].append(most_similar(why, rarities))
        by_name[KEYWORDS].append(addends(why, rarities, (0, len(why.passage)), all_places=True))
        words = addends(why, rarities, spans[number], all_places=False).words
        excerpt = as_line(excerpts[number])
        by_name[SENTENCE].append(Clues(words, excerpt=excerpt, cosine=cosines[number]))
    return {name: (pair[0], pair[1]) for name, pair in by_name.items()}


def rarities_of(index: search.Index, query: str, why: Explanation) -> dict[int, float]:
    """Start of each content word of the query, the first of equal ones -> its idf."""
    with searcher_of(index).store.reading() as snapshot:
        terms = snapshot.terms(query)
        passages = snapshot.facts.passages
        counts = dict(zip((term.start for term in terms), snapshot.counts(terms), strict=True))
    typed = {line.name.casefold(): line.share.start for line in reversed(content_words(why))}
    return {start: weight(counts.get(start, 0), passages) for start in sorted(typed.values())}


def content_words(why: Explanation) -> list[WordLine]:
    return [line for line in content_lines(word_lines(why, partners=PARTNERS)) if line.is_word]


def split(why: Explanation, rarities: Mapping[int, float]) -> Clues:
    """Clues of a split of the score, in shares of it."""
    lines, matrices = content_words(why), why.words()
    rows = {word.start: i for i, word in enumerate(matrices.query) if word.kind == "word"}
    most = max(line.added for line in lines)
    clues = []
    for line in lines:
        if line.share.start not in rarities:
            continue
        ranked = by_contribution(matrices, rows[line.share.start]) if line.share.start in rows else []
        first = ranked[0] if ranked else ""
        meets = line.keyword > 0 or is_content(first)
        partners = tuple(word for word in ranked if has_letters(word))[:PARTNERS]
        is_met = meets and 0 < LEAST * most <= line.added
        rarity = rarities[line.share.start]
        clues.append(Clue(line.name, rarity, line.added / why.score, partners, is_met, line.keyword > 0))
    amount = sum(line.added for line in lines)
    return Clues(tuple(clues), amount / why.score, amount, strongest_words(why))


def by_contribution(matrices: WordMatrices, row: int) -> list[str]:
    """Passage words, each once in lower case, by what they add with a word of the query; positive ones only."""
    sums: dict[str, float] = {}
    for word, value in zip(matrices.passage, matrices.contributions[row].tolist(), strict=True):
        name = word.text.casefold() if word.kind != "special" else word.kind.join("[]")
        sums[name] = sums.get(name, 0.0) + value
    return sorted((name for name in sums if sums[name] > 0), key=lambda name: -sums[name])


def strongest_words(why: Explanation) -> tuple[str, ...]:
    """Words of the passage with the largest contributions to the score, each once, without stop words."""
    sums: dict[str, float] = {}
    for item in why.passage_words():
        name = item.word.text.casefold()
        if item.word.kind in ("word", "context") and is_content(name):
            sums[name] = sums.get(name, 0.0) + item.contribution
    return tuple(
        sorted((name for name in sums if sums[name] > 0), key=lambda name: -sums[name])[:STRONGEST]
    )


def most_similar(why: Explanation, rarities: Mapping[int, float]) -> Clues:
    clues = []
    for line in content_words(why):
        if line.share.start in rarities:
            best = line.share.partners[0] if line.share.partners else None
            cosine, partners = (best.similarity, (best.text,)) if best else (0.0, ())
            is_met = best is not None and cosine >= ALIKE and is_content(best.text)
            clues.append(Clue(line.name, rarities[line.share.start], cosine, partners, is_met))
    return Clues(tuple(clues))


def addends(
    why: Explanation, rarities: Mapping[int, float], span: tuple[int, int], *, all_places: bool
) -> Clues:
    """Clues of keywords.

    Args:
        all_places: count occurrences in the headings, too, and give sizes; otherwise only those in a span of the
            passage, with the size 1.
    """
    terms = {term.start: term for term in why.terms if term.kind == "term" and term.contribution > 0}
    clues = []
    for line in content_words(why):
        start = line.share.start
        if start not in rarities:
            continue
        term = terms.get(start)
        inside = term is not None and any(
            place.part == "text" and span[0] <= place.start < span[1] for place in term.places
        )
        is_met = term is not None if all_places else inside
        size = term.contribution if term and all_places else float(is_met)
        clues.append(Clue(line.name, rarities[start], size, (), is_met, is_met))
    amount = sum(clue.size for clue in clues) if all_places else None
    return Clues(tuple(clues), amount=amount)


def is_content(word: str) -> bool:
    return has_letters(word) and word.casefold() not in STOP_WORDS and word != "[special]"


def has_letters(word: str) -> bool:
    return any(map(str.isalnum, word)) and word != "[special]"


def choices(cases: Sequence[Case], name: str, rule: str) -> Values | None:
    """(n,) 1 where a rule chooses the hit with the answer, 0.5 in ties; None if it does not suit the explanation."""
    values = []
    for case in cases:
        value = RULES[rule](case.pairs[name])
        if value is None:
            return None
        values.append(value)
    return np.array(values)


def by_score(cases: Sequence[Case]) -> Values:
    return np.array([preference(case.hits[0].score, case.hits[1].score) for case in cases])


def print_figures(cases: Sequence[Case]) -> None:
    above = np.array([case.is_above for case in cases])
    exact = np.array([case.is_exact for case in cases])
    names = list(dict.fromkeys(case.name for case in cases))
    score = by_score(cases)
    rows = {SCORE: score}
    for name in EXPLANATIONS:
        for rule in RULES:
            values = choices(cases, name, rule)
            if values is not None:
                rows[f"{name}, {rule}"] = values
    print(
        f"\n{len(cases)} questions, {int(exact.sum())} with passages judged; "
        f"the answer ranks above in {int(above.sum())}\n"
    )
    columns = [
        "right",
        "ranks above",
        "ranks below",
        "balanced",
        "ties",
        "as score",
        "passages judged",
        *names,
    ]
    print(f"| judge | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for title, values in rows.items():
        whole = mean_of(values)
        parts = [mean_or_nan(values[above]), mean_or_nan(values[~above])]
        groups = [values[exact], *(values[[case.name == name for case in cases]] for name in names)]
        cells = [
            f"{whole.mean:.3f} ({whole.low:.3f} to {whole.high:.3f})",
            *(f"{value:.3f}" for value in (*parts, sum(parts) / 2)),
            str(int(np.sum(values == 0.5))),
            f"{np.mean(values == score):.2f}",
            *(f"{mean_or_nan(group):.3f}" for group in groups),
        ]
        print(f"| {title} | {' | '.join(cells)} |")
    base = rows[f"{TRACED}, {MAIN}"]
    print(
        f"\n| {TRACED}, {MAIN}, against | difference | p | better | worse | equal |\n|---|---|---|---|---|---|"
    )
    for title in (
        SCORE,
        *(f"{name}, {MAIN}" for name in EXPLANATIONS if name != TRACED),
        f"{SENTENCE}, read",
    ):
        pair = compared("right", (title, TRACED), rows[title], base)
        gap = pair.difference
        print(
            f"| {title} | {gap.mean:+.3f} ({gap.low:+.3f} to {gap.high:+.3f}) | {pair.p:.4f} "
            f"| {pair.better} | {pair.worse} | {pair.equal} |"
        )


def mean_or_nan(values: Values) -> float:
    return float(values.mean()) if len(values) else float("nan")


def show(case: Case) -> None:
    right, other = case.hits
    print(
        f"\n{case.query}  [{case.name}; {right.rank} {right.document}, not {other.rank} {other.document}]"
    )
    for name, pair in case.pairs.items():
        print(f"  {name}: {words_met(pair[0]):.2f} against {words_met(pair[1]):.2f}")
        for clues in pair:
            print("".join(f"    {line}\n" for line in lines_of(name, clues)))


def lines_of(name: str, clues: Clues) -> Iterator[str]:
    """Lines that a reader gets."""
    if name == SENTENCE:
        yield f"“{clues.excerpt}”"
        return
    for clue in clues.words:
        if name == COSINE:
            yield f"{clue.word}: most like “{''.join(clue.partners)}”, {clue.size:.2f}"
        elif name == KEYWORDS:
            yield f"{clue.word}: {f'{clue.size:.3f}' if clue.is_met else 'not there'}"
        else:
            keyword = ", the passage has it" if clue.is_keyword else ""
            partners = f", with {', '.join(clue.partners)}" if clue.partners else ""
            yield f"{clue.word}: {100 * clue.size:.0f} %{keyword}{partners}"
    if clues.content is not None:
        yield f"everything else: {100 * (1 - clues.content):.0f} %"
        yield f"strongest words of the passage: {', '.join(clues.strongest)}"


MEANING = {
    LAST: "a share of the hit's score for each word of the question, and the passage words that add most with it",
    TRACED: "a share of the hit's score for each word of the question, and the passage words that add most with it",
    COSINE: "the most similar passage word for each word of the question, and how similar (1: equal)",
    KEYWORDS: "what each word of the question adds because the passage has it (rare words add more)",
    SENTENCE: "an excerpt of the passage",
}
TASK = """Each case has a question and two passages, A and B, of one collection. One of them holds the answer, or is of
the document that does. You do not see the passages, only why the search engine ranked them:
{meaning}.
Scores and ranks are hidden. Which one holds the answer? Write a line for each case, the number and the letter, such as
"7 A". Guess if you do not know.
"""


def write_sheets(folder: Path, cases: Sequence[Case]) -> None:
    """Write a sheet for each explanation, with the same cases in another order, and its key."""
    chance = np.random.default_rng(SEED)
    drawn = [cases[i] for i in chance.permutation(len(cases))]
    below = [case for case in drawn if not case.is_above][: CASES // 2]
    chosen = [*below, *[case for case in drawn if case.is_above][: CASES - len(below)]]
    (folder / "keys").mkdir(parents=True, exist_ok=True)
    for name in EXPLANATIONS:
        order = [chosen[i] for i in chance.permutation(len(chosen))]
        is_first = chance.permutation(np.arange(len(order)) % 2 == 0)
        parts, keys = [f"# {len(order)} cases\n\n{TASK.format(meaning=MEANING[name])}"], []
        for number, (case, first) in enumerate(zip(order, is_first.tolist(), strict=True), 1):
            pair = case.pairs[name] if first else case.pairs[name][::-1]
            texts = [
                "\n".join([f"{letter}", *(f"  {line}" for line in lines_of(name, clues))])
                for letter, clues in zip("AB", pair, strict=True)
            ]
            parts.append(f"## {number}. {case.query}\n\n" + "\n\n".join(texts) + "\n")
            right, other = "AB" if first else "BA"
            by_rule = RULES[MAIN](case.pairs[name])
            keys.append({
                "number": number, "query": case.query, "answer": right,
                "score": right if case.is_above else other,
                "rule": "" if by_rule == 0.5 else right if by_rule else other,
                "right": place_of(case.hits[0]), "other": place_of(case.hits[1]),
            })  # fmt: skip
        file = name.replace(" ", "-")
        (folder / f"{file}.md").write_text("\n".join(parts), encoding="utf-8")
        key = json.dumps({"explanation": name, "cases": keys}, indent=1, ensure_ascii=False)
        (folder / "keys" / f"{file}.json").write_text(key + "\n", encoding="utf-8")
    print(f"\n{len(chosen)} cases on each sheet in {folder}, {len(below)} where the answer ranks below")


def place_of(hit: search.Hit) -> str:
    return f"{hit.document}:{hit.line_start}"


ANSWER = re.compile(r"^\W*(\d+)\W+([AB])\b", re.MULTILINE)


def print_readers(key: Mapping[str, Any], files: Sequence[Path]) -> None:
    """Print how many cases each reader, the rule and the score have right, and all readers together."""
    cases, every = key["cases"], []
    answers = [case["answer"] for case in cases]
    print(f"{key['explanation']}, {len(cases)} cases")
    for file in files:
        letters = {
            int(number): letter for number, letter in ANSWER.findall(file.read_text(encoding="utf-8"))
        }
        values = [agreement(letters.get(case["number"], ""), case["answer"]) for case in cases]
        every.append(values)
        missing = sum(case["number"] not in letters for case in cases)
        print(f"{file.stem}: {sum(values):g} right, {missing} without an answer, which count half")
    for name in ("rule", "score"):
        values = [agreement(case[name], answer) for case, answer in zip(cases, answers, strict=True)]
        print(f"by the {name}: {sum(values):g} right")
    if every:
        # Readers of one case are not independent: cases are resampled.
        whole = mean_of(np.mean(every, axis=0))
        print(f"all readers: {whole.mean:.3f} ({whole.low:.3f} to {whole.high:.3f})")


def agreement(choice: str, answer: str) -> float:
    return 0.5 if not choice else float(choice == answer)


if __name__ == "__main__":
    main()
