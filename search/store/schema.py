"""The tables of index.db, format 7, and whether a database is made of these.

SQLite is the only truth: what is not in these tables can be made again from them. indexes/README.md tells what
each column means.

SQLite keeps each table as the statement that made it, and somebody who made an index to do harm may have put a view
that never ends in a table's place, or a trigger beside it. So these statements are compared before anything is asked.
"""

from __future__ import annotations

import re
import sqlite3

_TABLES = {
    "meta": "key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL",
    "files": """id INTEGER PRIMARY KEY NOT NULL, path BLOB NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, sha256 TEXT, status TEXT NOT NULL, checksum INTEGER NOT NULL""",
    "skipped": """path BLOB NOT NULL, record INTEGER NOT NULL, stage TEXT NOT NULL, reason TEXT NOT NULL,
        detail TEXT NOT NULL, PRIMARY KEY (path, record, stage)""",
    "documents": """id INTEGER PRIMARY KEY NOT NULL, file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
        record INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
        encoding TEXT NOT NULL, sha256 TEXT NOT NULL, checksum INTEGER NOT NULL""",
    "passages": """id INTEGER PRIMARY KEY NOT NULL,
        document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, heading TEXT NOT NULL,
        context TEXT NOT NULL, text TEXT NOT NULL, n_tokens INTEGER NOT NULL, page INTEGER, hidden TEXT NOT NULL,
        checksum INTEGER NOT NULL""",
    "embeddings": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vector BLOB NOT NULL, checksum INTEGER NOT NULL, content BLOB NOT NULL, text_key INTEGER NOT NULL""",
    "token_vectors": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vectors BLOB NOT NULL, checksum INTEGER NOT NULL""",
    "annotators": """name TEXT PRIMARY KEY NOT NULL, made_with TEXT NOT NULL, fields TEXT NOT NULL,
        checksum INTEGER NOT NULL""",
    "annotations": """passage INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        annotator TEXT NOT NULL REFERENCES annotators(name) ON DELETE CASCADE, "values" TEXT NOT NULL,
        spans TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (passage, annotator)""",
    "segments": """id INTEGER PRIMARY KEY NOT NULL, file TEXT NOT NULL, "first" INTEGER NOT NULL,
        "last" INTEGER NOT NULL, count INTEGER NOT NULL, peak INTEGER NOT NULL, error INTEGER NOT NULL,
        codes_crc INTEGER NOT NULL, words_size INTEGER NOT NULL, words_crc INTEGER NOT NULL,
        checksum INTEGER NOT NULL""",
    "words": """"first" INTEGER PRIMARY KEY NOT NULL, "last" INTEGER NOT NULL, count INTEGER NOT NULL,
        block BLOB NOT NULL, checksum INTEGER NOT NULL""",
    "tombstones": "passage INTEGER PRIMARY KEY NOT NULL, checksum INTEGER NOT NULL",
    "baseline": """id INTEGER PRIMARY KEY NOT NULL, passages INTEGER NOT NULL, queries INTEGER NOT NULL,
        made_with TEXT NOT NULL, pairs BLOB NOT NULL, hubs TEXT NOT NULL, checksum INTEGER NOT NULL""",
}

TABLES = {
    **{f"table {name}": f"CREATE TABLE {name} ({columns}) STRICT" for name, columns in _TABLES.items()},
    "index files_path": "CREATE UNIQUE INDEX files_path ON files (path)",
    "index documents_record": "CREATE UNIQUE INDEX documents_record ON documents (file, record)",
    "index passages_tokens": "CREATE INDEX passages_tokens ON passages (n_tokens)",
    "index passages_document": "CREATE INDEX passages_document ON passages (document)",
    "index embeddings_content": "CREATE INDEX embeddings_content ON embeddings (content)",
    "index embeddings_text_key": "CREATE INDEX embeddings_text_key ON embeddings (text_key)",
}

STREAMED = {
    # The ids of a document's passages, and how many words and tokens they have.
    "sent": """document INTEGER PRIMARY KEY NOT NULL, "first" INTEGER NOT NULL, "last" INTEGER NOT NULL,
        words INTEGER NOT NULL, tokens INTEGER NOT NULL""",
    # Passages that are to be deleted on the server; `counted`: their stems were taken from the counts.
    "gone": """"first" INTEGER PRIMARY KEY NOT NULL, "last" INTEGER NOT NULL, counted INTEGER NOT NULL""",
    # In how many passages each stem is; `changed`: the server has another number.
    "stems": "stem TEXT PRIMARY KEY NOT NULL, passages INTEGER NOT NULL, changed INTEGER NOT NULL",
}
"""The tables that an index has besides, if its passages are on a server."""

_LONGEST_STATEMENT = 1000
_MOST_STATEMENTS = 100
_SPACES_AND_QUOTES = re.compile(r"[\s\"'`\[\]]+")


def strange(connection: sqlite3.Connection) -> list[str]:
    """What a database has that is not as here, or lacks: "table meta", "trigger x". One that is empty has nothing."""
    rows = connection.execute(
        f"""SELECT substr(type || ' ' || name, 1, 100), substr(sql, 1, {_LONGEST_STATEMENT}) FROM sqlite_master
            WHERE sql IS NOT NULL LIMIT {_MOST_STATEMENTS}"""
    )
    found = {str(name): _plain(str(statement)) for name, statement in rows}
    found = {name: statement for name, statement in found.items() if _MAY_BE.get(name) != statement}
    return sorted({name for name, _ in found.items() ^ _EXPECTED.items()}) if found else []


def _plain(statement: str) -> str:
    """Without what makes no difference: versions of this program have quoted names in other ways."""
    return _SPACES_AND_QUOTES.sub("", statement).lower()


_MAY_BE = {
    f"table {name}": _plain(f"CREATE TABLE {name} ({columns}) STRICT") for name, columns in STREAMED.items()
}
_EXPECTED = {name: _plain(statement) for name, statement in TABLES.items()}
