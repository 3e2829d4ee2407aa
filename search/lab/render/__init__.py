"""Drawings of the laboratory's records.

inspection.py   a text inside a model, for a terminal and as JSON
predictions.py  answers, masked words, next sentences, labels, entities, for a terminal
comparing.py    comparison of two encoders, for a terminal
probing.py      probes of layers, for a terminal
training.py     training runs, for a terminal
attention.py    attention of a text, for a terminal, as JSON and as a picture
picture.py      pictures of attention, position vectors, probes, and words with two encoders
drawings.py     results as matrices and bars
notebook.py     tables of results in a terminal, HTML and plots in a notebook
pages.py        pages; templates, scripts and styles are beside it
"""
