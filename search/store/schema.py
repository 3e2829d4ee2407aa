"""The tables of index.db, format 8.

SQLite is the only truth: what is not in these tables can be made again from them. indexes/README.md tells what
each column means.
"""

from __future__ import annotations

_TABLES = {
    "meta": "key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL",
    "files": """id INTEGER PRIMARY KEY NOT NULL, path BLOB NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, sha256 TEXT, status TEXT NOT NULL""",
    "skipped": """path BLOB NOT NULL, record INTEGER NOT NULL, stage TEXT NOT NULL, reason TEXT NOT NULL,
        detail TEXT NOT NULL, PRIMARY KEY (path, record, stage)""",
    "documents": """id INTEGER PRIMARY KEY NOT NULL, file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
        record INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
        encoding TEXT NOT NULL, sha256 TEXT NOT NULL""",
    "passages": """id INTEGER PRIMARY KEY NOT NULL,
        document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, heading TEXT NOT NULL,
        context TEXT NOT NULL, text TEXT NOT NULL, n_tokens INTEGER NOT NULL, page INTEGER, hidden TEXT NOT NULL""",
    "embeddings": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vector BLOB NOT NULL, content BLOB NOT NULL, text_key INTEGER NOT NULL""",
    "token_vectors": """passage INTEGER PRIMARY KEY NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        vectors BLOB NOT NULL""",
    "annotators": """name TEXT PRIMARY KEY NOT NULL, made_with TEXT NOT NULL, fields TEXT NOT NULL""",
    "annotations": """passage INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
        annotator TEXT NOT NULL REFERENCES annotators(name) ON DELETE CASCADE, "values" TEXT NOT NULL,
        spans TEXT NOT NULL, PRIMARY KEY (passage, annotator)""",
    "segments": """id INTEGER PRIMARY KEY NOT NULL, file TEXT NOT NULL, "first" INTEGER NOT NULL,
        "last" INTEGER NOT NULL, count INTEGER NOT NULL, peak INTEGER NOT NULL, error INTEGER NOT NULL,
        codes_crc INTEGER NOT NULL, words_size INTEGER NOT NULL, words_crc INTEGER NOT NULL""",
    "words": """"first" INTEGER PRIMARY KEY NOT NULL, "last" INTEGER NOT NULL, count INTEGER NOT NULL,
        block BLOB NOT NULL""",
    "tombstones": "passage INTEGER PRIMARY KEY NOT NULL",
    "baseline": """id INTEGER PRIMARY KEY NOT NULL, passages INTEGER NOT NULL, queries INTEGER NOT NULL,
        made_with TEXT NOT NULL, pairs BLOB NOT NULL, hubs TEXT NOT NULL""",
}

TABLES = (
    *(f"CREATE TABLE {name} ({columns}) STRICT" for name, columns in _TABLES.items()),
    "CREATE UNIQUE INDEX files_path ON files (path)",
    "CREATE UNIQUE INDEX documents_record ON documents (file, record)",
    "CREATE INDEX passages_tokens ON passages (n_tokens)",
    "CREATE INDEX passages_document ON passages (document)",
    "CREATE INDEX embeddings_content ON embeddings (content)",
    "CREATE INDEX embeddings_text_key ON embeddings (text_key)",
)

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
