"""A user's own judgements: a CSV or TSV file with the columns query, path and, if wanted, relevance.

A row says that the document at that path answers the query. Paths are written as for `seewhy why-not`: from the
indexed folder, from the current one, or whole; "table.csv#12" is a record.
"""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.evaluating.dataset import Query, Retrieval
from search.evaluating.formats.strict import add_grade, grade_in, malformed, table


def read_judgements(path: Path) -> Retrieval:
    """The file's queries are numbered from 1, in the order in which they first come.

    Raises:
        InputError: something is malformed, with file and line; or there is no judgement.
    """
    ids: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    first: dict[str, int] = {}
    for line, row in table(path, ("query", "path"), ("relevance",)):
        query, document = row["query"].strip(), row["path"].strip()
        for name, value in (("query", query), ("path", document)):
            if not value:
                raise malformed(path, line, f"the {name} is empty.")
        grade = grade_in(path, line, row["relevance"]) if "relevance" in row else 1
        add_grade(judgements, path, line, ids.setdefault(query, str(len(ids) + 1)), document, grade)
        first.setdefault(document, line)
    if not judgements:
        raise InputError(
            f"{path} holds no judgement. Write a line for each query and a document that answers it."
        )
    return Retrieval(
        name=path.stem,
        source=path,
        split="",
        queries=tuple(Query(id_, text) for text, id_ in ids.items()),
        judgements=judgements,
        lines=first,
    )
