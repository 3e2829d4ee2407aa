"""Matrices as PNG files. The extra `pictures` brings what draws them.

    explanation(...), sentences(...), attention(...), contexts(...), training(...)  ->  the bytes of a PNG

canvas.py     a figure in inches, colours, and fonts that have the characters
matrices.py   coloured cells with labels and a scale: a matrix of sentences; an explanation's two, side by side
attention.py  attention: every head, small, or one matrix
curves.py     a word over the layers; a learning curve
axes.py       a matrix in the reader's own axes, for notebooks

No global state of matplotlib is read or changed: no pyplot, no style, no rcParams. Only in a notebook, where nobody
gives axes, a figure of pyplot is made.
"""

from search.render.picture.attention import attention
from search.render.picture.curves import contexts, training
from search.render.picture.matrices import explanation, sentences

EXTRA, PACKAGE = "pictures", "matplotlib"

__all__ = ["EXTRA", "PACKAGE", "attention", "contexts", "explanation", "sentences", "training"]
