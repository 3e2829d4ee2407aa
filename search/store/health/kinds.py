"""What can be wrong with an index, by kind, and how often each was found.

A kind belongs to one check and has one severity. A tally keeps, for each kind, the rows that a repair
must look at and a few names for people.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from search.records.reports import Finding, Severity

EXAMPLES = 5

# The checks, in the order in which they are made and reported, and what is said when all is well.
CHECKS = {
    "database": "SQLite finds no fault in index.db",
    "format": "the tables are those of this version",
    "settings": "folder, model and settings can be read",
    "links": "every row belongs to one that is there",
    "files": "every row of a file is as it was written",
    "documents": "every row of a document is as it was written",
    "passages": "every passage is as it was written",
    "embeddings": "every embedding is as it was written, of length 1, and belongs to its passage",
    "counts": "no passage is missing and no number will be used twice",
    "words": "the table of words holds the words of the passages",
    "baseline": "the sample of random pairs is as it was written",
    "token vectors": "all token vectors are as they were written",
    "annotations": "every annotation is as it was written, and its spans are in its passage",
    "vectors": "the FAISS file holds what index.db holds",
    "queries": "a sample of queries finds what brute force finds",
    "leftovers": "no file lies about",
    "run": "the last run came to its end",
    "sources": "the files of the folder are those that were indexed",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """One way in which an index can be wrong.

    Attributes:
        one, many: the sentence for one and for several, where "{n}" is their number.
        way_out: "repair", "index" (bring it up to date), "rebuild", "upgrade" (of the program), or "".
    """

    check: str
    severity: Severity
    one: str
    many: str
    way_out: str = "repair"


KINDS = {
    "database unreadable": Kind("database", "damaged", "SQLite cannot read index.db", "", "rebuild"),
    "database fault": Kind(
        "database", "damaged", "SQLite finds a fault in index.db", "SQLite finds {n} faults in index.db", "rebuild"
    ),
    "table unreadable": Kind(
        "database", "damaged", "a part of index.db cannot be read", "{n} parts of index.db cannot be read", "rebuild"
    ),
    "no tables": Kind("format", "stale", "the index was begun and never filled", "", "index"),
    "emptied": Kind("format", "damaged", "index.db is empty, though there was an index", "", "rebuild"),
    "foreign": Kind("format", "damaged", "index.db is a database, but not of this program", "", "rebuild"),
    "older format": Kind("format", "damaged", "the index has the format of an earlier version", "", "rebuild"),
    "newer format": Kind("format", "damaged", "the index has the format of a later version", "", "upgrade"),
    "schema": Kind(
        "format", "damaged", "a table is not as it should be", "{n} tables are not as they should be", "rebuild"
    ),
    "setting": Kind("settings", "damaged", "an entry is damaged or missing", "{n} entries are damaged or missing"),
    "orphan document": Kind(
        "links", "damaged", "a document belongs to no file", "{n} documents belong to no file"
    ),
    "orphan passage": Kind(
        "links", "damaged", "a passage belongs to no document", "{n} passages belong to no document"
    ),
    "orphan embedding": Kind(
        "links", "damaged", "an embedding belongs to no passage", "{n} embeddings belong to no passage"
    ),
    "orphan token_vector": Kind(
        "links", "damaged", "token vectors belong to no passage", "{n} rows of token vectors belong to no passage"
    ),
    "orphan annotation": Kind(
        "links", "damaged", "an annotation belongs to no passage or annotator",
        "{n} annotations belong to no passage or annotator",
    ),
    "file": Kind("files", "damaged", "the row of a file is damaged", "the rows of {n} files are damaged"),
    "file without documents": Kind(
        "files", "damaged", "a file that gave text has no document", "{n} files that gave text have no document"
    ),
    "document": Kind(
        "documents", "damaged", "the row of a document is damaged", "the rows of {n} documents are damaged"
    ),
    "passage": Kind(
        "passages", "damaged", "the row of a passage is damaged", "the rows of {n} passages are damaged"
    ),
    "no embedding": Kind(
        "embeddings", "damaged", "a passage has no embedding", "{n} passages have no embedding"
    ),
    "embedding length": Kind(
        "embeddings", "damaged", "an embedding has the wrong length", "{n} embeddings have the wrong length"
    ),
    "embedding checksum": Kind(
        "embeddings", "damaged", "an embedding is not the one that was written",
        "{n} embeddings are not those that were written",
    ),
    "embedding value": Kind(
        "embeddings", "damaged", "an embedding holds NaN or infinity, or is not of length 1",
        "{n} embeddings hold NaN or infinity, or are not of length 1",
    ),
    "embedding content": Kind(
        "embeddings", "damaged", "an embedding belongs to another text",
        "{n} embeddings belong to other texts",
    ),
    "passage count": Kind("counts", "damaged", "passages are missing, or too many", "", "rebuild"),
    "sequence": Kind("counts", "damaged", "the next passage would get a number that was used before", ""),
    "words": Kind(
        "words", "damaged", "the table of words is not what it should be; queries are exact without it, only slower", ""
    ),
    "baseline": Kind(
        "baseline", "damaged", "the sample of random pairs is damaged; without it hits have no percentiles", ""
    ),
    "token vectors": Kind(
        "token vectors", "damaged", "the token vectors of a passage are damaged; they are not used",
        "the token vectors of {n} passages are damaged; they are not used",
    ),
    "annotator": Kind(
        "annotations", "damaged", "what is recorded of an annotator is damaged",
        "what is recorded of {n} annotators is damaged",
    ),
    "annotation": Kind(
        "annotations", "damaged", "an annotation is not the one that was written",
        "{n} annotations are not those that were written",
    ),
    "no vectors": Kind(
        "vectors", "stale", "there is no FAISS file; queries are exact without it, only slower", ""
    ),
    "vectors row": Kind("vectors", "damaged", "what is recorded of the FAISS file is damaged", ""),
    "tombstones": Kind(
        "vectors", "damaged", "a passage is wrongly taken for deleted, or for not deleted",
        "{n} passages are wrongly taken for deleted, or for not deleted",
    ),
    "vectors file": Kind(
        "vectors", "damaged", "the FAISS file is damaged or missing; queries are exact without it, only slower", ""
    ),
    "vectors differ": Kind(
        "vectors", "damaged", "the FAISS file lacks a passage or holds another embedding for it",
        "the FAISS file lacks {n} passages or holds other embeddings for them",
    ),
    "query": Kind(
        "queries", "damaged", "a query does not find what brute force finds",
        "{n} queries do not find what brute force finds",
    ),
    "leftover": Kind(
        "leftovers", "stale", "a file of a run that was stopped lies about",
        "{n} files of a run that was stopped lie about",
    ),
    "unfinished": Kind("run", "stale", "the last run was stopped before its end", "", "index"),
    "no folder": Kind("sources", "stale", "the folder is not there now", "", ""),
    "changed": Kind("sources", "stale", "a file has changed since", "{n} files have changed since", "index"),
    "changed secretly": Kind(
        "sources", "stale", "a file has other content at the same size and time",
        "{n} files have other content at the same size and time", "verify",
    ),
    "new": Kind("sources", "stale", "a file is new", "{n} files are new", "index"),
    "gone": Kind("sources", "stale", "a file is gone or left out now", "{n} files are gone or left out now", "index"),
}  # fmt: skip


@dataclass
class Tally:
    """How often each kind was found, in which rows, with a few names."""

    counts: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str = "", row: int | None = None) -> None:
        """Count one. `row` is the id that a repair needs; `name` is kept while there are few."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if row is not None:
            self.rows.setdefault(kind, []).append(row)
        if name and self.wants_name(kind):
            self.examples.setdefault(kind, []).append(name)

    def wants_name(self, kind: str) -> bool:
        """Whether another name is of use; looking one up may cost a query."""
        return len(self.examples.get(kind, ())) < EXAMPLES

    def rows_of(self, *kinds: str) -> list[int]:
        """Rows of several kinds, each once, in order."""
        return sorted({row for kind in kinds for row in self.rows.get(kind, ())})

    def __contains__(self, kind: str) -> bool:
        return kind in self.counts

    @property
    def damaged(self) -> bool:
        return any(KINDS[kind].severity == "damaged" for kind in self.counts)

    def findings(self, made: dict[str, str], ways_out: dict[str, str]) -> tuple[Finding, ...]:
        """Findings in the order of CHECKS and KINDS.

        Args:
            made: the checks that were made, each with the sentence for when it found nothing.
            ways_out: the command for each `way_out`.
        """
        found = []
        for check in CHECKS:
            kinds = [kind for kind in KINDS if kind in self.counts and KINDS[kind].check == check]
            for name in kinds:
                kind, n = KINDS[name], self.counts[name]
                sentence = kind.one if n == 1 or not kind.many else kind.many.format(n=f"{n:,}")
                found.append(
                    Finding(
                        check,
                        kind.severity,
                        n,
                        sentence,
                        tuple(self.examples.get(name, ())),
                        ways_out.get(kind.way_out, ""),
                    )
                )
            if not kinds and check in made:
                found.append(Finding(check, "ok", 0, made[check]))
        return tuple(found)
