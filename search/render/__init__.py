"""Convert records to text for a terminal, JSON, CSV, pictures and pages. Nothing is printed here.

format.py       formatting of places, headings, numbers, scores and CSV; escapes text from files
terminal.py     the canvas and the tables for all output to a terminal
hits.py         ranked hits, also as paths; near-duplicates
concordance.py  occurrences of a word
reports.py      reports of indexing and checks; status; lists of indexes and models
why.py          explanation of a score; comparison of two hits; why a document is not a hit
score_parts.py  the parts of a score, for bars, and the words to highlight
grid.py         a matrix with its labels, as terminal, notebook and pictures draw it
heatmap.py      matrices of sentences and of two texts: their units, as grids and for a terminal
evaluation.py   evaluations
json.py         any record as JSON; csv.py: matrices as CSV
notebook.py     records in a notebook: HTML, matplotlib plots, pandas tables
picture.py      matrices and maps as PNG
page/           HTML pages
"""
