"""A folder becomes files, files become documents, documents become passages.

    walk(folder)  ->  SourceFile | Skipped    the files, and why others are left out
    documents(file, load(file))  ->  Document | Skipped     its text, title, headings, metadata, line numbers
    Cutter.cut(document)  ->  [Passage]       spans of that text that fit the model

    sources.py    SourceFile, Skipped and its Reason, Contents: a file's kind by name, and its bytes
    patterns.py   .gitignore and its relatives
    text.py       bytes -> characters, lines, headings -> sections, values of metadata
    markdown.py  rst.py  html.py      one document a file; Jupyter notebooks as well
    table.py      one document a record: CSV, TSV, JSON Lines
    pdf.py  office.py                 PDF; Word, PowerPoint, Excel and EPUB, in a child process
    reader.py     a file -> its documents; the child process and its limits
    writing.py    builds a document piece by piece
    markup.py     spans that a reader does not read as words
    blocks.py     headings stay with their text, long text is cut in bounded time, short sections are joined
    cut.py        passages that fit the model; counts tokens word by word where the tokenizer allows it
    boilerplate.py    texts that many files share are cut apart

Nothing is dropped silently: a file or record without text is a `Skipped` or a `ReadError` with a reason.
The parsers and the splitter are imported when the first file needs them, so importing this is cheap.
"""

from search.corpus.cut import Cutter
from search.corpus.reader import documents, load
from search.corpus.sources import Contents, Skipped, SourceFile
from search.corpus.walk import walk

__all__ = ["Contents", "Cutter", "Skipped", "SourceFile", "documents", "load", "walk"]
