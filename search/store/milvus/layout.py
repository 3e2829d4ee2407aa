"""The collections of an index on Milvus, and their fields.

    seewhy_NAME_generations      generations: PK `key`, "GENERATION/PART"; the row of part 0 is written last, and with
                                 it the generation is there. `content` is JSON, cut into parts as a value has a limit
    seewhy_NAME_STAMP_passages   a row for each version of a passage, PK `key`, "ID@BORN"
    seewhy_NAME_STAMP_documents  a row for each version of a document, PK `key`, "ID@BORN"
    seewhy_NAME_STAMP_terms      a row for each version of a term, PK `key`, "NUMBER@BORN"

A row is of the generations from `born` to before `died`; `ALIVE` is the `died` of what has not died. STAMP is another
one when all is written anew: with another fingerprint, or a mean length that has moved too far (words.py).
Every row has checksums of what its fields say (`row_checksum`), compared when they are used: of a passage three, as
what is near, what has words and what is shown are asked for apart (rows.py).
"""

from __future__ import annotations

import re
from typing import Final

FORMAT: Final = 1
ALIVE: Final = 2**62

# The server's limits. https://milvus.io/docs/limitations.md
MOST_HITS: Final = 16_384  # of one search or query
LONGEST: Final = 65_535  # bytes of a text
MOST_AT_ONCE: Final = 500  # rows of one request to write, of some kilobytes each; one takes at most 64 MB

# Fields of passages
KEY: Final = "key"
BORN: Final = "born"
DIED: Final = "died"
PASSAGE: Final = "passage"  # INT64, its id
DOCUMENT: Final = "document"  # INT64, its document's id
COPY: Final = "copy"  # INT64, the key of its text, 0 for none; see search.store.copies
CONTENT: Final = "content"  # VARCHAR, hexadecimal: `content_key` of its context and shown text
ROW: Final = "row"  # VARCHAR: the rest as JSON, from which a StoredPassage is made, annotations and all
FIELDS: Final = "fields"  # JSON: what filters compare; see fields.py
LENGTH: Final = "length"  # INT64: its tokens, as BM25 counts them
DENSE: Final = "dense"  # FLOAT_VECTOR, its embedding
SPARSE: Final = "sparse"  # SPARSE_FLOAT_VECTOR: number of a term -> its saturation; {0: 1.0} without a word
CHECKSUM: Final = (
    "checksum"  # INT64: of PASSAGE, DOCUMENT, COPY, CONTENT and ROW; of other rows, of all they say
)
DENSE_CHECKSUM: Final = "dense_checksum"  # INT64: of PASSAGE and the embedding's bytes
SPARSE_CHECKSUM: Final = (
    "sparse_checksum"  # INT64: of PASSAGE, LENGTH and how often each term is there; see terms.py
)

# Fields of documents: KEY, BORN, DIED, DOCUMENT, ROW, NOTHING, CHECKSUM (of DOCUMENT, FILE and ROW), and
FILE: Final = "file"  # VARCHAR, hexadecimal: of its file's name, `file_key` of rows.py, to find it by

# Fields of terms
TERM: Final = "term"  # VARCHAR of LONGEST_TERM: the key of a stem, see terms.py
LONGEST_TERM: Final = 256
NUMBER: Final = "number"  # INT64, from 1: its place in sparse vectors
COUNT: Final = "count"  # INT64: in how many passages it is

# Fields of generations, beside KEY, CONTENT and CHECKSUM
GENERATION: Final = "generation"  # INT64, its number
PART: Final = "part"  # INT64, from 0
PARTS: Final = "parts"  # INT64, how many there are

WAY_OUT: Final = "Write all of it anew with: seewhy index FOLDER --store-anew"

# Every collection has to have a vector; those without a use for one have this of two numbers.
NOTHING: Final = "nothing"


def generations(name: str) -> str:
    """The collection of an index's generations."""
    return f"seewhy_{name}_generations"


def collection(name: str, stamp: int, kind: str) -> str:
    """The collection of an index's "passages", "documents" or "terms"."""
    return f"seewhy_{name}_{stamp}_{kind}"


def stamp_of(name: str, found: str) -> int | None:
    """The stamp of one of an index's collections; None for what is none of these."""
    its = re.fullmatch(rf"seewhy_{re.escape(name)}_(\d+)_(passages|documents|terms)", found)
    return int(its[1]) if its else None
