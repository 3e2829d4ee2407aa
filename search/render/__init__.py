"""Records -> text for a terminal, or JSON. Pure functions: nothing is printed here.

escape.py     what came from files, made harmless for a terminal
terminal.py   hits, reports, status, lists
why.py        an explanation, drawn for a terminal
json.py       any record, for programs
"""
