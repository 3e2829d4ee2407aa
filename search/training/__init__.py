"""Fine-tune the encoder, or a task head on it, on examples; public as `search.bert.train`, `train_classifier`, ...

run.py        the public functions: part, measure, train, measure again, save
kinds.py      what is learned from files: pairs, graded sentences, labels, entities, answers; before and after
trainers.py   the trainers of sentence-transformers and transformers

The extra `training` brings what the trainers need.
"""

from search.training.run import train, train_classifier, train_reader, train_tagger

__all__ = ["train", "train_classifier", "train_reader", "train_tagger"]
