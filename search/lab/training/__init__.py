"""Fine-tune the encoder, or a task head on it; public as `search.bert.train`, `train_classifier`, ...

run.py        the public functions: split the data, measure, train, measure again, save
tasks.py      training tasks by kind of file: pairs, graded sentences, labels, entities, answers
evaluators.py metrics on held-out rows, by task
hub.py        datasets of the Hugging Face hub
trainers.py   the trainers of sentence-transformers and transformers

Needs the extra `training`.
"""

from search.lab.training.run import train, train_classifier, train_reader, train_tagger

__all__ = ["train", "train_classifier", "train_reader", "train_tagger"]
