"""An index on a Milvus server: the store for what outgrows one machine; see `search.store.protocol`.

    address.py     milvus://host:port/name, and whose name and token the environment has
    client.py      requests: tried again where that may help, errors in words
    layout.py      the collections and their fields
    generation.py  which states there are; one row makes one
    terms.py       words as a server is given them: terms with numbers, and sparse vectors
    sums.py        what a server says of sums of words, and the sums themselves
    words.py       BM25: the words of a state, and the passages that have some
    fields.py      what filters compare of a passage
    filters.py     filters as expressions over that, or refused
    catalogue.py   facets, and documents by name
    store.py       what readers ask

An index in a folder stays what is true; a server holds a copy that many can ask. What is published is written beside
what is there, with the generation in which it was born; a row of the collection of generations makes it answer; what
died is deleted later. So a reader that keeps to one generation sees one state, and a run that is killed changes none.
"""
