"""Languages of documents, in a table of its own.

Table `languages` has a row for each document in a language that was recognised. An index that was made before there was
such a table has none until a document is stored: nothing in it has a language, and its words are stemmed as English.
"""

from __future__ import annotations

import sqlite3

from search.store.database import has_table
from search.store.word_forms import stemmed

LANGUAGES = """document INTEGER PRIMARY KEY NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
               lang TEXT NOT NULL"""
"""Columns of table `languages`."""

_OF_PASSAGE = (
    """SELECT lang FROM languages WHERE document = (SELECT document FROM passages WHERE id = ?)"""
)


def create_languages(connection: sqlite3.Connection) -> None:
    """Create the table of languages if there is none, within an open transaction."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS languages ({LANGUAGES}) STRICT")
    connection.execute("CREATE INDEX IF NOT EXISTS languages_by_lang ON languages (lang)")


def stemmed_languages(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the languages of the index, other than English, of which words have forms."""
    if not has_table(connection, "languages"):
        return frozenset()
    languages, last = [], ""
    while True:
        (last,) = connection.execute("SELECT min(lang) FROM languages WHERE lang > ?", (last,)).fetchone()
        if last is None:
            break
        languages.append(last)
    return stemmed(languages)


def language_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return language -> number of documents, the most frequent first."""
    if not has_table(connection, "languages"):
        return {}
    rows = connection.execute("SELECT lang, count(*) FROM languages GROUP BY lang ORDER BY 2 DESC, 1")
    return dict(rows.fetchall())


def main_language(connection: sqlite3.Connection) -> str:
    """Return the language of more than half of the documents; "" if there is none."""
    (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    for language, count in language_counts(connection).items():
        if 2 * count > documents:
            return language
    return ""


def language_of_passage(connection: sqlite3.Connection, passage: int) -> str:
    """Return the language of the document of a passage; "" if it is not known."""
    if not has_table(connection, "languages"):
        return ""
    row = connection.execute(_OF_PASSAGE, (passage,)).fetchone()
    return str(row[0]) if row else ""
