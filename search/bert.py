"""Inspect BERT: tokens, hidden states, attention and predictions of a model for a text.

    inspect(text)             tokens, embedding layer, hidden states, attention of every head, pooler, sizes
    work_through(text, layer=1, head=1, token=0)  one attention head, step by step: products, softmax, weighted sum
    in_contexts(word, texts)  a word's vectors in several contexts, layer by layer
    equal_rows(a, b)          cosines of two texts' token vectors, position by position
    padded(texts)             a padded batch, and what its attention mask does
    positions()               learned position vectors, and those of the formula of the first Transformer
    parameters(), modules()   the tensors of a model by name; its modules as a tree
    vocabulary()              number of vocabulary entries of each kind; decode(ids) and ids_of(tokens) convert
    tokenize(text)            tokens and words of a text
    fill(text)                the most likely words at each mask
    next_sentence(a, b)       probability that b follows a
    answer(question, text)    the spans of a text that answer a question; ask(index, question) reads the best passages
    tag(text)                 the class of each word and token: entities, parts of speech; tag_index(index) tags all
    label(texts)              classes of texts, by a checkpoint or a trained head; label_index(index) labels passages
    annotations_of(index, ids) tags and labels of passages; remove_annotations(index, name) deletes them
    compare_encoders(index, first, second)  what two encoders find in an index: overlap, rank correlation, examples
    compare_texts(a, b, first, second)  two encoders on a pair of texts: both cosines, word by word
    probe(data)               accuracy of a linear classifier on the vectors of each layer, with a control task
    train(data, out)          fine-tune an encoder
    train_classifier, train_tagger, train_reader  fine-tune an encoder with a task head
    train_labels(examples)    train a linear head on frozen embeddings, with metrics
    explain_label(text, head) the addends of such a head's logits, token by token

Results draw themselves: as a table in a terminal and a notebook, by `.plot()`, and as a DataFrame by `.to_pandas()`.

Works with checkpoints of the families in `FAMILIES`, of any size; other models raise ModelError. None of this is part
of a score: `search.explain` explains scores.
"""

from importlib import import_module
from typing import Any

from search.lab.bert.answering import answer as answer
from search.lab.bert.answering import ask as ask
from search.lab.bert.checkpoint import FAMILIES as FAMILIES
from search.lab.bert.inspecting import equal_rows as equal_rows
from search.lab.bert.inspecting import in_contexts as in_contexts
from search.lab.bert.inspecting import inspect as inspect
from search.lab.bert.inspecting import modules as modules
from search.lab.bert.inspecting import padded as padded
from search.lab.bert.inspecting import parameters as parameters
from search.lab.bert.inspecting import positions as positions
from search.lab.bert.inspecting import work_through as work_through
from search.lab.bert.labelling import LinearHead as LinearHead
from search.lab.bert.labelling import explain_label as explain_label
from search.lab.bert.labelling import label as label
from search.lab.bert.labelling import load_linear_head as load_linear_head
from search.lab.bert.pretraining import fill as fill
from search.lab.bert.pretraining import next_sentence as next_sentence
from search.lab.bert.tagging import tag as tag
from search.lab.bert.tokenizing import decode as decode
from search.lab.bert.tokenizing import ids_of as ids_of
from search.lab.bert.tokenizing import tokenize as tokenize
from search.lab.bert.tokenizing import vocabulary as vocabulary

# Names that need more packages, such as scikit-learn; they are loaded on first use.
_LATER = {
    "TrainedHead": "annotating.labels",
    "compare_encoders": "evaluating.encoders",
    "compare_texts": "evaluating.encoders",
    "probe": "evaluating.probing",
    "annotations_of": "annotating.passages",
    "label_index": "annotating.passages",
    "remove_annotations": "annotating.passages",
    "tag_index": "annotating.passages",
    "train": "training",
    "train_classifier": "training",
    "train_labels": "annotating.labels",
    "train_reader": "training",
    "train_tagger": "training",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"search.lab.{_LATER[name]}"), name)
    raise AttributeError(f"module 'search.bert' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return all names, also those that are loaded on first use, so that they can be completed."""
    return sorted({*globals(), *_LATER})
