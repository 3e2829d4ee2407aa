"""Fine-tune the encoder on examples: pairs, triplets or graded sentences; public as `search.bert.train`.

tuning.py      `train`, and which loss suits the examples
examples.py    files -> examples; what is held out           trainer.py     sentence-transformers' trainer
measures.py    before and after, with intervals              work.py        checkpoints; the result moved into place
run.py         a job -> the result, its report and card

It stands after the evaluation, as it takes its formats and intervals from there. The extra `training` brings what the
trainer needs.
"""

from search.training.tuning import train

__all__ = ["train"]
