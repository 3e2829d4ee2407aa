"""Matrices as PNG files. The extra `pictures` brings what draws them.

    explanation(...), sentences(...)  ->  the bytes of a PNG

canvas.py     a figure in inches, colours, and fonts that have the characters
matrices.py   an explanation: contributions with their sums, and cosines, side by side
sentences.py  a matrix of sentences

No global state of matplotlib is read or changed: no pyplot, no style, no rcParams.
"""

from search.render.picture.matrices import explanation
from search.render.picture.sentences import sentences

EXTRA, PACKAGE = "pictures", "matplotlib"

__all__ = ["EXTRA", "PACKAGE", "explanation", "sentences"]
