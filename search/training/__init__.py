"""Fine-tune the encoder on examples, or adapt it to passages; public as `search.bert.train` and `search.bert.adapt`.

    train(data, out)     on pairs, triplets or graded sentences
    adapt(source, out)   to the passages of a folder or an index, without labels

examples.py    rows of one shape                reading.py    files -> examples
splitting.py   what is held out                 negatives.py  passages of an index that look right and are not
passages.py    the texts of a folder or index
losses.py      the loss by the shape            objectives.py masked words, denoising
scoring.py     before and after                 model.py      load, save, keep quiet
fitting.py     the steps                        work.py       checkpoints, and the result moved into place
batches.py    no text twice in one, all examples seen
run.py         all of it in order               card.py       the model card
tuning.py      `train`                          adapting.py   `adapt`

It stands after the index and the evaluation, as it asks the one for negatives and takes its formats and intervals
from the other. The extra `training` brings what the trainer needs.
"""

from search.training.adapting import adapt
from search.training.tuning import train

__all__ = ["adapt", "train"]
