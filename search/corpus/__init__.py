"""From a folder to passages: find files, read documents, cut passages.

    walk(folder)  ->  SourceFile | Skipped    the files to read, and the files left out with the reason
    documents(file, load(file))  ->  ParsedDocument | Skipped     its text, title, headings, metadata, line numbers
    Cutter.cut(document)  ->  [Passage]       spans of that text that fit the model

    sources.py    SourceFile, Skipped and its Reason, Contents: a file's kind by name, and its bytes
    patterns.py   .gitignore and similar files
    text.py       decodes bytes; lines, sections from headings, values of metadata
    markdown.py  rst.py  html.py      one document per file; Jupyter notebooks as well
    table.py      one document per record: CSV, TSV, JSON Lines
    mail.py       one document per message, and per attachment
    pdf.py  office.py  opendocument.py  PDF; Word, PowerPoint, Excel and EPUB; OpenDocument
    lightweight_markup.py  man.py     Org, AsciiDoc and LaTeX; manual pages
    calendars.py  subtitles.py        calendars and contacts; subtitles
    parsing.py    the documents of a file's content, whatever its kind, and how much text they may have
    reader.py     loads a file, and parses all but short texts in a child process with limits of time and memory
    ocr.py         text of scanned pages and images
    separators.py  plain text of many short records; entries.py: of diaries, changelogs and chats
    dates.py      the date of a document, from its metadata or file name
    writing.py    builds a document piece by piece
    markup.py     spans of markup, which are not encoded
    leads.py      lines before a cut that introduce what follows, such as "for example:"
    blocks.py     keeps headings with their text, cuts long text in linear time, joins short sections
    cut.py        passages that fit the model; counts tokens word by word where the tokenizer allows it
    boilerplate.py    detects text that many files share, which is cut separately

Nothing is dropped silently: a file or record without text gives a `Skipped` or a `ReadError` with a reason. Parsers and
the splitter are imported when the first file needs them, so importing this package is fast.
"""

from search.corpus.cut import Cutter
from search.corpus.reader import documents, load
from search.corpus.sources import Contents, Skipped, SourceFile
from search.corpus.walk import walk

__all__ = ["Contents", "Cutter", "Skipped", "SourceFile", "documents", "load", "walk"]
