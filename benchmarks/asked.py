"""A hundred questions over four folders that nobody prepared: where is the answer, and what does the verdict say?

    python benchmarks/asked.py prepare PLACE UNPACKED
    python benchmarks/asked.py ask PLACE [--mode hybrid --mode lexical ...] [--show] [--only FOLDER]
    python benchmarks/asked.py export PLACE EXPORT

The folders are files of Debian packages and files written for this: notes, letters and tables of a household in German;
two manuals in Spanish; changelogs, chats, diaries and logs in English; configuration and code. `asked/questions.jsonl`
has 60 questions with the places that answer them, ten that ask for an identifier, and 30 without an answer. They were
written without any knowledge of the program and its hits, before the changes that they measure.

`prepare` copies the files to PLACE; UNPACKED has a folder for each package of `PACKAGES`, as `dpkg-deb -x` unpacks it.
`ask` indexes them under PLACE and prints, for each folder and kind of question, how often a passage with an answer is
the first hit, among three, and among five, and what the verdict said. `--show` lists the misses. `export` writes the
passages, vectors and questions with an answer for another program, asked_txtai.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline

from search import Index
from search.records.contents import StoredPassage
from search.records.hits import Hit
from search.records.options import Mode
from search.store.snapshot import Store

HERE = Path(__file__).parent / "asked"
FOLDERS = ("deutsch", "espanol", "logs", "config")
# Package and version of Debian 12, files in it, and the folder that they are copied to.
PACKAGES = (
    ("developers-reference-de 12.18", "usr/share/developers-reference/de/*.html", "deutsch/entwickler"),
    ("aptitude-doc-es 0.8.13-5", "usr/share/doc/aptitude/html/es/*.html", "espanol/aptitude"),
    ("maint-guide-es 1.2.53", "usr/share/doc/maint-guide-es/html/*.html", "espanol/guia"),
    ("exim4-base 4.96-15+deb12u11", "usr/share/doc/exim4-base/[cN][hE]*[gn].gz", "logs/exim"),
    ("mutt 2.2.12-0.1~deb12u2", "usr/share/doc/mutt/NEWS*", "logs/mutt"),
    ("mutt 2.2.12-0.1~deb12u2", "usr/share/doc/mutt/README*", "logs/mutt"),
    ("mutt 2.2.12-0.1~deb12u2", "usr/share/doc/mutt/changelog.Debian.gz", "logs/mutt"),
    ("haproxy 2.6.12-1+deb12u4", "usr/share/doc/haproxy/*.Debian.gz", "logs/haproxy"),
    ("fail2ban 1.0.2-2", "etc/fail2ban/**/*", "config/fail2ban"),
    ("fail2ban 1.0.2-2", "usr/lib/python3/dist-packages/fail2ban/**/*", "config/fail2ban-python"),
    ("nginx-common 1.22.1-9+deb12u11", "etc/nginx/**/*", "config/nginx"),
    ("postgresql-common 248+deb12u2", "etc/postgresql-common/**/*", "config/postgresql-common"),
    ("postgresql-common 248+deb12u2", "usr/**/bin/*", "config/postgresql-common"),
    ("haproxy 2.6.12-1+deb12u4", "usr/share/doc/haproxy/examples/*.cfg", "config/haproxy-examples"),
    ("php8.2-common 8.2.36-1~deb12u1", "usr/lib/php/8.2/php.ini-production", "config"),
)
LEFT_OUT = {"genindex.html", "search.html"}
FIRST = 5


@dataclass(frozen=True)
class Asked:
    """A question with its first hits.

    Attributes:
        kind: "spoken", "words" (other words than the text has), "exact" or "code".
        rank: of the first hit with an answer; 0 if there is none among the first five, None if there is no answer.
    """

    folder: str
    kind: str
    query: str
    rank: int | None
    hits: Sequence[Hit]

    @property
    def says(self) -> str:
        verdict = self.hits[0].verdict if self.hits else None
        return verdict.says if verdict else "nothing said"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("prepare", "ask", "export"))
    parser.add_argument("place", type=Path)
    parser.add_argument("other", type=Path, nargs="?", metavar="UNPACKED|EXPORT")
    parser.add_argument("--mode", action="append", default=None)
    parser.add_argument("--only", choices=FOLDERS, default=None)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if args.action == "prepare":
        if args.other is None:
            parser.error("name the folder with the unpacked packages: " + ", ".join(sorted(names())))
        prepare(args.place, args.other)
        return
    print(headline("torch", "openvino", "faiss-cpu"))
    indexes = dict(indexed(args.place, [args.only] if args.only else FOLDERS))
    if args.action == "export":
        for folder, index in indexes.items():
            export(folder, index, args.other)
        return
    for mode in args.mode or ["hybrid"]:
        asked = list(ask(indexes, mode))
        print(f"\n## {mode}\n")
        print("\n".join(table(asked)))
        print("\n".join(verdicts(asked)))
        if args.show:
            print("\n".join(misses(asked)))


def names() -> set[str]:
    return {package.split()[0] for package, _, _ in PACKAGES}


def prepare(place: Path, unpacked: Path) -> None:
    """Copy the files of the packages, and those written for this, to a place."""
    for folder in FOLDERS:
        own = HERE / folder
        if own.is_dir():
            shutil.copytree(own, place / folder, dirs_exist_ok=True)
    for package, pattern, target in PACKAGES:
        root = unpacked / package.split()[0]
        base = root / pattern.split("*")[0]
        base = base if base.is_dir() else base.parent
        for file in sorted(root.glob(pattern)):
            if file.is_file() and file.name not in LEFT_OUT:
                path = place / target / (file.relative_to(base) if "**/*" in pattern else file.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, path)


def indexed(place: Path, folders: Iterable[str]) -> Iterator[tuple[str, Index]]:
    for folder in folders:
        started = time.process_time()
        index = place / "indexes" / folder
        built = Index.build(place / folder, index=str(index))
        status = built.status()
        print(
            f"{folder}: {status.documents} documents, {status.passages} passages, "
            f"{time.process_time() - started:.1f} s of processor time"
        )
        yield folder, built


def questions() -> list[dict[str, Any]]:
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def ask(indexes: dict[str, Index], mode: Mode) -> Iterator[Asked]:
    for one in questions():
        if one["folder"] in indexes:
            hits = indexes[one["folder"]].query(one["query"], k=FIRST, mode=mode)
            ranks = [hit.rank for hit in hits if answers(hit, one["answers"])]
            rank = (ranks or [0])[0] if one["answers"] else None
            yield Asked(one["folder"], one["kind"], one["query"], rank, hits)


def export(folder: str, index: Index, place: Path) -> None:
    """Write texts (with title and headings) and vectors of the passages, and the questions with their answers."""
    with Store(index.path).reading() as snapshot:
        ids = snapshot.ids().tolist()
        passages, vectors = list(snapshot.stored(ids).values()), snapshot.embeddings(ids)
    asked = [one for one in questions() if one["folder"] == folder and one["answers"]]
    rows = [
        {
            "query": one["query"],
            "answers": [at for at, passage in enumerate(passages) if answers(passage, one["answers"])],
        }
        for one in asked
    ]
    path = place / folder
    path.mkdir(parents=True, exist_ok=True)
    texts = [f"{passage.context}\n{passage.visible_text}".strip() for passage in passages]
    (path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    np.save(path / "vectors.npy", vectors)
    np.save(path / "queries.npy", index.encoder.encode([row["query"] for row in rows], role="query"))


def answers(hit: StoredPassage, places: Iterable[dict[str, str]]) -> bool:
    """Return True if a hit holds what one of the places says, whatever its line breaks."""
    text = words_of(f"{hit.context} {hit.text}")
    return any(
        hit.document.startswith(place["path"]) and words_of(place["says"]) in text for place in places
    )


def words_of(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text).split()).casefold()


def table(asked: Sequence[Asked]) -> Iterator[str]:
    yield "| folder | kind | questions | first | in 3 | in 5 |"
    yield "|---|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in asked:
        if one.rank is not None:
            groups[one.folder, one.kind].append(one.rank)
            groups["all", "code" if one.kind == "code" else "others"].append(one.rank)
    for (folder, kind), ranks in sorted(
        groups.items(), key=lambda group: (group[0][0] == "all", group[0])
    ):
        within = (sum(0 < rank <= k for rank in ranks) for k in (1, 3, FIRST))
        yield f"| {folder} | {kind} | {len(ranks)} | {' | '.join(map(str, within))} |"


def verdicts(asked: Sequence[Asked]) -> Iterator[str]:
    yield "\n| question | verdict: how often |"
    yield "|---|---|"
    for name, chosen in (
        ("has an answer, right in five", [one for one in asked if one.rank]),
        ("has an answer, not in five", [one for one in asked if one.rank == 0]),
        ("has no answer", [one for one in asked if one.rank is None]),
    ):
        counts = Counter(one.says for one in chosen).most_common()
        yield f"| {name} | {', '.join(f'{claim}: {count}' for claim, count in counts)} |"


def misses(asked: Sequence[Asked]) -> Iterator[str]:
    for one in asked:
        if one.rank is not None and one.rank != 1:
            yield f"\n{one.folder}, {one.kind}, rank {one.rank or 'above 5'}: {one.query}"
            for hit in one.hits[:3]:
                lexical = hit.lexical or 0.0
                cosine = hit.cosine or 0.0
                yield f"  {hit.score:.3f} {cosine:.3f} {lexical:.3f} {hit!r}: {hit.visible_text[:90]!r}"


if __name__ == "__main__":
    main()
