"""A model as transformers and PyTorch compute it, with everything inside within reach.

On the CPU and in float32, whatever the machine has: one text is read at a time, and what is shown must be
exact. Attention is computed the plain way ("eager"), as quicker ways never form the weights.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from search.bert.tokenizing import tokenized
from search.encoding.loading import load_transformer, require_whole, token_limit
from search.encoding.models import DEFAULT_MODEL, ModelFiles, find_model
from search.encoding.tokenizer import load_tokenizer
from search.errors import ModelError
from search.records.inspections import Tokenization

if TYPE_CHECKING:
    import tokenizers

FAMILIES = ("albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
"""Values of `model_type` in config.json whose embedding layer is known here, part by part."""

_PADDED_POSITIONS = ("camembert", "mpnet", "roberta", "xlm-roberta")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A loaded model.

    Attributes:
        model: the transformers model, in eval mode.
        kind: one of FAMILIES.
        no_pooler: why there is no pooler to look at; "" if there is one.
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
        """Most tokens of one input, special ones included."""
        return token_limit(self.files, self.model)

    @property
    def layers(self) -> int:
        return int(self.model.config.num_hidden_layers)

    @property
    def heads(self) -> int:
        return int(self.model.config.num_attention_heads)

    def tokens(self, text: str, text2: str | None = None) -> Tokenization:
        """The tokens of an input that fits the model.

        Raises:
            InputError: it does not, or a text is empty or no valid Unicode.
        """
        return tokenized(self.tokenizer, text, text2, self.name, self.max_tokens)

    def run(self, made: Tokenization, *, attentions: bool = False) -> Any:
        """What the model returns for one input: hidden states, attention weights if they are asked for."""
        import torch

        inputs = {
            "input_ids": [token.id for token in made.tokens],
            "attention_mask": [token.attended for token in made.tokens],
        }
        if self.takes_segments:
            inputs["token_type_ids"] = self.segments(made)
        with torch.inference_mode():
            return self.model(
                **{name: torch.tensor([row]) for name, row in inputs.items()},
                output_hidden_states=not attentions,
                output_attentions=attentions,
            )

    @property
    def takes_segments(self) -> bool:
        """The model has a table of segments, and can be told which row to take."""
        return (
            getattr(self.model.embeddings, "token_type_embeddings", None) is not None
            and "token_type_ids" in inspect.signature(self.model.forward).parameters
        )

    def segments(self, made: Tokenization) -> list[int]:
        """Rows of the segment table; RoBERTa's has only one."""
        rows = self.model.embeddings.token_type_embeddings.num_embeddings
        return [min(token.segment, rows - 1) for token in made.tokens]

    def positions(self, made: Tokenization) -> list[int]:
        """Rows of the position table: from 0, or from the padding's id on in RoBERTa and its descendants."""
        if self.kind not in _PADDED_POSITIONS:
            return list(range(len(made.tokens)))
        padding = int(self.model.embeddings.position_embeddings.padding_idx)
        found, count = [], padding
        for token in made.tokens:
            count += token.id != padding
            found.append(count if token.id != padding else padding)
        return found


@lru_cache(maxsize=1)
def load_checkpoint(name: str = DEFAULT_MODEL, offline: bool = False) -> Checkpoint:
    """The checkpoint of a model; that of the last call is kept.

    Raises:
        ModelError: it cannot be found or loaded, weights are missing, or it belongs to no known family.
    """
    files = find_model(name, offline=offline)
    kind = str(files.config.get("model_type") or "")
    _check_family(files, kind)
    tokenizer = load_tokenizer(files.folder, files.name)
    model, missing = load_transformer(files, attn_implementation="eager")
    require_whole(files, missing)
    no_pooler = ""
    if getattr(model, "pooler", None) is None:
        no_pooler = f"models of type {kind} have none"
    elif missing:
        no_pooler = "the model's file holds no weights for it"
    return Checkpoint(files, tokenizer, model, kind, no_pooler)


def _check_family(files: ModelFiles, kind: str) -> None:
    relative = files.config.get("position_embedding_type") not in (None, "absolute")
    if kind in FAMILIES and not relative:
        return
    why = "relative positions" if relative else f"type '{kind}'" if kind else "unknown type"
    raise ModelError(
        f"'{files.name}' is a model of {why}, which cannot be taken apart here. "
        f"Models of these types can: {', '.join(FAMILIES)}."
    )
