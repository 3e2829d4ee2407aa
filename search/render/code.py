"""Code in the colours of its language: a file of it, or a fenced block that is most of a text.

The colours are the terminal's own, and such as can be read on light and dark.
"""

from __future__ import annotations

import re

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, String
from pygments.util import ClassNotFound
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

from search.records.hits import Hit

_FENCED = re.compile(r"^```[ \t]*(\w[\w+#.-]*)[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)
_THEME = ANSISyntaxTheme(
    {
        Comment: Style(dim=True),
        Keyword: Style(color="magenta"),
        Operator.Word: Style(color="magenta"),
        Name.Function: Style(bold=True),
        Name.Class: Style(bold=True),
        Name.Decorator: Style(color="magenta"),
        String: Style(color="cyan"),
        Number: Style(color="cyan"),
    }
)


def in_colours(hit: Hit, text: str) -> Text:
    """The text of a hit, harmless by now; as it is where no language is told."""
    drawn = Text(text)
    try:
        if hit.kind == "code":
            _colour(drawn, text, 0, get_lexer_for_filename(hit.path, stripnl=False, ensurenl=False))
        else:
            for block in _FENCED.finditer(text):
                if 2 * len(block[2]) > len(text):
                    _colour(
                        drawn,
                        block[2],
                        block.start(2),
                        get_lexer_by_name(block[1], stripnl=False, ensurenl=False),
                    )
    except ClassNotFound:
        pass
    return drawn


def _colour(drawn: Text, code: str, start: int, lexer: Lexer) -> None:
    """Colour a span of a text."""
    for span in Syntax(code, lexer, theme=_THEME).highlight(code).spans:
        drawn.stylize(span.style, start + span.start, start + span.end)
