"""Load models with transformers and PyTorch, either with access to all internals or with a task head.

A `Checkpoint` gives access to its internals. It runs on the CPU in float32, because it reads one text at a time and the
numbers must be exact. Attention uses the "eager" implementation, because faster ones do not return the weights.

A `Head` is loaded by transformers' own class for its task:

    fill    masked words       AutoModelForMaskedLM
    next    next sentence      AutoModelForNextSentencePrediction
    answer  answer spans       AutoModelForQuestionAnswering
    tag     class of a token   AutoModelForTokenClassification
    label   class of a text    AutoModelForSequenceClassification

A checkpoint without weights for the head is refused: transformers would use random ones. So is one that was saved with
another head, as its `architectures` in config.json say: weights of different heads may have the same names and shapes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.encoding.engine import padded
from search.encoding.loading import cached_models, load_transformer, require_whole, token_limit
from search.encoding.models import DEFAULT_MODEL, ModelFiles, find_model
from search.encoding.tokenizer import Encoded, load_tokenizer
from search.encoding.torch_engine import best_device
from search.errors import InputError, ModelError, quoted
from search.files import cache_home
from search.lab.bert.tokenizing import check_length, tokenized
from search.lab.records.inspections import Tokenization
from search.lab.records.training import HeldOut
from search.store.passages import CALLED

FAMILIES = ("bert", "camembert", "distilbert", "mpnet", "roberta", "xlm-roberta")
"""Supported values of `model_type` in config.json; `inspect` knows the terms of their embedding layers."""

_PADDED_POSITIONS = ("camembert", "mpnet", "roberta", "xlm-roberta")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A loaded model.

    Attributes:
        model: the transformers model, in eval mode.
        kind: the model's family, one of `FAMILIES`.
        no_pooler: reason why the model has no pooler; "" if it has one.
    """

    files: ModelFiles
    tokenizer: tokenizers.Tokenizer
    model: Any
    kind: str
    no_pooler: str

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of an input, special tokens included."""
        return token_limit(self.files, self.model)

    def tokens(self, text: str, text2: str | None = None) -> Tokenization:
        """Tokenize a text or pair that fits the model.

        Raises:
            InputError: the input has too many tokens, or a text is empty or not valid Unicode.
        """
        return tokenized(self.tokenizer, text, text2, self.name, self.max_tokens)

    def run(self, tokenization: Tokenization) -> Any:
        """Run the model on one input, and return its output with hidden states and attention weights."""
        import torch

        inputs = {
            "input_ids": [token.id for token in tokenization.tokens],
            "attention_mask": [token.attended for token in tokenization.tokens],
        }
        if self.segment_rows:
            inputs["token_type_ids"] = self.segments(tokenization)
        with torch.inference_mode():
            return self.model(
                **{name: torch.tensor([row]) for name, row in inputs.items()},
                output_hidden_states=True,
                output_attentions=True,
            )

    @property
    def segment_rows(self) -> int:
        """Number of rows of the segment table; 0 if there is none."""
        return _segment_rows(self.model)

    def segments(self, tokenization: Tokenization) -> list[int]:
        """Return the row of the segment table for each token; RoBERTa's table has only one row."""
        return [min(token.segment, self.segment_rows - 1) for token in tokenization.tokens]

    def positions(self, tokenization: Tokenization) -> list[int]:
        """Return the row of the position table for each token.

        Rows count from 0. In RoBERTa and its descendants they count from the padding ID + 1, and the row of a padding
        token is the padding ID.
        """
        if self.kind not in _PADDED_POSITIONS:
            return list(range(len(tokenization.tokens)))
        padding = int(self.model.embeddings.position_embeddings.padding_idx)
        rows, count = [], padding
        for token in tokenization.tokens:
            count += token.id != padding
            rows.append(count if token.id != padding else padding)
        return rows


@cached_models
def load_checkpoint(name: str = DEFAULT_MODEL, offline: bool = False) -> Checkpoint:
    """Load the checkpoint of a model; the last three are cached.

    Raises:
        ModelError: the model cannot be found or loaded, lacks weights, or its family is not supported.
    """
    files = find_model(name, offline=offline)
    kind = str(files.config.get("model_type") or "")
    relative = files.config.get("position_embedding_type") not in (None, "absolute")
    if relative or kind not in FAMILIES:
        raise ModelError(
            f"cannot inspect '{files.name}': it is of type "
            f"'{kind}'{' with relative positions' if relative else ''}. Supported types: {', '.join(FAMILIES)}."
        )
    tokenizer = load_tokenizer(files.folder, files.name)
    model, missing = load_transformer(files, attn_implementation="eager")
    require_whole(files, missing)
    no_pooler = ""
    if getattr(model, "pooler", None) is None:
        no_pooler = f"models of type {kind} have no pooler"
    elif missing:
        no_pooler = "the checkpoint contains no pooler weights"
        model.pooler = None
    return Checkpoint(files, tokenizer, model, kind, no_pooler)


def _segment_rows(model: Any) -> int:
    """Return the number of segments that a transformers model distinguishes; 0 if it has no segment input."""
    if "token_type_ids" not in inspect.signature(model.forward).parameters:
        return 0
    return int(getattr(model.config, "type_vocab_size", 2) or 1)


Task = Literal["fill", "next", "answer", "tag", "label"]


class _Kind(NamedTuple):
    """A task.

    Attributes:
        named: description of what its head predicts.
        loads: transformers' class for it.
        saved_as: endings of the classes that save such a head, as in `architectures` of config.json. BERT's two
            pre-training heads are saved together, whichever of the three classes is declared.
        trained: a published checkpoint that was trained for it.
        command: the command that uses it.
        unit: what is counted where heads are measured, such as "questions".
    """

    named: str
    loads: str
    saved_as: tuple[str, ...]
    trained: str
    command: str
    unit: str


_PRETRAINED = ("ForMaskedLM", "ForNextSentencePrediction", "ForPreTraining")
KINDS: dict[Task, _Kind] = {
    "fill": _Kind(
        "masked words",
        "AutoModelForMaskedLM",
        _PRETRAINED,
        "bert-base-uncased",
        "seewhy lab fill",
        "masked tokens",
    ),
    "next": _Kind(
        "the next sentence",
        "AutoModelForNextSentencePrediction",
        _PRETRAINED,
        "bert-base-uncased",
        "seewhy lab next",
        "pairs of sentences",
    ),
    "answer": _Kind(
        "answer spans",
        "AutoModelForQuestionAnswering",
        ("ForQuestionAnswering",),
        "deepset/roberta-base-squad2",
        "seewhy lab ask",
        "questions",
    ),
    "tag": _Kind(
        "classes of tokens",
        "AutoModelForTokenClassification",
        ("ForTokenClassification",),
        "dslim/bert-base-NER",
        "seewhy lab tag",
        "sentences",
    ),
    "label": _Kind(
        "classes of texts",
        "AutoModelForSequenceClassification",
        ("ForSequenceClassification",),
        "ProsusAI/finbert",
        "seewhy lab label apply",
        "texts",
    ),
}
# Folder of the small head that corpora/lab/train.py saves in the cache for each task.
_SMALL: dict[Task, str] = {
    "fill": "masks", "next": "order", "answer": "answers", "tag": "entities", "label": "topics",
}  # fmt: skip
TRAINING = "training.json"  # in the folder of a trained model: the report of its training
_INPUTS_A_BATCH = 16  # inputs


@dataclass(frozen=True, eq=False)
class Head:
    """A loaded checkpoint with its head; create one with `load_head`.

    Attributes:
        model: the transformers model, in eval mode.
        labels: class names by number, for "tag" and "label"; () for other tasks.
        max_tokens: maximum number of tokens of an input, special tokens included.
        device: device that it computes on.
        held_out: how often it was right when it was trained; None if the checkpoint does not say.
    """

    task: Task
    files: ModelFiles
    tokenizer: tokenizers.Tokenizer
    model: Any
    labels: tuple[str, ...]
    max_tokens: int
    device: str
    held_out: HeldOut | None = None

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def made_with(self) -> dict[str, Any]:
        """Provenance to store with annotations: display name, classes, and hashes of the model's files."""
        return {
            CALLED: self.name,
            "weights": self.files.weights_sha256,
            "tokenizer": self.files.tokenizer_sha256,
            "config": self.files.config_sha256,
            "classes": list(self.labels),
        }

    def encoded(self, text: str, second: str | None = None) -> tokenizers.Encoding:
        """Tokenize a text or a pair; raise InputError if it has more tokens than the model reads."""
        encoding = self.tokenizer.encode(text) if second is None else self.tokenizer.encode(text, second)
        check_length(encoding, self.name, self.max_tokens)
        return encoding

    def windows(
        self, text: str, *, first: str | None = None, overlap: int = 64
    ) -> list[tokenizers.Encoding]:
        """Split a text of any length into overlapping windows that fit the model.

        Offsets refer to `text`. Every token of `text` is in at least one window.

        Args:
            first: text put before each window, such as a question. Its tokens get the sequence ID 0 and those of `text`
                get 1.
            overlap: number of tokens that neighbouring windows share; fewer if the model's limit is small.

        Raises:
            InputError: `first` leaves no room for the text.
        """
        whole = self.tokenizer.encode(text, add_special_tokens=False)
        before = None if first is None else self.tokenizer.encode(first, add_special_tokens=False)
        room = self.max_tokens - self.tokenizer.num_special_tokens_to_add(before is not None)
        room -= len(before.ids) if before else 0
        if room < 2:
            raise InputError(f"'{first}' is too long: it leaves no room for the text. Shorten it.")
        whole.truncate(room, stride=min(overlap, room // 2))
        parts = [whole, *whole.overflowing]
        if before is None:
            return [self.tokenizer.post_process(part) for part in parts]
        return [self.tokenizer.post_process(before, part) for part in parts]

    def run(self, inputs: Sequence[tokenizers.Encoding]) -> Iterator[dict[str, NDArray[np.float32]]]:
        """Yield the output of the head for each input, in order, without the padding.

        Yields:
            name -> array for an input of t tokens: "logits", which is (t, classes) for the task "tag", (t, vocabulary)
            for "fill", (classes,) for "label" and "next"; or "start_logits" and "end_logits", (t,) each, for "answer".
        """
        import torch

        names = ("start_logits", "end_logits") if self.task == "answer" else ("logits",)
        by_token = self.task in ("fill", "tag", "answer")
        for start in range(0, len(inputs), _INPUTS_A_BATCH):
            some = inputs[start : start + _INPUTS_A_BATCH]
            arguments = {
                name: torch.from_numpy(rows).to(self.device) for name, rows in self.batch(some).items()
            }
            with torch.inference_mode():
                output = self.model(**arguments)
            logits = {name: getattr(output, name).float().cpu().numpy() for name in names}
            for i, item in enumerate(some):
                yield {name: of[i, : len(item.ids)] if by_token else of[i] for name, of in logits.items()}

    def batch(self, inputs: Sequence[tokenizers.Encoding]) -> dict[str, NDArray[np.int64]]:
        """Return the model's arguments for n inputs, by name: padded arrays of shape (n, longest input)."""
        pad = int(self.files.config.get("pad_token_id") or 0)
        ids, types, mask = padded([Encoded(item.ids, item.type_ids) for item in inputs], pad)
        arguments = {"input_ids": ids, "attention_mask": mask}
        if segments := _segment_rows(self.model):
            arguments["token_type_ids"] = np.minimum(types, segments - 1)
        return arguments


@cached_models
def load_head(task: Task, name: str, offline: bool = False) -> Head:
    """Load a checkpoint with its head, on a GPU if there is one; the last three are cached.

    Raises:
        ModelError: the checkpoint cannot be found or loaded, it has no weights for the head, it was saved with another
            head, or transformers has no such head for this kind of model.
    """
    files = find_model(name, offline=offline)
    device = best_device()
    tokenizer = load_tokenizer(files.folder, files.name)
    kind = KINDS[task]
    model, missing = load_transformer(files, kind.loads)
    if other := other_head(task, files):
        saved_as, purpose = other
        raise ModelError(
            f"'{files.name}' is a {saved_as}: its head predicts {purpose.named}, not {kind.named}. "
            f"Use it with: {purpose.command} --model {from_anywhere(name)}"
        )
    if missing:
        raise ModelError(f"'{files.name}' has no head for {kind.named}. Use for example {kind.trained}.")
    names = model.config.id2label if task in ("tag", "label") else {}
    labels = tuple(str(names[number]) for number in range(len(names)))
    limit, held_out = token_limit(files, model), _held_out(task, files)
    return Head(task, files, tokenizer, model.to(device), labels, limit, device, held_out)


def _held_out(task: Task, files: ModelFiles) -> HeldOut | None:
    """Return how often a head was right, from the `training.json` in its folder."""
    try:
        figures = json.loads((files.folder / TRAINING).read_bytes())["held_out"][task]
        right, total = int(figures["right"]), int(figures["total"])
        unanswerable, refused = (int(figures.get(name, 0)) for name in ("unanswerable", "refused"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # not a head that seewhy trained
    if not 0 <= right <= total or total < 1:
        return None
    small = files.folder.parent == _small_heads().resolve()
    return HeldOut(right, total, KINDS[task].unit, small, unanswerable, refused)


def other_head(task: Task, files: ModelFiles) -> tuple[str, _Kind] | None:
    """Return the class that a checkpoint was saved as and what its head is for; None if it may be for `task`.

    A checkpoint without `architectures`, or with a class of no task here, is judged by its weights: a classifier of
    texts has a pooler or, in DistilBERT, a layer `pre_classifier`, which a classifier of tokens does not read.
    """
    for saved_as in files.config.get("architectures") or ():
        kinds = {name: kind for name, kind in KINDS.items() if saved_as.endswith(kind.saved_as)}
        if kinds:
            own = (
                kind for kind in kinds.values() if saved_as.endswith(kind.loads.removeprefix("AutoModel"))
            )
            return None if task in kinds else (saved_as, next(own, KINDS["fill"]))
    layers = _layers(files) if task == "tag" else set()
    if "classifier" in layers and layers & {"pooler", "pre_classifier"}:
        return "classifier of texts, by its weights", KINDS["label"]
    return None


def _layers(files: ModelFiles) -> set[str]:
    """Return the parts of the names of a checkpoint's tensors, such as "pooler" of "bert.pooler.dense.bias"."""
    from safetensors import safe_open

    names: set[str] = set()
    for path in files.folder.glob("*.safetensors"):
        with safe_open(path, "numpy") as opened:
            names.update(part for name in opened.keys() for part in name.split("."))  # noqa: SIM118 - no mapping
    return names


def _small_heads() -> Path:
    """Return the folder of the small heads of `make lab`."""
    return cache_home() / "lab"


def head_or_small(task: Task, model: str | None) -> str:
    """Return `model`; if it is None, the small head for the task that was trained on this machine.

    Raises:
        InputError: there is no such head.
    """
    folder = _small_heads() / _SMALL[task]
    if model is None and not folder.is_dir():
        raise InputError(
            f"give --model, for example {KINDS[task].trained}. Or train small heads, in about ten minutes: make lab"
        )
    return model or str(folder)


def from_anywhere(model: str) -> str:
    """Return a model's name, or its folder's absolute path, quoted for a command that may run anywhere."""
    folder = Path(model).expanduser()
    return quoted(folder.resolve()) if (folder / "config.json").is_file() else quoted(model)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of each row, (n, c); large logits do not overflow."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
