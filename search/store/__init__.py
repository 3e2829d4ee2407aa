"""Embeddings and metadata on disk, and everything that is asked of them.

    layout.py    where indexes live, and which one a name or folder means
    schema.py    the tables of index.db, as named migrations
    database.py  connections; a reader's transaction; the key-value table `meta`
    lock.py      one writer at a time
    faiss_file.py  the FAISS file: written whole, loaded, rebuilt from index.db; flat.py searches it
    lexicon.py   the words of the passages, an FTS5 table; terms.py texts as it sees them, and the words of a query
    baseline.py  what random pairs score, and which passages are near everything; sampling.py draws them
    stored_vectors.py  the embeddings in index.db
    token_vectors.py  the vectors of all tokens, for those who ask for them
    annotations.py  what models have said of passages, for filters; annotating.py writes it
    protocol.py  what others ask an index for: the seam for other engines
    sqlite.py    all of that from index.db and its FAISS file, one read transaction a snapshot
    passages.py  rows of passages, what a path, line or record means, and what an index holds
    writer.py    writing: one batch of documents, one transaction
    settings.py  the choices that an index is made with
    checksums.py a checksum for every row
    storage.py   whether a place is fit to keep an index in
    health/      check and repair

The format is described byte by byte in indexes/README.md.
"""
