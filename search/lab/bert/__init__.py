"""Views into a model of the BERT family, and its task heads. Public as `search.bert`.

tokenizing.py  tokenize, vocabulary, decode, ids_of
checkpoint.py  the model in transformers and PyTorch, also with a task head
inspecting.py  inspect, work_through, in_contexts, equal_rows, padded, positions, parameters, modules
pretraining.py fill, next_sentence
answering.py   answer
labelling.py   label, explain_label
tagging.py     tag; meaning of the class names
"""
