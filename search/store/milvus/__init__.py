"""An index on a Milvus server, for collections that outgrow one machine.

    client.py       milvus://host:port/name; requests with retries and readable errors
    collections.py  the collections of an index, and the active one; conversion of passages to rows and back
    filters.py      translates filters into expressions, or refuses them
    writer.py       writes an index
    store.py        reads it

`seewhy index` streams passages to the server while they are encoded. This machine keeps an `index.db` with the files,
the IDs of each document's passages on the server, and the number of passages with each stem, but not the passages. So
the next run writes and deletes only what has changed.

For a query, the server finds candidates by embeddings and by its own full-text search, and returns them with their
embeddings and stems. This machine computes all scores with the same formula as for an index in a folder, so every score
adds up. But the server chooses the candidates, so the list of hits is labelled as approximate.
"""
