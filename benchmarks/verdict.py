"""Fit the answerability verdict, and measure it on collections that the fit has not seen.

    python benchmarks/verdict.py prepare PLACE [--squad FILE] [--chunking FOLDER] [--beir FOLDER ...]
    python benchmarks/verdict.py fit PLACE [--subsets 3 25] [--fresh PLACE verdict_fresh.jsonl]

A place has a folder for each collection: its `files`, its questions as `questions.json` (query, and the `paths` or the
`spans` that answer it; none for a question without an answer), and, once built, its `index`. `prepare` makes them from
verdict_fitted.jsonl and spoken/ (for collections whose files are there, or texts of the list), from SQuAD's paragraphs,
the corpora of chunking_evaluation and collections in BEIR's layout.

Each question is asked of the passages of an index, and again without the passages that answer it (near). Questions of
other collections are asked, too (far). A question counts as answered if an answer is among the first five hits, or the
first three of fewer than 60 passages. Subsets are indexes of so many documents. Each collection counts alike (the
corpora of chunking_evaluation as two together), its subsets as much as its whole, answered as much as unanswered, near
as much as far. A collection's figures are those of a fit to the others.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline
from numpy.typing import NDArray

from search import Encoder, Index
from search.ranking import verdict
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.records.option_tools import Ranking
from search.store.snapshot import Snapshot, Store

HERE = Path(__file__).parent
RELATED = (
    {"man", "sqlman", "debdocs", "pydocs", "peps"}, {"handbook", "chatlogs"}, {"notes", "mail"}, {"wikitexts", "xquad"},
)  # fmt: skip
CHUNKED = {"state_of_the_union", "chatlogs", "wikitexts", "finance", "pubmed"}
FAR, FAR_OF_SUBSET, DRAWS = 60, 10, 2
CUTS = (0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.83, 0.86, 0.9)


@dataclass(frozen=True)
class Asked:
    """A question that was asked of an index, or of a part of it.

    Attributes:
        kind: "answered", "near" or "far".
        figures: excess, coverage and lead.
    """

    collection: str
    subset: bool
    kind: str
    figures: tuple[float, float, float]


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare")
    prepare.add_argument("place", type=Path)
    prepare.add_argument("--squad", type=Path)
    prepare.add_argument("--chunking", type=Path)
    prepare.add_argument("--beir", type=Path, nargs="*", default=[])
    fitting = commands.add_parser("fit")
    fitting.add_argument("place", type=Path)
    fitting.add_argument("--subsets", type=int, nargs="*", default=[])
    fitting.add_argument("--fresh", type=Path, nargs=2, metavar=("PLACE", "QUESTIONS"))
    args = parser.parse_args()
    if args.command == "prepare":
        prepared(args.place, args.squad, args.chunking, args.beir)
        return
    print(headline("openvino", "faiss-cpu", "scikit-learn", "numpy") + "\n")
    questions = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(args.place.glob("*/questions.json"))
    }
    asked = [
        one for name in questions for one in collection(args.place / name, name, questions, args.subsets)
    ]
    tell(asked)
    if args.fresh:
        fresh(*args.fresh)


# Preparing


def prepared(place: Path, squad: Path | None, chunking: Path | None, beir: Sequence[Path]) -> None:
    draw = random.Random(3)
    listed(place)
    if squad:
        files, questions = {}, []
        for article in json.loads(squad.read_text(encoding="utf-8"))["data"]:
            for number, paragraph in enumerate(article["paragraphs"]):
                name = file_of(f"{article['title']}_{number}")
                files[name] = f"# {article['title'].replace('_', ' ')}\n\n{paragraph['context']}\n"
                for one in draw.sample(paragraph["qas"], min(2, len(paragraph["qas"]))):
                    questions.append({"query": one["question"], "paths": [name]})
        put(place / "xquad", files, questions)
    if chunking:
        asked = list(map(json.loads, (chunking / "questions.jsonl").read_text("utf-8").splitlines()))
        for path in sorted((chunking / "corpora").glob("*.md")):
            text = path.read_text(encoding="utf-8")[:130_000]
            own = [
                {
                    "query": one["text"],
                    "spans": [reference["content"] for reference in one["references"]],
                }
                for one in asked
                if one["corpus_id"] == path.stem
                and all(reference["end_index"] < len(text) for reference in one["references"])
            ]
            put(place / path.stem, {path.name: text}, own)
    for path in beir:
        put(place / path.name, *beir_sample(path, draw))


def beir_sample(path: Path, draw: random.Random) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Thirty queries with at most eight relevant documents each, and others up to 150 documents."""
    rows = list(map(json.loads, (path / "corpus.jsonl").read_text("utf-8").splitlines()))
    entries, relevant = {row["_id"]: row for row in rows}, dict[str, list[str]]()
    for line in (path / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0 and document in entries:
            relevant.setdefault(query, []).append(document)
    queries = list(map(json.loads, (path / "queries.jsonl").read_text("utf-8").splitlines()))
    queries = [query for query in queries if 0 < len(relevant.get(query["_id"], ())) <= 8]
    queries = draw.sample(queries, min(30, len(queries)))
    wanted = dict.fromkeys(one for query in queries for one in relevant[query["_id"]])
    others = [one for one in entries if one not in wanted]
    names = [*wanted, *draw.sample(others, min(len(others), max(0, 150 - len(wanted))))]
    files = {
        file_of(name): "\n\n".join(filter(None, (f"# {entries[name]['title']}", entries[name]["text"])))
        for name in names
    }
    return files, [
        {"query": query["text"], "paths": list(map(file_of, relevant[query["_id"]]))} for query in queries
    ]


def listed(place: Path) -> None:
    """Texts and questions of verdict_fitted.jsonl."""
    texts, questions = dict[str, dict[str, str]](), dict[str, list[dict[str, Any]]]()
    for row in map(json.loads, (HERE / "verdict_fitted.jsonl").read_text("utf-8").splitlines()):
        if "text" in row:
            texts.setdefault(row["folder"], {})[row["path"]] = row["text"]
        elif "query" in row:
            questions.setdefault(row["folder"], []).append(row)
    for name, asked in questions.items():
        if name in texts or (place / name / "files").is_dir():
            put(place / name, texts.get(name, {}), asked)


def put(folder: Path, files: dict[str, str], questions: list[dict[str, Any]]) -> None:
    for name, text in files.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_text(text, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions, indent=1), encoding="utf-8")


def file_of(name: str) -> str:
    return re.sub(r"\W", "_", name) + ".md"


# Asking


def collection(
    folder: Path, name: str, questions: dict[str, list[dict[str, Any]]], sizes: Sequence[int]
) -> Iterator[Asked]:
    """Ask all questions of a collection, and those with an answer of each subset."""
    draw = random.Random(name)
    index = Index.build(folder / "files", index=str(folder / "index"), offline=True)
    kin = set().union({name}, *(group for group in RELATED if name in group))
    far = [one["query"] for other in questions if other not in kin for one in questions[other]]
    yield from ask(index, name, False, questions[name], draw.sample(far, min(FAR, len(far))))
    documents = [
        path.relative_to(folder / "files").as_posix()
        for path in sorted((folder / "files").rglob("*"))
        if path.is_file()
    ]
    answering = sorted({path for one in questions[name] for path in one.get("paths", ())} & {*documents})
    for size in (size for size in sizes for _ in range(DRAWS) if size < len(documents) / 1.6):
        chosen = set(draw.sample(answering, min(len(answering), max(2, size // 2))))
        chosen |= set(draw.sample(sorted({*documents} - chosen), size - len(chosen)))
        own = [one for one in questions[name] if one.get("paths") and {*one["paths"]} <= chosen]
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(folder / "files", Path(place) / "files")
            shutil.copytree(folder / "index", Path(place) / "index")  # so nothing is encoded again
            part = Index.open(str(Path(place) / "index"), offline=True)
            part.move(Path(place) / "files")
            for path in {*documents} - chosen:
                (Path(place) / "files" / path).unlink()
            part.update()
            yield from ask(part, name, True, own, draw.sample(far, min(FAR_OF_SUBSET, len(far))))


def ask(
    index: Index, name: str, subset: bool, questions: Sequence[dict[str, Any]], far: Sequence[str]
) -> Iterator[Asked]:
    """Ask questions of an index, of its passages without the answers, and questions of others."""
    with Store(index.path).reading() as snapshot:
        ids = snapshot.ids()
        if len(ids) < verdict.FIRST_HITS:
            return
        places = [passage.document for passage in snapshot.stored(ids.tolist()).values()]
        texts = [letters(passage.text) for passage in snapshot.stored(ids.tolist()).values()]
        first = 3 if len(ids) < 60 else 5
        for one in questions:
            spans = list(map(letters, one.get("spans", ())))
            gold = [
                place in one.get("paths", ())
                or any(span[:60] in text or span[-60:] in text for span in spans)
                for place, text in zip(places, texts, strict=True)
            ]
            rest = ids[~np.array(gold)]
            if any(gold):
                hits, figures = best_of(snapshot, one["query"])
                if np.isin(hits[:first], ids[gold]).any():
                    yield Asked(name, subset, "answered", figures)
            if len(rest) >= verdict.FIRST_HITS:
                yield Asked(name, subset, "near", best_of(snapshot, one["query"], rest)[1])
        for query in far:
            yield Asked(name, subset, "far", best_of(snapshot, query)[1])


def best_of(
    snapshot: Snapshot, text: str, among: NDArray[np.int64] | None = None
) -> tuple[list[int], tuple[float, float, float]]:
    """Return the ids of the best passages, and the figures of the verdict."""
    fusion = Fusion(snapshot, encoded(text), Ranking.of(), among)
    best = fusion.top(verdict.FIRST_HITS)
    return [item.passage for item in best], verdict.figures(snapshot, fusion, best)


@cache
def encoded(text: str) -> EncodedQuery:
    return EncodedQuery(text, encoder().encode([text], role="query", truncate=True)[0])


@cache
def encoder() -> Encoder:
    return Encoder(offline=True)


def letters(text: str) -> str:
    return re.sub(r"\W+", " ", text)


# Fitting


def tell(asked: Sequence[Asked]) -> None:
    names = np.array([one.collection for one in asked])
    whole = np.array([not one.subset for one in asked])
    kinds, figures = np.array([one.kind for one in asked]), np.array([one.figures for one in asked])
    weights = weights_of(names, whole, kinds)
    probability = np.zeros(len(asked))
    for name in dict.fromkeys(names):
        others = names != name
        coefficients = fit(figures[others], kinds[others] == "answered", weights[others])
        probability[~others] = told(figures[~others], coefficients)
    columns = "area near | area far | false 'not here' | 'answered' | so though near | so though far | far: 'not here'"
    print(f"| collection | answered | unanswered | {columns} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for name in dict.fromkeys(names):
        chosen = (names == name) & whole
        yes, near, far = (probability[chosen & (kinds == kind)] for kind in ("answered", "near", "far"))
        row = [
            area(yes, near),
            area(yes, far),
            (yes < verdict.PERHAPS).mean(),
            (yes >= verdict.ANSWERED).mean(),
        ]
        row += [
            (near >= verdict.ANSWERED).mean(),
            (far >= verdict.ANSWERED).mean(),
            (far < verdict.PERHAPS).mean(),
        ]
        rows.append(row)
        cells = " | ".join(f"{value:.3f}" for value in row)
        print(f"| {name} | {len(yes)} | {len(near) + len(far)} | {cells} |")
    print("| mean | | | " + " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)) + " |")
    for told_as, chosen, share in (
        ("PERHAPS", kinds == "answered", 0.03),
        ("ANSWERED", kinds != "answered", 0.95),
    ):
        order = np.argsort(probability[chosen])
        sums = np.cumsum(weights[chosen][order])
        least = probability[chosen][order][np.searchsorted(sums, share * sums[-1])]
        print(f"\n{told_as}: {share:.0%} of these are below {least:.3f}")
    print("\n| probability | answered below | near below | far below |\n|---|---|---|---|")
    for cut in CUTS:
        shares = [
            float(weights[(kinds == kind) & (probability < cut)].sum() / weights[kinds == kind].sum())
            for kind in ("answered", "near", "far")
        ]
        print(f"| {cut:.2f} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    every = fit(figures, kinds == "answered", weights)
    print("\nCONSTANT, EXCESS, COVERAGE, LEAD = " + ", ".join(f"{value:.2f}" for value in every))
    now = (verdict.CONSTANT, verdict.EXCESS, verdict.COVERAGE, verdict.LEAD)
    print("in search/ranking/verdict.py: " + ", ".join(map(str, now)))


def weights_of(names: NDArray[Any], whole: NDArray[np.bool_], kinds: NDArray[Any]) -> NDArray[np.float64]:
    """(n,) shares of the questions in the fit."""
    weights, shares = np.zeros(len(names)), {"answered": 1.0, "near": 0.5, "far": 0.5}
    for name in set(names):
        for part in (whole, ~whole):
            for kind, share in shares.items():
                chosen = (names == name) & part & (kinds == kind)
                weights[chosen] = share * (0.4 if name in CHUNKED else 1) / max(1, chosen.sum())
    return weights * len(weights) / weights.sum()


def fit(
    figures: NDArray[np.float64], answered: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Constant and coefficients of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=10_000).fit(figures, answered, sample_weight=weights)
    return np.array([model.intercept_[0], *model.coef_[0]])


def told(figures: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-(coefficients[0] + figures @ coefficients[1:]))))


def area(yes: NDArray[np.float64], no: NDArray[np.float64]) -> float:
    """Area under the ROC curve: how often an answered question is told more than an unanswered one."""
    return float(((yes[:, None] > no).mean() + (yes[:, None] >= no).mean()) / 2)


def fresh(place: Path, path: Path) -> None:
    """Ask questions that nothing was fitted to, of the command's own verdict."""
    rows = list(map(json.loads, path.read_text("utf-8").splitlines()))
    print("\n| folder | question | answered by | rank | verdict |\n|---|---|---|---|---|")
    told_of = []
    for name in dict.fromkeys(row["folder"] for row in rows):
        index = Index.build(place / name, index=str(place / f"{name}.index"), offline=True)
        for row in (row for row in rows if row["folder"] == name and "query" in row):
            hits = index.query(row["query"], k=10)
            given = hits[0].verdict
            rank = next((hit.rank for hit in hits if hit.document in row["paths"]), 0)
            if given:
                told_of.append((bool(row["paths"]), given.probability, given.says))
                cells = name, row["query"], ", ".join(row["paths"]) or "-", rank or "-", given.says
                print(f"| {' | '.join(map(str, cells))}, {given.probability:.2f} |")
    yes = [one for one in told_of if one[0]]
    no = [one for one in told_of if not one[0]]
    roc = area(np.array([one[1] for one in yes]), np.array([one[1] for one in no]))
    for text, some in (("answered", yes), ("unanswered", no)):
        counts = Counter(one[2] for one in some)
        print(f"\n{len(some)} {text}: " + ", ".join(f"{count} {says}" for says, count in counts.items()))
    print(f"\narea under the ROC curve {roc:.3f}")


if __name__ == "__main__":
    main()
