"""An index on a Milvus server: for what outgrows one machine.

    client.py       milvus://host:port/name; requests: tried again where that may help, errors in words
    collections.py  the collections of an index, and which one answers; passages as rows, and back
    filters.py      filters as expressions, or refused
    writer.py       what a run of indexing writes
    store.py        what readers ask

`seewhy index` streams passages to the server while they are encoded. This machine keeps an `index.db` without passages:
which files there are, which passages (by their ids) each document has on the server, and in how many passages each
stem is. So the next run writes and deletes what changed, and nothing else.

A reader has the server find candidates, by embeddings and by its own full-text search, and fetches these with
embedding and stems. All scores are computed here, by the formula of an index in a folder; so every score adds up,
and only which passages were looked at is the server's word. Such a list is approximate, and is labelled so.
"""
