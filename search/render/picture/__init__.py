"""Matrices as PNG files. The extra `pictures` brings what draws them.

    explanation(...), sentences(...), attention(...), contexts(...), training(...)  ->  the bytes of a PNG

canvas.py     a figure in inches, colours, and fonts that have the characters
matrices.py   an explanation: contributions with their sums, and cosines, side by side
sentences.py  a matrix of sentences
attention.py  attention: every head, small, or one matrix
contexts.py   one word in several contexts, layer by layer
training.py   a learning curve

No global state of matplotlib is read or changed: no pyplot, no style, no rcParams.
"""

from search.render.picture.attention import attention
from search.render.picture.contexts import contexts
from search.render.picture.matrices import explanation
from search.render.picture.sentences import sentences
from search.render.picture.training import training

EXTRA, PACKAGE = "pictures", "matplotlib"

__all__ = [
    "EXTRA",
    "PACKAGE",
    "attention",
    "contexts",
    "explanation",
    "sentences",
    "training",
]
