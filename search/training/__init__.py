"""Fine-tune the encoder on examples, or adapt it to passages; public as `search.bert.train` and `search.bert.adapt`.

    train(data, out)     on pairs, triplets or graded sentences
    adapt(source, out)   to the passages of a folder or an index, without labels

tuning.py      `train`, and which loss suits the examples     adapting.py    `adapt`: passages, a denoising loss
examples.py    files -> examples; what is held out           negatives.py   passages of an index that look right
measures.py    before and after, with intervals              trainer.py     sentence-transformers' trainer
run.py         a job -> the result, its report and card      work.py        checkpoints; the result moved into place

It stands after the index and the evaluation, as it asks the one for negatives and takes its formats and intervals
from the other. The extra `training` brings what the trainer needs.
"""

from search.training.adapting import adapt
from search.training.tuning import train

__all__ = ["adapt", "train"]
