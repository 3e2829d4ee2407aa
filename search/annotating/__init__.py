"""What task heads say of all passages of an index, kept as annotations that filters find.

tagging.py    entities and parts of speech
labelling.py  labels
"""
