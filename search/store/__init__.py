"""Embeddings and metadata on disk, and all queries of them.

    sqlite.py       an open index, and snapshots of it: all queries of them
    passages.py     rows of passages, and annotations (annotating.py writes them); places.py resolves paths
    status.py       status of an index and its files, and the null distribution of its scores
    vectors.py      embeddings in index.db, of passages and of tokens; codes.py the exact nearest of them
    terms.py        the words of texts and queries; postings.py blocks of their postings; bm25.py scores
    segments.py     immutable files, derived from passages: codes and postings; flush and compaction
    filters.py      a tree of conditions (conditions.py) -> SQL -> ids; facets.py frequent values to filter by

    layout.py       locations of indexes, by name or folder; opening.py opens one
    database.py     connections, tables, and the key-value table `meta`; settings.py facts about an index
    tables.py       writing rows; writer.py one batch of documents, one transaction
    files.py        names in the folder of an index: links are refused, own names alone deleted; one writer at a time
    checking.py     checks and repair of an index

The format is described byte by byte in indexes/README.md.
"""
