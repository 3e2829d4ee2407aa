"""Embeddings and metadata on disk, and everything that is asked of them.

    protocol.py     what others ask an index for: the seam for other engines
    sqlite.py       all of that from index.db and its segments, one read transaction a snapshot
    held.py         what a process holds of an index: open files, one state
    passages.py     rows of passages, and what models say of them (annotating.py writes it); what a path means;
                    documents.py all of one document
    vectors.py      embeddings in index.db; nearest.py the exact nearest of them, which codes.py chooses;
                    token_vectors.py of those who ask for them
    words.py        the words of passages in index.db; terms.py of texts and queries; bm25.py what they are worth
    postings.py     a block of words: one buffer with the postings of passages; composing.py makes and merges them
    segments.py     what is derived of passages, in files: codes and words; sealing.py makes them
    filters.py      a tree of conditions (conditions.py) -> SQL -> ids; facets.py what there is to filter by
    calibration.py  what random pairs score, and which passages are near everything

    layout.py       where indexes live, and which one a name or folder means
    database.py     connections; a reader's transaction; the key-value table `meta`
    schema.py       the tables of index.db; settings.py the choices that an index is made with
    writer.py       writing: one batch of documents, one transaction
    files.py        names in the folder of an index: links are refused, own names alone deleted; one writer at a time
    checksums.py    content keys, names of documents, spans of markup

The format is described byte by byte in indexes/README.md.
"""
