"""Fine-tune the encoder, or a task head on it, on examples; public as `search.bert.train`, `train_classifier`, ...

job.py         what every training is made of          run.py        a job -> the result and its report
work.py        checkpoints; the result in its place    card.py       its model card
steps.py       what the trainers share

An encoder: `train`
tuning.py      `train`, and which loss suits the examples
examples.py    files -> examples; what is held out
measures.py    before and after, with intervals
trainer.py     sentence-transformers' trainer

A head: `train_classifier`, `train_tagger`, `train_reader`
heads.py          these
head_tasks.py     files -> what is learned, as inputs with targets
head_measures.py  before and after, by the code that applies heads
head_trainer.py   transformers' trainer

It stands after the evaluation, as it takes its formats and intervals from there. The extra `training` brings what the
trainer needs.
"""

from search.training.heads import train_classifier, train_reader, train_tagger
from search.training.tuning import train

__all__ = ["train", "train_classifier", "train_reader", "train_tagger"]
