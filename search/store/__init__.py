"""Embeddings and metadata on disk, and everything that is asked of them.

    sqlite.py       an open index, and one state of it: all that is asked of them
    passages.py     rows of passages, and what models say of them (annotating.py writes it); places.py what a path means
    status.py       what an index holds of its files, and what random pairs score
    vectors.py      embeddings in index.db, of passages and of tokens; codes.py the exact nearest of them
    terms.py        the words of texts and queries; postings.py blocks of them; bm25.py what they are worth
    segments.py     what is derived of passages, in files: codes and words; how they are made and merged
    filters.py      a tree of conditions (conditions.py) -> SQL -> ids; facets.py what there is to filter by

    layout.py       where indexes live, and which one a name or folder means; opening.py opens it
    database.py     connections, tables, and the key-value table `meta`; settings.py what an index says of itself
    tables.py       rows as they are written; writer.py one batch of documents, one transaction
    files.py        names in the folder of an index: links are refused, own names alone deleted; one writer at a time
    checking.py     what is wrong with an index

The format is described byte by byte in indexes/README.md.
"""
