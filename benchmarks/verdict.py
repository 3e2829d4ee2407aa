"""How sure is the verdict? Questions are asked with and without what answers them, and its coefficients are fitted.

    python benchmarks/verdict.py SQUAD.json [--spoken FOLDER QUESTIONS.json [INDEX] ...] [--nothing QUESTIONS.json]
        [--fresh FOLDER QUESTIONS.json [INDEX] ...] [--collections BEIR ...] [--questions N] [--png FILE]

Of SQuAD's paragraphs each is a file; its questions are asked of the index of all, and once more of the index without
the paragraph. The spoken questions are asked of their own folder, of each other's, and with them those that none
answers; a question with no path is answered by none, either. Fresh questions are asked in the same way, and nothing is
fitted on them, nor on a collection in BEIR's layout, of which each query is asked with its relevant documents and
without.

Fitted on SQuAD's questions and the spoken ones, of which each set counts a tenth of SQuAD's; answered and unanswered
ones count alike. A row for each set: the area under the ROC curve, the expected calibration error in ten bins, the
share of answered questions that are told "nothing" and of unanswered ones that are told "answers likely", with 95 %
bootstrap intervals. The probabilities are those of eight fits, each without the article or spoken question that is
judged. Last the coefficients of all, which are to stand in search/ranking/verdict.py, and a reliability diagram.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machine import headline
from numpy.typing import NDArray

from search import Index
from search.evaluating.formats import Retrieval, read_beir, read_questions
from search.ranking import verdict
from search.statistics import mean_of

SPOKEN_SHARE, FOLDS, BINS = 0.1, 8, 10

Group = tuple[
    list[str], list[tuple[str, str]]
]  # files, and what they answer: a query, and what it is kept out with


@dataclass(frozen=True)
class Asked:
    """A question that was asked.

    Attributes:
        group: what it must not be fitted with: its article, or its text.
        figures: the score of the best hit, and how many of the words were found.
    """

    source: str
    group: str
    answered: bool
    figures: tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("squad", type=Path)
    parser.add_argument("--spoken", type=Path, nargs="+", action="append", default=[])
    parser.add_argument("--fresh", type=Path, nargs="+", action="append", default=[])
    parser.add_argument("--nothing", type=Path, default=None)
    parser.add_argument("--collections", type=Path, nargs="*", default=[])
    parser.add_argument(
        "--questions", type=int, default=None, help="so many paragraphs or queries of each set"
    )
    parser.add_argument("--png", type=Path, default=None)
    args = parser.parse_args()
    print(headline("openvino", "faiss-cpu", "scikit-learn", "numpy") + "\n")
    fitted = list(taken_out("squad", *squad(args.squad), args.questions))
    fitted += spoken("spoken", args.spoken, [args.nothing] if args.nothing else [])
    others = list(spoken("fresh", args.fresh, []))
    others += [
        one
        for path in args.collections
        for one in taken_out(path.name, *collection(read_beir(path)), args.questions)
    ]
    tell(fitted, others, args.png)


def spoken(name: str, sets: Sequence[Sequence[Path]], nothing: Sequence[Path]) -> Iterator[Asked]:
    """Every question of every folder: its own, those of the others, those that nothing answers."""
    files = [*(questions for _, questions, *_ in sets), *nothing]
    for folder, questions, *index in sets:
        with tempfile.TemporaryDirectory() as place:
            opened = Index.build(
                folder, index=str(index[0] if index else Path(place) / "index"), offline=True
            )
            for path in files:
                for one in json.loads(path.read_text(encoding="utf-8")):
                    answered = path == questions and bool(one["paths"])
                    yield asked(opened, f"{name}, {folder.name}", one["query"], one["query"], answered)


def squad(path: Path) -> tuple[dict[str, str], list[Group]]:
    """A file for each paragraph, and its questions by article."""
    questions, paragraphs = read_questions(path)
    entries, groups = paragraphs.entries, defaultdict(list)
    for question in questions:
        groups[question.paragraph].append((question.text, entries[question.paragraph].title))
    return files_of(paragraphs), [([file_of(name)], asked) for name, asked in groups.items()]


def collection(data: Retrieval) -> tuple[dict[str, str], list[Group]]:
    """A file for each document, and each query with its relevant ones."""
    files = files_of(data)
    groups = []
    for query in data.queries:
        relevant = {file_of(name) for name, grade in data.judgements[query.id].items() if grade > 0}
        groups.append((sorted(relevant & files.keys()), [(query.text, query.id)]))
    return files, [group for group in groups if group[0]]


def files_of(data: Retrieval) -> dict[str, str]:
    return {
        file_of(name): f"# {one.title}\n\n{one.text}\n" if one.title else one.text
        for name, one in data.entries.items()
        if one.whole
    }


def file_of(name: str) -> str:
    return re.sub(r"\W", "_", name) + ".md"


def taken_out(source: str, files: dict[str, str], groups: list[Group], n: int | None) -> Iterator[Asked]:
    """Every question with what answers it, then without: the files are put aside, and the index is updated."""
    with tempfile.TemporaryDirectory() as place:
        folder, aside = Path(place) / "files", Path(place) / "aside"
        folder.mkdir()
        aside.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        index = Index.build(folder, index=str(Path(place) / "index"), offline=True)
        for answers, texts in groups[:n]:
            yield from (asked(index, source, query, group, True) for query, group in texts)
            for name in answers:
                (folder / name).rename(aside / name)
            index.update()
            yield from (asked(index, source, query, group, False) for query, group in texts)
            for name in answers:
                (aside / name).rename(folder / name)
            index.update()


def asked(index: Index, source: str, query: str, group: str, answered: bool) -> Asked:
    found = index.query(query, k=1)[0].verdict
    assert found
    return Asked(source, group, answered, (found.score, found.coverage))


def tell(fitted: Sequence[Asked], others: Sequence[Asked], png: Path | None) -> None:
    from sklearn.model_selection import GroupKFold

    probabilities = np.zeros(len(fitted))
    groups = [one.group for one in fitted]
    for rest, held in GroupKFold(min(FOLDS, len(set(groups)))).split(groups, groups=groups):
        coefficients = fit([fitted[i] for i in rest])
        probabilities[held] = told([fitted[i] for i in held], coefficients)
    coefficients = fit(fitted)
    every = [*fitted, *others]
    probabilities = np.concatenate([probabilities, told(others, coefficients)])
    sources = dict.fromkeys(one.source for one in every)
    print("| set | answered | not | area under ROC | ECE | false nothing | false answers |")
    print("|---|---|---|---|---|---|---|")
    for source in sources:
        chosen = np.array([one.source == source for one in every])
        print(row(source, probabilities[chosen], answers_of([o for o in every if o.source == source])))
    constant, score, found = coefficients
    print(f"\nCONSTANT, SCORE, WORDS = {constant:.2f}, {score:.2f}, {found:.2f}")
    print(f"as they stand: {verdict.CONSTANT}, {verdict.SCORE}, {verdict.WORDS}\n")
    first = [i for i, one in enumerate(every) if one.source == every[0].source]
    diagram = reliability(probabilities[first], answers_of([every[i] for i in first]))
    print("| told | answered | questions |\n|---|---|---|")
    for mean, share, n in diagram:
        print(f"| {mean:.2f} | {share:.2f} {'█' * round(20 * share)} | {n} |")
    if png:
        draw(diagram, png)


def answers_of(some: Sequence[Asked]) -> NDArray[np.bool_]:
    return np.array([one.answered for one in some])


def fit(some: Sequence[Asked]) -> tuple[float, float, float]:
    """Constant and coefficients."""
    from sklearn.linear_model import LogisticRegression

    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for one in some:
        counts[one.source, one.answered] += 1
    share = {source: SPOKEN_SHARE if source.startswith("spoken") else 1 for source, _ in counts}
    weights = np.array([share[one.source] / counts[one.source, one.answered] for one in some])
    figures = np.array([one.figures for one in some])
    model = LogisticRegression(C=1e6, max_iter=10_000)
    model.fit(figures, answers_of(some), sample_weight=weights * len(some) / weights.sum())
    score, found = map(float, model.coef_[0])
    return float(model.intercept_[0]), score, found


def told(some: Sequence[Asked], coefficients: Sequence[float]) -> NDArray[np.float64]:
    constant, *slopes = coefficients
    figures = np.array([one.figures for one in some]).reshape(-1, 2)
    return 1 / (1 + np.exp(-(constant + figures @ np.array(slopes))))


def row(source: str, probability: NDArray[np.float64], answered: NDArray[np.bool_]) -> str:
    from sklearn.metrics import roc_auc_score

    area = roc_auc_score(answered, probability)
    ends = roc_interval(probability, answered)
    nothing = mean_of((probability[answered] < verdict.NOTHING).astype(float))
    answers = mean_of((probability[~answered] >= verdict.LIKELY).astype(float))
    return (
        f"| {source} | {answered.sum()} | {(~answered).sum()} | {area:.3f} ({ends[0]:.3f} to {ends[1]:.3f}) "
        f"| {calibration_error(probability, answered):.3f} "
        f"| {nothing.mean:.3f} ({nothing.low:.3f} to {nothing.high:.3f}) "
        f"| {answers.mean:.3f} ({answers.low:.3f} to {answers.high:.3f}) |"
    )


def roc_interval(probability: NDArray[np.float64], answered: NDArray[np.bool_]) -> NDArray[np.float64]:
    from sklearn.metrics import roc_auc_score

    chance, areas = np.random.default_rng(0), []
    yes, no = np.flatnonzero(answered), np.flatnonzero(~answered)
    for _ in range(500):
        drawn = np.concatenate([chance.choice(yes, len(yes)), chance.choice(no, len(no))])
        areas.append(roc_auc_score(answered[drawn], probability[drawn]))
    return np.quantile(areas, [0.025, 0.975])


def calibration_error(probability: NDArray[np.float64], answered: NDArray[np.bool_]) -> float:
    """The mean gap between what is told and what is so, over ten bins; answered and unanswered ones count alike."""
    weights = np.where(answered, 0.5 / answered.sum(), 0.5 / (~answered).sum())
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights * (probability - answered), BINS)
    return float(np.abs(gaps).sum())


def reliability(
    probability: NDArray[np.float64], answered: NDArray[np.bool_]
) -> list[tuple[float, float, int]]:
    """Of each bin the mean of what is told, the share that is answered, and how many questions it has."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    chosen = [bins == number for number in range(BINS) if (bins == number).any()]
    return [
        (float(probability[one].mean()), float(answered[one].mean()), int(one.sum())) for one in chosen
    ]


def draw(diagram: Sequence[tuple[float, float, int]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    means, shares, _ = zip(*diagram, strict=True)
    pyplot.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    pyplot.plot(means, shares, marker="o")
    pyplot.xlabel("probability that is told")
    pyplot.ylabel("share of questions with an answer")
    pyplot.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
