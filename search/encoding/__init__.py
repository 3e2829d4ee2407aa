"""Text -> token vectors and embeddings.

models.py       a name or a folder -> the files of a model and what its own configuration says
hub.py          a name on the Hugging Face hub -> a folder, at a revision that may be pinned
tokenizer.py    text -> WordPiece tokens with character offsets
batches.py      many texts -> batches of like length
engine.py       what an engine does: batches -> hidden states of every layer
openvino_engine.py, torch_engine.py    the two that do it; engines.py chooses
convert.py      a model of PyTorch -> the same for OpenVINO; cache.py keeps those, failures.py what failed
inputs.py       what goes into the model for a text; limits.py how much fits
layers.py       which hidden states are pooled
pooling.py      hidden states -> one vector for each text; dense.py what may follow
addends.py      what each token adds to that vector
fingerprint.py  what must be equal for two embeddings to be comparable
encoder.py      all of these together: the public `Encoder`
"""

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint

__all__ = ["Encoder", "Fingerprint"]
