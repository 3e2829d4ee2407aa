"""Fine-tune the encoder on examples: pairs, triplets or graded sentences; public as `search.bert.train`.

tuning.py      `train`, and which loss suits the examples
examples.py    files -> examples; what is held out           negatives.py   passages of an index that look right
measures.py    before and after, with intervals              trainer.py     sentence-transformers' trainer
run.py         a job -> the result, its report and card      work.py        checkpoints; the result moved into place

It stands after the index and the evaluation, as it asks the one for negatives and takes its formats and intervals
from the other. The extra `training` brings what the trainer needs.
"""

from search.training.tuning import train

__all__ = ["train"]
