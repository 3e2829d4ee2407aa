"""Matrices as pages: one self-contained HTML file each, which loads nothing and sends nothing.

    explanation(...), sentences(...)  ->  the text of an HTML file

document.py     the frame: head, security policy, styles and scripts inside
explanation.py  a score and its addends, to be walked through word by word
texts.py        its two texts, their words as things to point at
sentences.py    a matrix of sentences
*.css  *.js     what goes into the file; the scripts only shade and move, the numbers stand in the page

Without scripts a page still shows the texts, the sum and all sums of rows and columns.
"""

from search.render.page.explanation import explanation
from search.render.page.sentences import MOST_CELLS, sentences

__all__ = ["MOST_CELLS", "explanation", "sentences"]
