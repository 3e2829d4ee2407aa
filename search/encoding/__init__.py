"""From text to token vectors and embeddings.

models.py       a name, also on the hub, or a folder -> the files of a model and their hashes
loading.py      those files -> a model in PyTorch, by sentence-transformers or transformers, once for all threads
description.py  description of an encoder by sentence-transformers: pooling, prompts, limits
cache.py        models that are converted for OpenVINO, with their descriptions
tokenizer.py    text -> WordPiece tokens with character offsets
engine.py       common parts of the engines, which turn batches of token ids into hidden states
engines.py      chooses between openvino_engine.py, which also converts models, and torch_engine.py
pooling.py      hidden states -> one vector for each text, and what each token adds to it
encoder.py      all of these together: the public `Encoder`
workers.py      other processes that encode, or actors of a Ray cluster
"""

from search.encoding.encoder import Encoder
from search.records.fingerprint import Fingerprint

__all__ = ["Encoder", "Fingerprint"]
