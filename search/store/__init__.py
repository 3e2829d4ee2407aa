"""Storage and retrieval: passages, embeddings and postings on disk.

    snapshot.py     an open index, and snapshots of it: the interface for reading
    passages.py     reads passages and annotations; annotating.py annotates; places.py resolves paths
    status.py       status of an index; file_states.py: state of each file when it was read
    freshness.py    status of a file since it was indexed
    document_text.py  the text of a document, joined from its passages; the lines around a hit
    null_distribution.py  scores of unrelated pairs of a query and a passage
    vectors.py      embeddings of passages in index.db; codes.py finds the exact nearest passages
    pending.py      passages that are stored, but not encoded yet
    token_vectors.py  stored vectors of tokens, for late interaction
    terms.py        words of texts and queries; postings.py stores which passages contain them; bm25.py scores
    word_forms.py   forms of words in other languages than English; query_terms.py: the words of a query in them
    analyzer.py     further words of a text, by a function that a program brings
    document_languages.py  the table of the languages of documents; record_counts.py: of the records in texts
    segments.py     immutable files of codes and postings, derived from passages; flush and compaction
    links.py        links between documents
    filters.py      finds the passages that pass a filter (conditions.py); facets.py counts field values

    layout.py       locations of indexes, by name or folder; opening.py opens an index
    database.py     connections, tables, and the key-value table `meta`; settings.py: facts of an index
    tables.py       writes rows; writer.py writes one batch of documents in one transaction
    files.py        files in the folder of an index: refuses links, deletes only its own files; one writer at a time
    checking.py     checks and repair of an index
    home.py         the user's data folder; commands that messages suggest
    pins.py         the questions that the user has pinned
    contents.py     documents from memory, as far as a file can be read; namespaces.py: their namespaces
    earlier_format.py  an index of an earlier format

The format is described byte by byte in indexes/README.md.
"""
