"""Matrices as pages: one self-contained HTML file each, which loads nothing and sends nothing.

    explanation(...), sentences(...), attention(...)  ->  the text of an HTML file

document.py     the frame: head, security policy, styles and scripts inside; pages of a single matrix
explanation.py  a score and its addends, to be walked through word by word
attention.py    every head of every layer, to choose from
*.css  *.js     what goes into the file; the scripts only shade and move, the numbers stand in the page

Without scripts a page still shows the texts, the sum and all sums of rows and columns.
"""

from search.render.page.attention import MOST_WEIGHTS, attention
from search.render.page.document import MOST_CELLS, sentences
from search.render.page.explanation import explanation

__all__ = ["MOST_CELLS", "MOST_WEIGHTS", "attention", "explanation", "sentences"]
