"""Reader for subtitles (SubRip, WebVTT): the spoken text, line by line, without numbers, times and tags."""

from __future__ import annotations

import html
import re

from search.corpus.sources import Reason
from search.corpus.text import unix_lines
from search.corpus.writing import Writing
from search.errors import ReadError
from search.records.documents import ParsedDocument

_TIME = re.compile(
    r"(?<!\d)((?:\d{1,4}:)?\d{1,4}):(\d\d)[.,]\d{1,9}\s*-->\s*((?:\d{1,4}:)?\d{1,4}):(\d\d)[.,]\d"
)
_SPEAKER = re.compile(r"<v(?:\.[^ <>]*)? ([^<>]*)>")
_TAG = re.compile(r"</?[a-zA-Z\d][^<>]*>|\{\\[^{}]*\}")
_PAUSE = 3  # seconds without a cue, after which a new paragraph starts


def document(path: str, text: str) -> ParsedDocument:
    """Read subtitles. A line that the next cue repeats, as in rolling captions, is added once.

    Raises:
        ReadError: "no text" if there are no cues.
    """
    writing = Writing(path, "subtitles", len(text))
    in_cue, before, ended, line_ends = False, "", 0, 2
    for number, line in enumerate(unix_lines(text).split("\n"), 1):
        if time := _TIME.search(line):
            line_ends = 2 if _seconds(time[1], time[2]) - ended >= _PAUSE else 1
            in_cue, ended = True, _seconds(time[3], time[4])
        elif not line.strip():
            in_cue = False
        elif in_cue:
            words = html.unescape(_TAG.sub("", _SPEAKER.sub(r"\1: ", line))).strip()
            writing.line = number
            if words != before and writing.add(words, line_ends):
                before, line_ends = words, 1
    if not before:
        raise ReadError(path, Reason.NO_TEXT, "no subtitles")
    return writing.done()


def _seconds(minutes: str, seconds: str) -> int:
    hours, _, rest = minutes.rpartition(":")
    return int(hours or 0) * 3600 + int(rest) * 60 + int(seconds)
