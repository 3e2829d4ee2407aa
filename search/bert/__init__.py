"""A look inside BERT: what a model does with a text, taken apart and checked.

    inspect(text)             tokens, the embedding layer's parts, hidden states, pooler, parameter counts
    attention(text)           the weights of every head; their mean and rollout
    in_contexts(word, texts)  one word's vector in several contexts, layer by layer
    tokenize(text)            what a tokenizer makes of a text; compare_tokenizers(text, other): of two

checkpoint.py       the model, as transformers and PyTorch compute it
tokenizing.py       text -> tokens and words
embedding_layer.py  the embedding layer taken apart         parameters.py  parameter counts by part
inspecting.py       inspect, attention                      contexts.py    one word in several contexts

Works with checkpoints of the families in `FAMILIES`, of any size; others are refused by name. None of this is
part of a score: how a score is made up is told by `search.explain`.
"""

from search.bert.checkpoint import FAMILIES
from search.bert.contexts import in_contexts
from search.bert.inspecting import attention, inspect
from search.bert.tokenizing import compare_tokenizers, tokenize

__all__ = ["FAMILIES", "attention", "compare_tokenizers", "in_contexts", "inspect", "tokenize"]
