"""Records -> text for a terminal, JSON, CSV, pictures and pages. Pure functions: nothing is printed here.

escape.py     what came from files, made harmless for a terminal
terminal.py   the canvas, and how places, headings and numbers are written
hits.py       ranked hits; listing.py as CSV, Markdown or paths       duplicates.py  passages that say the same
scale.py      how high a score is among those of random pairs
reports.py    reports, status, lists
checks.py     what a check or a repair found
why.py        an explanation, drawn for a terminal     faithfulness.py  its check
contrast.py   two hits compared, word by word          why_not.py  why a document is no hit
units.py      the lines that an explanation's matrices are drawn by, and which of them matter most
heatmap.py    matrices, drawn for a terminal
picture/      matrices and curves as PNG
page/         likewise as HTML
inspection.py a look inside BERT; inside.py its pieces, inspection_json.py as JSON, attention.py the weights of a layer
answers.py    answers to a question
bars.py       probabilities as bars: filled masks, next sentences
labels.py     labels of texts and of an index, how good a trained head is
evaluation.py  judged queries: figures, intervals, comparisons        training.py  what a training did
tags.py       tagged words, entities, and what a run of tagging did
json.py       any record, for programs
csv.py        matrices, for spreadsheets
"""
