"""HTML pages: self-contained files, which load nothing and send nothing, and pages of the server.

    xray(...), sentences(...)  ->  Page
    document(page)        ->  the text of an HTML file
    document(page, site)  ->  the same for the server, which links to assets()
    fragment(page)        ->  HTML to insert into a page that is already open

    document.py     Page, its two frames, and escaping of texts
    search.py       search page (server only); hit_list.py  its list of hits; score_bar.py  the bar of a score
    start.py        start page; map.py  the map; all_page.py  hits of all indexes (server only)
    reading.py      whole document, opened at a passage (server only); rendering.py  its text as HTML
    why.py          explanation of a score, word by word; comparisons of two hits and "why not" (server only)
    xray_page.py    how two texts come to their score: pieces, layers, pairs, attention
    mirror.py       two scores beside each other, word by word
    reference.py    reference of the HTTP API (server only)
    token_grid.py   data of the grid of words in an X-ray
    comparison.py   similarities of sentences; on the server also forms that take texts
    seewhy.css      the style of all pages
    *.js            scripts of custom elements; only on the server: live.js, start.js, search.js, hits.js, pane.js

All numbers are in the HTML. Without scripts, a page still has the texts, the sum, and the sums of rows and columns.
"""

from search.render.page.comparison import MOST_CELLS, sentences
from search.render.page.document import Page, Site, assets, document, fragment
from search.render.page.xray_page import xray

__all__ = [
    "MOST_CELLS", "Page", "Site", "assets", "document", "fragment", "sentences", "xray",
]  # fmt: skip
