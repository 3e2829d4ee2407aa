"""Matrices as pages: one self-contained HTML file each, which loads nothing and sends nothing.

    explanation(...), sentences(...), attention(...), contexts(...), answers(...)  ->  the text of an HTML file

document.py     the frame: head, security policy, styles and scripts inside
explanation.py  a score and its addends, to be walked through word by word
texts.py        its two texts, their words as things to point at
sentences.py    a matrix of sentences
attention.py    every head of every layer, to choose from
sheet.py        tables: what else a look inside finds
contexts.py     one word in several contexts          answers.py  answers, each marked in its passage
bars.py         probabilities as bars
labels.py       how good a trained head is; what the logits of a text are made of
tags.py         a text with its entities marked
*.css  *.js     what goes into the file; the scripts only shade and move, the numbers stand in the page

Without scripts a page still shows the texts, the sum and all sums of rows and columns.
"""

from search.render.page.answers import answers
from search.render.page.attention import MOST_WEIGHTS, attention
from search.render.page.bars import bars
from search.render.page.contexts import contexts
from search.render.page.explanation import explanation
from search.render.page.labels import label_explanation, labels
from search.render.page.sentences import MOST_CELLS, sentences
from search.render.page.sheet import sheet
from search.render.page.tags import tags
from search.render.page.training import training

__all__ = [
    "MOST_CELLS",
    "MOST_WEIGHTS",
    "answers",
    "attention",
    "bars",
    "contexts",
    "explanation",
    "label_explanation",
    "labels",
    "sentences",
    "sheet",
    "tags",
    "training",
]
