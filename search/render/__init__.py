"""Records -> text for a terminal, JSON, CSV, pictures and pages. Pure functions: nothing is printed here.

format.py       how places, headings, numbers, scores and CSV are written; what came from files, made harmless
terminal.py     the canvas and the tables that everything for a terminal is drawn on
hits.py         ranked hits, also as Markdown, CSV and paths; passages that say the same
reports.py      what indexing and checks did; status; lists of indexes and models
why.py          an explanation and its check; two hits compared; why a document is no hit
heatmap.py      matrices of sentences, two texts and attention: their units and colours
inspection.py   a look inside BERT
predictions.py  answers, masked words, labels, entities
evaluation.py   judged queries and entities; trainings
json.py         any record, for programs
notebook.py     what a notebook shows of a record: HTML, axes of matplotlib, tables of pandas
picture.py      matrices and curves as PNG
page/           pages of HTML
"""
