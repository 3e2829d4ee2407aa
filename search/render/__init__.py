"""Records -> text for a terminal, JSON, CSV, pictures and pages. Pure functions: nothing is printed here.

format.py     how places, headings, numbers and scores are written; what came from files, made harmless
terminal.py   the canvas and the tables that everything for a terminal is drawn on
hits.py       ranked hits, also as Markdown and paths; passages that say the same; answers to a question
reports.py    what indexing, checks did; status; lists of indexes and models
why.py        an explanation and its check; two hits compared; why a document is no hit
heatmap.py    matrices: sentences, two texts, attention  inspection.py a look inside BERT
models.py     what a model is made of            vocabulary.py its entries
contexts.py   words through the layers, equal rows  attending.py one head step by step
predictions.py  masked words, labels, entities           evaluation.py judged queries and entities
training.py   trainings of encoders and of heads for labels
json.py       any record, for programs                   csv.py        matrices, hits and figures, for spreadsheets
scale.py      where colours end                           units.py      the lines of an explanation
notebook.py   what a notebook shows of a record: HTML, axes of matplotlib, tables of pandas
picture.py    matrices and curves as PNG                 page/         likewise as HTML
"""
