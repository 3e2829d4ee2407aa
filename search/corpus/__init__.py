"""A folder becomes files, files become documents, documents become passages.

    walk(folder)  ->  SourceFile | Skipped    which files there are, and why the others are left out
    read(file)    ->  Document | Skipped      the text in it, its title, headings, metadata, line numbers
    Cutter.cut(document)  ->  [Passage]       spans of that text that fit the model

    reasons.py    the short phrases that everything left out is counted by
    source.py     SourceFile, Skipped, Contents
    opening.py    the bytes of a file that may change meanwhile
    ignore.py     .gitignore and its relatives        patterns.py   the lines in them
    suffixes.py   what a file's name says             columns.py    which column is the text
    decode.py     bytes -> characters                 lines.py      where lines begin, as editors see them
    outline.py    headings -> sections                values.py     anything -> JSON-compatible values
    markdown.py  rst.py  html.py                      one document a file
    header.py     the fields that begin a .rst        table.py  jsonl.py        one document a record
    extract/      PDF, Office files, EPUB             packages.py   whether what reads them is installed
    blocks.py     headings stay with their text       context.py    what is encoded before a passage
    windows.py    long text in bounded time

Nothing is dropped silently: what yields no text is a `Skipped` or a `ReadError` with a reason.
The parsers and the splitter are imported when the first file needs them, so importing this is cheap.
"""

from search.corpus.cut import Cutter
from search.corpus.read import documents, load, read
from search.corpus.source import Contents, Skipped, SourceFile
from search.corpus.walk import walk

__all__ = ["Contents", "Cutter", "Skipped", "SourceFile", "documents", "load", "read", "walk"]
