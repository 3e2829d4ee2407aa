"""The page of an explanation within a chat: an empty one, and what fills it (MCP Apps).

A program that shows it asks for it once, and hands it the answer of the tool that it belongs to. It has the policy of
a file: it loads nothing and sends nothing; what fills it runs no scripts.
"""

from __future__ import annotations

from search.records.explanations import Explanation
from search.records.hits import Hit
from search.render.page.document import Page, document, fragment, text
from search.render.page.explanation import explanation
from search.render.units import units

KEY = "seewhy/page"  # under which chat.js looks for what fills the page


def empty(version: str) -> str:
    """The page before there is an answer.

    Args:
        version: of this program.
    """
    body = f'<in-chat data-version="{text(version)}"><p>Looking at each word …</p></in-chat>'
    return document(Page("seewhy", "Why?", "", body, ("explanation.js", "chat.js")))


def filling(why: Explanation, hit: Hit) -> str:
    """What an explanation fills it with."""
    return fragment(explanation(why, units(why), hit, tables=False))
