"""What `seewhy check` and `seewhy repair` need of the database; the two are in search/indexing/, as they read files.

kinds.py    what can be wrong, by kind, and how often each was found
rows.py     every row of index.db, looked at
derived.py  what is derived of the rows: FAISS file, queries, words, token vectors, random pairs; and own files
mend.py     the single steps of a repair
"""
