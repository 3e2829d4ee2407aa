"""A folder becomes files, files become documents, documents become passages.

    walk(folder)  ->  SourceFile | Skipped    which files there are, and why the others are left out
    documents(file, load(file))  ->  Document | Skipped     its text, title, headings, metadata, line numbers
    Cutter.cut(document)  ->  [Passage]       spans of that text that fit the model

    sources.py    SourceFile, Skipped and its Reason, Contents: what a file's name says, and its bytes
    patterns.py   .gitignore and its relatives
    text.py       bytes -> characters, lines, headings -> sections, values of metadata
    markdown.py  rst.py  html.py      one document a file; Jupyter notebooks as well
    table.py      one document a record: CSV, TSV, JSON Lines
    pdf.py  office.py                 PDF; Word, PowerPoint, Excel and EPUB, in a child process
    reader.py     a file -> its documents; the child process and its limits
    writing.py    a document as it is put together
    markup.py     what a reader does not read as words
    blocks.py     headings stay with their text, long text is cut in bounded time, short sections are joined
    cut.py        passages that fit the model; counts tokens word by word where the tokenizer allows it
    boilerplate.py    what stands in many files is cut apart

Nothing is dropped silently: what yields no text is a `Skipped` or a `ReadError` with a reason.
The parsers and the splitter are imported when the first file needs them, so importing this is cheap.
"""

from search.corpus.cut import Cutter
from search.corpus.reader import documents, load
from search.corpus.sources import Contents, Skipped, SourceFile
from search.corpus.walk import walk

__all__ = ["Contents", "Cutter", "Skipped", "SourceFile", "documents", "load", "walk"]
