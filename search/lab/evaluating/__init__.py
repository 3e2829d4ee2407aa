"""Evaluation of task heads: readers on questions, taggers on entities. Comparison of two encoders. Probes of layers.

formats.py         readers of labelled sentences and texts
metrics.py         exact match and F1 of answers, F1 of entities
encoders.py        compare_encoders, compare_texts: two encoders on one index, or on a pair of texts
encoder_shares.py  what each word adds to a cosine with two encoders
probing.py         probe: what a linear classifier reads from each layer
readers.py         evaluate_answers, evaluate_entities: the tasks of `seewhy eval`
"""
