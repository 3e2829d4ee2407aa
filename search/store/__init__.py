"""Embeddings and metadata on disk, and everything that is asked of them.

    protocol.py     what others ask an index for: the seam for other engines
    sqlite.py       all of that from index.db and its FAISS file, one read transaction a snapshot
    passages.py     rows of passages; what a path, line or record means
    vectors.py      embeddings in index.db, exact search among vectors; faiss_file.py the file that is quick to search
    lexicon.py      the words of the passages, an FTS5 table; postings.py of single terms, kept; terms.py of a query
    filters.py      a tree of conditions (conditions.py) -> SQL -> ids
    calibration.py  what random pairs score, and which passages are near everything
    token_vectors.py  the vectors of all tokens, for those who ask for them
    annotations.py  what models have said of passages; annotating.py writes it

    layout.py       where indexes live, and which one a name or folder means
    database.py     connections; a reader's transaction; the key-value table `meta`
    schema.py       the tables of index.db; settings.py the choices that an index is made with
    writer.py       writing: one batch of documents, one transaction; lock.py one writer at a time
    files.py        the names in the folder of an index: links are refused, own names alone deleted
    checksums.py    a checksum for every row
    health.py       what is wrong with an index: its rows, and what is derived of them (derived.py); mend.py repairs

The format is described byte by byte in indexes/README.md.
"""
