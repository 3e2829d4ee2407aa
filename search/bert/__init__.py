"""A look inside BERT: what a model does with a text, taken apart and checked.

    inspect(text)             tokens, the embedding layer's parts, hidden states, pooler, parameter counts
    attention(text)           the weights of every head; their mean and rollout
    in_contexts(word, texts)  one word's vector in several contexts, layer by layer
    tokenize(text)            what a tokenizer makes of a text; compare_tokenizers(text, other): of two
    fill(text)                the most likely words at masked places
    answer(question, text)    the spans of a text that answer a question
    tag(text)                 the class of each word: entities, parts of speech
    train(data, out)          fine-tune the encoder; adapt(folder, out): to texts without labels
    next_sentence(a, b)       whether a text follows another; next_sentences(texts): each neighbouring pair
    label(texts)              classes of texts, by a checkpoint or a trained head; label_index(index): of its passages
    train_labels(examples)    a linear head on frozen embeddings, judged; explain_label(text, head): its addends

checkpoint.py       the model, as transformers and PyTorch compute it
tokenizing.py       text -> tokens and words
embedding_layer.py  the embedding layer taken apart         parameters.py  parameter counts by part
inspecting.py       inspect, attention                      contexts.py    one word in several contexts
heads.py            checkpoints with a task head            masks.py       masked places and single entries
filling.py          fill                                    next_sentence.py  next_sentence
answering.py        answer, and answers from the hits of an index; spans.py the best spans by logits,
                    merging.py answers that stand in several places
tagging.py          tag                                     tag_labels.py  what the names of classes mean
labelling.py        label

../training/        train, adapt
../annotating/      the passages of an index tagged; label_index
linear_head.py      a trained head, its two files       label_addends.py  explain_label
label_training.py   train_labels; examples.py what it is given, label_report.py how good it is

Works with checkpoints of the families in `FAMILIES`, of any size; others are refused by name. None of this is
part of a score: how a score is made up is told by `search.explain`.
"""

from importlib import import_module
from typing import Any

from search.bert.answering import answer
from search.bert.checkpoint import FAMILIES
from search.bert.contexts import in_contexts
from search.bert.filling import fill
from search.bert.inspecting import attention, inspect
from search.bert.label_addends import explain_label
from search.bert.label_training import TrainedHead, train_labels
from search.bert.labelling import label
from search.bert.linear_head import LinearHead, load_linear_head
from search.bert.next_sentence import next_sentence, next_sentences
from search.bert.tagging import tag
from search.bert.tokenizing import compare_tokenizers, tokenize

__all__ = [
    "FAMILIES",
    "LinearHead",
    "TrainedHead",
    "adapt",
    "answer",
    "attention",
    "compare_tokenizers",
    "explain_label",
    "fill",
    "in_contexts",
    "inspect",
    "label",
    "label_index",
    "load_linear_head",
    "next_sentence",
    "next_sentences",
    "tag",
    "tokenize",
    "train",
    "train_labels",
]


def __getattr__(name: str) -> Any:
    """Names whose home is a later stage, as it asks an index."""
    later = {"adapt": "training", "train": "training", "label_index": "annotating.labelling"}
    if name in later:
        return getattr(import_module(f"search.{later[name]}"), name)
    raise AttributeError(f"module 'search.bert' has no attribute '{name}'")
