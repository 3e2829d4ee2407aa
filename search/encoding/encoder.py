"""The public `Encoder`: text in, embeddings and token vectors out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.encoding.batches import batches
from search.encoding.fingerprint import Fingerprint
from search.encoding.models import DEFAULT_MODEL, ModelFiles, find_model
from search.encoding.pooling import check_pooling, pool, unit
from search.encoding.tokenizer import Encoded, encode_ids, load_tokenizer, tokens
from search.errors import InputError, ModelError, TextTooLong
from search.records import TokenVectors

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

    from search.encoding.torch_engine import Hidden, TorchEngine

Role = Literal["query", "document"]
_PROMPT_NAMES = {"query": ("query",), "document": ("document", "passage")}


class Encoder:
    """A BERT-like encoder and a pooling.

    Args:
        model: a name on the Hugging Face hub, or a folder. Nothing is loaded until it is needed.
        pooling: "mean", "cls", "pooler", "max" or "mean_sqrt_len"; None takes what the model's own
            configuration says, "mean" where it says nothing.
        max_tokens: most tokens of one text, special tokens included; None takes the model's own limit.
        offline: never call out to the hub.
        device: "cpu", "cuda", "mps"; None takes a GPU where there is one.
        batch_tokens: most tokens in one batch, padding included.

    Raises:
        ModelError: the model cannot be found or used.
        InputError: a pooling or limit that does not exist.

    Example:
        >>> encoder = Encoder("bert-base-uncased", pooling="pooler")    # doctest: +SKIP
        >>> encoder.encode(["a", "b"]).shape                            # doctest: +SKIP
        (2, 768)
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        pooling: str | None = None,
        max_tokens: int | None = None,
        offline: bool = False,
        device: str | None = None,
        batch_tokens: int = 2048,
    ) -> None:
        self.files: ModelFiles = find_model(str(model), offline=offline)
        self.pooling = check_pooling(pooling or self.files.pooling)
        self.max_tokens = self._checked_limit(max_tokens)
        self._device = device
        self._batch_tokens = batch_tokens

    def _checked_limit(self, asked: int | None) -> int:
        if asked is None:
            return self.files.max_tokens
        most = int(self.files.config.get("max_position_embeddings") or 512)
        if not 3 <= asked <= most:
            raise InputError(
                f"max_tokens is {asked}, but '{self.files.name}' reads between 3 and {most} tokens."
            )
        return asked

    @property
    def model(self) -> str:
        """The name that the model was asked for by."""
        return self.files.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was assumed because the model does not say it."""
        return () if self.pooling != self.files.pooling else self.files.notes

    @property
    def dimension(self) -> int:
        """Length d of an embedding."""
        return int(
            self.files.config["hidden_size"]
            if "hidden_size" in self.files.config
            else self.files.config["dim"]
        )

    @property
    def n_layers(self) -> int:
        """Number of encoder layers; layer 0 is the embedding layer."""
        return self.engine.n_layers

    @cached_property
    def tokenizer(self) -> tokenizers.Tokenizer:
        """The model's tokenizer, without truncation and padding."""
        return load_tokenizer(self.files.folder, self.files.name)

    @cached_property
    def engine(self) -> TorchEngine:
        """The model itself, loaded at first use."""
        from search.encoding.torch_engine import TorchEngine

        engine = TorchEngine(self.files, self._device)
        if self.pooling == "pooler" and not engine.has_pooler:
            raise ModelError(
                f"'{self.files.name}' has no trained pooler, so pooling 'pooler' would give random numbers. "
                "Choose another pooling, 'mean' for instance."
            )
        return engine

    @property
    def fingerprint(self) -> Fingerprint:
        """What must be equal for embeddings of two encoders to be comparable."""
        return Fingerprint(
            model=self.files.name,
            weights=self.files.weights_sha256,
            tokenizer=self.files.tokenizer_sha256,
            pooling=self.pooling,
            dimension=str(self.dimension),
            max_tokens=str(self.max_tokens),
            prompts=json.dumps(self.files.prompts, sort_keys=True, ensure_ascii=False),
            normalized="yes",
        )

    def prompt(self, role: Role | None) -> str:
        """What the model's configuration puts before every query or document; usually nothing."""
        for name in _PROMPT_NAMES[role] if role else ():
            if name in self.files.prompts:
                return self.files.prompts[name]
        return ""

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        """Embeddings of texts.

        Args:
            texts: n strings; an empty string is encoded as its special tokens alone.
            role: puts the model's prompt for queries or documents before each text, if it has one.
            truncate: drop what goes beyond `max_tokens`. Without it such a text is an error.
            progress: called with (tokens done, tokens in all) after every batch.

        Returns:
            (n, d) float32, each row of length 1; row i belongs to text i whatever the batches were.

        Raises:
            TextTooLong: a text has more than `max_tokens` tokens and `truncate` is off.
            ModelError: the model returned NaN, infinity or zeros.
            InputError: `texts` is one string, or holds something that is no string.
        """
        encoded = self._encoded([self.prompt(role) + text for text in _strings(texts)], truncate)
        found = np.empty((len(encoded), self.dimension), dtype=np.float32)
        lengths = [len(text.ids) for text in encoded]
        done, total = 0, sum(lengths)
        for batch in batches(lengths, self._batch_tokens):
            hidden = self.engine.run([encoded[i] for i in batch], [self.engine.n_layers])
            found[batch] = self._embed(hidden)
            done += sum(lengths[i] for i in batch)
            if progress:
                progress(done, total)
        return found

    def tokens(
        self,
        texts: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        role: Role | None = None,
        layers: Sequence[int] = (-1,),
    ) -> list[TokenVectors]:
        """Token vectors of texts, with offsets, and the embeddings that are made of them.

        Args:
            contexts: for each text, what is encoded before it (a passage's headings); "" for nothing.
            layers: which layers to return; 0 is the embedding layer, -1 the last, as Python counts.

        Raises:
            TextTooLong: a text has more than `max_tokens` tokens. A token that was dropped could not
                be explained, so there is no `truncate` here.
        """
        texts = _strings(texts)
        contexts = [""] * len(texts) if contexts is None else _strings(contexts)
        prompt = self.prompt(role)
        encoded = self._encoded(
            [prompt + with_context(c, t) for c, t in zip(contexts, texts, strict=True)], False
        )
        wanted = sorted({self._layer(layer) for layer in layers} | {self.n_layers})
        found: dict[int, TokenVectors] = {}
        for batch in batches([len(text.ids) for text in encoded], self._batch_tokens):
            hidden = self.engine.run([encoded[i] for i in batch], wanted)
            embeddings = self._embed(hidden)
            for row, i in enumerate(batch):
                n = len(encoded[i].ids)
                found[i] = TokenVectors(
                    text=texts[i],
                    context=contexts[i],
                    tokens=tokens(self.tokenizer, prompt, contexts[i], texts[i]),
                    layers={layer: hidden.layers[layer][row, :n] for layer in wanted},
                    embedding=embeddings[row],
                )
        return [found[i] for i in range(len(texts))]

    def _encoded(self, texts: list[str], truncate: bool) -> list[Encoded]:
        encoded = encode_ids(self.tokenizer, texts, self.max_tokens)
        if not truncate:
            for position, text in enumerate(encoded):
                if text.dropped:
                    raise TextTooLong(position, len(text.ids) + text.dropped, self.max_tokens)
        return encoded

    def _embed(self, hidden: Hidden) -> NDArray[np.float32]:
        return unit(pool(hidden.layers[max(hidden.layers)], hidden.mask, self.pooling, hidden.pooler))

    def _layer(self, layer: int) -> int:
        number = layer + self.n_layers + 1 if layer < 0 else layer
        if not 0 <= number <= self.n_layers:
            raise InputError(f"layer {layer} does not exist: '{self.model}' has layers 0 to {self.n_layers}.")
        return number


def with_context(context: str, text: str) -> str:
    """What is encoded for a passage: its headings, a line break, its text."""
    return f"{context}\n{text}" if context else text


def _strings(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise InputError("texts is one string; pass a list of strings.")
    found = list(texts)
    for text in found:
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, but one is {type(text).__name__}.")
    return found
