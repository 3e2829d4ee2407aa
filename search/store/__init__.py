"""Embeddings and metadata on disk, and everything that is asked of them.

    protocol.py     what others ask an index for: the seam for other engines
    sqlite.py       all of that from index.db and its FAISS file, one read transaction a snapshot
    passages.py     rows of passages, and what models say of them (annotating.py writes it); what a path means
    vectors.py      embeddings in index.db, exact search among vectors; faiss_file.py the file that is quick to search
    lexicon.py      the words of the passages, an FTS5 table; what it says of single terms; terms.py of a query
    postings.py     a block of words: one buffer with the postings of passages; composing.py makes and merges them,
                    bm25.py scores passages by them
    filters.py      a tree of conditions (conditions.py) -> SQL -> ids
    calibration.py  what random pairs score, and which passages are near everything

    layout.py       where indexes live, and which one a name or folder means
    database.py     connections; a reader's transaction; the key-value table `meta`
    schema.py       the tables of index.db; settings.py the choices that an index is made with
    writer.py       writing: one batch of documents, one transaction
    files.py        names in the folder of an index: links are refused, own names alone deleted; one writer at a time
    checksums.py    a checksum for every row
    health.py       what is wrong with an index: its rows, and what is derived of them (derived.py); mend.py repairs

The format is described byte by byte in indexes/README.md.
"""
