"""From text to token vectors and embeddings.

models.py       finds the files of a model, by name or folder, and their hashes
    loading.py      loads these files in PyTorch, with sentence-transformers or transformers; caches the models
description.py  description of an encoder by sentence-transformers: pooling, prompts, limits
cache.py        models that are converted for OpenVINO, with their descriptions
used.py         names of the models that were used on this machine
prompts.py      prompts of queries and documents; a table of known families
tokenizer.py    text -> WordPiece tokens with character offsets
engine.py       common parts of the engines, which compute hidden states from batches of token ids
engines.py      chooses between openvino_engine.py, which also converts models, torch_engine.py, and static.py
catalogue.py    models to choose from, with published figures
distil.py       the static model of this machine, from the default model
parameters.py   parameters of a converted model, for computations that OpenVINO does not offer
pooling.py      hidden states -> one vector for each text
    encoder.py      the public `Encoder`, which combines all of these
    function.py     encoders from a program: functions, objects of other libraries
    workers.py      workers that encode: other processes, or actors of a Ray cluster
"""

from search.encoding.encoder import Encoder
from search.records.fingerprint import Fingerprint

__all__ = ["Encoder", "Fingerprint"]
