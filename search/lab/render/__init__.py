"""Drawings of the laboratory's records.

inspection.py   a text inside a model, for a terminal and as JSON
model_parts.py  tensors and modules of a model, for a terminal and as JSON
predictions.py  answers, masked words, next sentences, labels, entities, for a terminal
comparing.py    comparison of two encoders, for a terminal
probing.py      probes of layers, for a terminal
training.py     training runs, for a terminal
attention.py    attention of a text, for a terminal, as JSON and as a picture
drawings.py     results as matrices and bars
picture.py      attention, positions, answers and training runs as PNG
charts.py       probes of layers and words with two encoders as PNG
notebook.py     results in a terminal and as plots
html_forms.py   results as HTML in a notebook
frames.py       results as pandas tables
pages.py        pages; templates, scripts and styles are beside it
"""
