"""Records -> text for a terminal, JSON, CSV, pictures and pages. Pure functions: nothing is printed here.

escape.py     what came from files, made harmless for a terminal
terminal.py   hits, reports, status, lists
checks.py     what a check or a repair found
why.py        an explanation, drawn for a terminal
contrast.py   two hits compared, word by word          why_not.py  why a document is no hit
units.py      the lines that an explanation's matrices are drawn by, and which of them matter most
heatmap.py    matrices, drawn for a terminal
picture/      matrices as PNG
page/         matrices as HTML
evaluation.py  judged queries: figures, intervals, comparisons
json.py       any record, for programs
csv.py        matrices, for spreadsheets
"""
