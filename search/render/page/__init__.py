"""Matrices as pages: a self-contained HTML file each, which loads nothing and sends nothing; or a page of the server.

    explanation(...), sentences(...), attention(...)  ->  Page
    document(page)        ->  the text of an HTML file
    document(page, site)  ->  the same for the server, which links to assets()
    fragment(page)        ->  what goes into a page that is there

document.py     Page, its frames, and how texts get into it
search.py  hit_list.py  of the server: the form, and hits as a list
reading.py      of the server: a whole document, opened at a passage
why.py          a score and its addends, word by word; of the server: why a hit, why above another, why not
laboratory.py   which sentence is like which; every head of every layer; of the server: forms, a look inside texts
*.css  *.js     a custom element each, site.css and live.js for the server alone; the scripts only shade and move, the
                numbers stand in the page

Without scripts a page still shows the texts, the sum and all sums of rows and columns.
"""

from search.render.page.document import Asset, Page, Site, assets, document, fragment
from search.render.page.laboratory import MOST_CELLS, attention, sentences
from search.render.page.why import explanation

__all__ = [
    "MOST_CELLS", "Asset", "Page", "Site", "assets", "attention", "document", "explanation",
    "fragment", "sentences",
]  # fmt: skip
