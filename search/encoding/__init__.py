"""Text -> token vectors and embeddings.

models.py       a name or a folder -> the files of a model and what its own configuration says
tokenizer.py    text -> WordPiece tokens with character offsets
batches.py      many texts -> batches of like length
torch_engine.py batches -> hidden states of every layer (transformers, PyTorch)
pooling.py      hidden states -> one vector for each text
fingerprint.py  what must be equal for two embeddings to be comparable
encoder.py      all of these together: the public `Encoder`
"""

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint

__all__ = ["Encoder", "Fingerprint"]
