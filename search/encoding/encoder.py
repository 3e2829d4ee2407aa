"""The public `Encoder`: from texts to embeddings and token vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from search.encoding import pooling as poolings
from search.encoding import tokenizer as tokenizing
from search.encoding.cache import cached_model, packaged
from search.encoding.description import MIXING, KnownModel, describe
from search.encoding.distil import make_static_model
from search.encoding.engine import OF_OPENVINO, batches, check_engine, claim_process
from search.encoding.engines import open_engine
from search.encoding.models import DEFAULT_MODEL, STATIC_MODEL, ModelFiles, find_model, has_static_model
from search.encoding.pooling import POOLINGS, Dense, combined, layer_number, pooled_layers
from search.encoding.prompts import Prompts, Role, family_of
from search.encoding.tokenizer import (
    Encoded,
    ModelInput,
    encode_ids,
    load_tokenizer,
    strings,
    with_context,
)
from search.encoding.used import name_here
from search.errors import InputError, ModelError, quoted
from search.records.fingerprint import WHOLE_TEXT, Fingerprint
from search.records.tokens import Token, TokenVectors
from search.records.visible_text import Spans, VisibleText

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray
    from typing_extensions import Self

    from search.encoding.engine import Hidden
    from search.encoding.engines import Engine
    from search.encoding.torch_engine import TorchEngine
    from search.records.options import EngineName, Pooling, Precision

__all__ = ["Encoder", "Role", "with_context"]


class Encoder:
    """A BERT-like encoder with its pooling: computes embeddings and token vectors of texts.

    Models such as e5 and bge need a prompt before each text. It comes from the model's
    `config_sentence_transformers.json`, or for a known family from `search.encoding.prompts`: `encode(texts,
    role="query")` puts the prompt "query" before each text, `role="document"` the prompt "document" or "passage". An
    index passes the roles by itself; the prompts are part of its fingerprint, and in explanations their tokens have a
    line of their own.

    Args:
        model: a name on the Hugging Face hub, NAME@REVISION to pin one, or a folder. Nothing is loaded until it is
            needed.
        pooling: one of `search.encoding.pooling.POOLINGS`, such as "mean", "cls" or "pooler"; None takes the model's
            own, "mean" by default.
        layer: hidden states to pool: a number in Python's convention (-1 is the last layer, 0 the embedding layer), or
            "mean:4", "sum:4" or "concat:4" for the mean, sum or concatenation of the last 4 layers.
        dim: number of dimensions to keep, for models trained for it (Kusupati et al. 2022, "Matryoshka Representation
            Learning"); None keeps all.
        max_tokens: maximum number of tokens of a text, special tokens included; None takes the model's limit.
        query_prompt, document_prompt: prompts to use instead of the model's own; "" for none, None for its own.
        offline: never download from the hub.
        engine: "auto", "openvino" or "torch"; see `search.encoding.engine`. All give the same embeddings, up to
            rounding.
        precision: "fp32", "bf16" or "fp16". The last two differ slightly and are faster on a GPU, bf16 also on a
            processor that supports it; fp16 needs the engine "torch". Pooling and later steps are always computed in
            float32.
        device: PyTorch's device: "cpu", "cuda", "mps"; None takes a GPU if there is one.
        batch_tokens: maximum number of tokens in a batch, padding included; None takes what suits the engine.

    Raises:
        ModelError: the model cannot be found or used.
        InputError: unknown pooling, limit or precision, or one that the engine does not support.

    Example:
        >>> encoder = Encoder("bert-base-uncased", pooling="pooler")    # doctest: +SKIP
        >>> encoder.encode(["a", "b"]).shape                            # doctest: +SKIP
        (2, 768)
    """

    of_queries: Encoder | None = None
    """The encoder of queries, if the model has other modules for them than for documents."""

    def __init__(
        self,
        model: str | ModelFiles | KnownModel = DEFAULT_MODEL,
        *,
        pooling: Pooling | None = None,
        layer: int | str = -1,
        dim: int | None = None,
        max_tokens: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        offline: bool = False,
        engine: EngineName = "auto",
        precision: Precision = "fp32",
        device: str | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        check_engine(engine, precision)
        if not isinstance(model, (ModelFiles, KnownModel)):
            model = model_of(str(model), offline)
        self._source = describe(model) if isinstance(model, ModelFiles) else model
        self.files, self.description = self._source.files, self._source.description
        self.precision = "fp32" if self.files.is_static else precision
        self.pooling = self._pooling(pooling)
        self.max_tokens = self._max_tokens(max_tokens)
        self.layer = poolings.check_layer(layer, self.description.layers)
        if ":" in self.layer and MIXING in self.description.only_torch:
            raise InputError(f"'{self.model}' mixes layers itself. Choose a single layer.")
        self.dimension = self._dimension(dim)
        prompts = self._source.prompts or Prompts.of_model(self.files, self.description.prompts)
        self.prompts = prompts.changed(query_prompt, document_prompt)
        self._choice, self._device, self._offline, self._many = engine, device, offline, True
        self._batch_tokens = batch_tokens
        if self._source.of_queries:
            self.of_queries = type(self)(
                self._source.of_queries,
                pooling=None,
                dim=self.dimension if dim else None,
                offline=offline,
                engine=engine,
                precision=precision,
                device=device,
                batch_tokens=batch_tokens,
            )
            self.of_queries.prompts = self.prompts
            if self.of_queries.dimension != self.dimension:
                raise ModelError(
                    f"'{self.model}' embeds queries in {self.of_queries.dimension} dimensions, and documents in "
                    f"{self.dimension}."
                )
        self._engine: Engine | None = None
        self._loading = threading.Lock()

    @classmethod
    def of(
        cls,
        fingerprint: Fingerprint,
        *,
        model: str | None = None,
        pooling: Pooling | None = None,
        precision: Precision | None = None,
        offline: bool = False,
        engine: EngineName = "auto",
        trusted: bool = True,
        many: bool = False,
    ) -> Self:
        """Return an encoder whose embeddings have this fingerprint.

        If its model was converted on this machine, it is loaded from the cache by the hash of its weights, and the
        model's own folder is not read.

        Args:
            fingerprint: fingerprint of existing embeddings.
            model, pooling, precision: must be the same as in the fingerprint; None skips the check.
            trusted: True if the user gave the name of the model; see `named_model`.
            many: True if many texts will be encoded, so that loading PyTorch for a GPU is worth it.

        Raises:
            ModelError: the model cannot be found, or is not trusted; see `named_model`.
            FingerprintMismatch: the options, or the model that now has this name, give other embeddings.
        """
        if fingerprint.pooling == WHOLE_TEXT:
            raise ModelError(
                f"the index was built with the encoder '{fingerprint.model}' of a program. Open it from Python with "
                "that encoder: search.Index.open(..., encoder=...)"
            )
        # The cache contains the files for OpenVINO, but not the weights for PyTorch.
        # A pooling of several kinds needs PyTorch, too.
        quick = model is None and engine != "torch" and fingerprint.precision in OF_OPENVINO
        quick = quick and fingerprint.pooling in POOLINGS
        name = model or (
            fingerprint.model
            if trusted
            else name_here(fingerprint.weights, fingerprint.tokenizer, fingerprint.config)
        )
        source = (
            cached_model(fingerprint.weights, fingerprint.tokenizer, fingerprint.config)
            if quick
            else None
        )
        if source and name and not source.files.route:
            source = KnownModel(
                replace(source.files, name=name, revision=fingerprint.revision),
                source.description,
                find=lambda: describe(find_model(name, offline=offline)),
            )
        else:
            source = model_of(name or named_model(fingerprint, trusted), offline)
        same = source.files.weights_sha256 == fingerprint.weights
        encoder = cls(
            replace(source, prompts=Prompts.of_fingerprint(fingerprint)),
            pooling=pooling or cast("Pooling", fingerprint.pooling),
            layer=fingerprint.layer if same else -1,
            dim=int(fingerprint.dimension) if same else None,
            max_tokens=int(fingerprint.max_tokens) if same else None,
            offline=offline,
            engine=engine,
            precision=precision or cast("Precision", fingerprint.precision),
        )
        encoder._many = many
        if encoder.of_queries:
            encoder.of_queries._many = many
        fingerprint.require_equal(replace(encoder.fingerprint, passages=fingerprint.passages))
        return encoder

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fingerprint and the options; unpickling loads the model again, also in another process."""
        make = partial(type(self).of, offline=self._offline, engine=self._choice, many=self._many)
        return make, (self.fingerprint,), {"_device": self._device, "_batch_tokens": self._batch_tokens}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for encoder in (self, self.of_queries):
            if encoder:
                vars(encoder).update(state)

    @property
    def model(self) -> str:
        """Name of the model, as given by the caller."""
        return self.files.name

    @property
    def whole(self) -> KnownModel:
        """The model with its original files; see `KnownModel.whole`."""
        return self._source.whole()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on assumptions about the model, and on engines that cannot run it."""
        return (*self.model_notes, *self.remarks)

    @property
    def model_notes(self) -> tuple[str, ...]:
        """Notes on assumptions about the model, and on a pooling or prompts that do not suit it."""
        notes = self.description.notes(self.model, self.pooling)
        if self.prompts.origin == "none" and family_of(self.files):
            notes += (
                f"{self.model} was trained with prompts, and this index has none. To use them, add to seewhy index: "
                "--rebuild",
            )
        return notes

    @property
    def remarks(self) -> tuple[str, ...]:
        """The reason why PyTorch replaces OpenVINO, as a note; () if it does not."""
        instead = self._engine.instead if self._engine else ""
        return (f"PyTorch encodes {instead}",) if instead else ()

    @property
    def runs_on(self) -> str:
        """Engine, device and precision for display: "openvino on cpu, fp32"."""
        engine = self.engine
        why = f" ({engine.instead})" if engine.instead else ""
        return f"{engine.name} on {engine.device}, {self.precision}{why}"

    @cached_property
    def dense(self) -> tuple[Dense, ...]:
        """Dense modules of the model, applied after pooling; usually none."""
        dense = self.description.dense
        return tuple(poolings.load_dense(self.files.folder / module, name) for module, name in dense)

    @property
    def n_layers(self) -> int:
        """Number of encoder layers; layer 0 is the embedding layer."""
        return self.description.layers

    @cached_property
    def tokenizer(self) -> tokenizers.Tokenizer:
        """Tokenizer of the model, without truncation and padding."""
        has_special = not self.files.is_static
        folder, lowercase = self.files.inputs_folder, self.description.lowercase
        return load_tokenizer(folder, self.files.name, lowercase, has_special)

    @property
    def engine(self) -> Engine:
        """Engine that runs the model, loaded once at first use; threads wait for each other.

        Raises:
            ModelError: the model cannot be loaded, or was loaded before this process was forked.
        """
        claim_process()
        with self._loading:
            if self._engine is None:
                engine = open_engine(self._source, self._choice, self._device, self._many, self.precision)
                self._source = replace(self._source, loaded=None)
                if self.pooling == "pooler" and not engine.has_pooler:
                    raise ModelError(
                        f"'{self.files.name}' has no pooler weights. Choose another pooling, for example mean."
                    )
                self._engine = engine
            return self._engine

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of the embeddings. Embeddings of two encoders are comparable if their fingerprints are equal."""
        return Fingerprint(
            model=self.files.name,
            weights=self.files.weights_sha256,
            tokenizer=self.files.tokenizer_sha256,
            config=self.files.config_sha256,
            pooling=self.pooling,
            dimension=str(self.dimension),
            max_tokens=str(self.max_tokens),
            prompts=self.prompts.as_json,
            normalized="yes",
            precision=self.precision,
            revision=self.files.revision,
            layer=self.layer,
            prompts_from=self.prompts.origin,
        )

    def prompt(self, role: Role | None) -> str:
        """Return the prompt that is put before every query or document; "" for most models."""
        return self.prompts.by_role.get(role, "")

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        """Return the embeddings of texts.

        Args:
            texts: n strings; an empty string is encoded as its special tokens.
            role: put the model's prompt for queries or documents before each text, if it has one.
            truncate: truncate texts of more than `max_tokens` tokens. By default they are an error.
            progress: called with (tokens done, total tokens) after each batch.

        Returns:
            (n, d) float32, each row of length 1; row i belongs to text i and does not depend on the batches.

        Raises:
            TextTooLong: a text has more than `max_tokens` tokens and `truncate` is off.
            ModelError: the model returned NaN, infinity or zeros.
            InputError: `texts` is a single string, or contains something that is not a string.
        """
        if role == "query" and self.of_queries:
            return self.of_queries.encode(texts, role=role, truncate=truncate, progress=progress)
        prompt = self.prompt(role)
        encoded = self._encoded([prompt + text for text in strings(texts)], truncate)
        embeddings = np.empty((len(encoded), self.dimension), dtype=np.float32)
        done, total = 0, sum(len(text.ids) for text in encoded)
        for batch, hidden in self._run(encoded, pooled_layers(self.layer, self.n_layers)):
            embeddings[batch] = self._embed(hidden, role)
            done += int(hidden.mask.sum())
            if progress:
                progress(done, total)
        return embeddings

    def tokens(
        self,
        texts: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        hidden: Sequence[Spans] | None = None,
        role: Role | None = None,
        layers: Sequence[int | str] = (-1,),
    ) -> list[TokenVectors]:
        """Return the token vectors of texts, with offsets, and their embeddings.

        Args:
            contexts: text encoded before each text (a passage's headings); "" for none.
            hidden: spans of each text that are not encoded (a passage's markup).
            layers: layers to return; 0 is the embedding layer, -1 the last, "mean:4" as for the encoder.

        Raises:
            TextTooLong: a text has more than `max_tokens` tokens. Nothing is truncated, because dropped tokens could
                not be explained.
        """
        if role == "query" and self.of_queries:
            return self.of_queries.tokens(
                texts, contexts=contexts, hidden=hidden, role=role, layers=layers
            )
        inputs = self.inputs(texts, contexts=contexts, hidden=hidden, role=role)
        encoded = [text.encoded for text in inputs]
        choices = {
            layer if isinstance(layer, str) else layer_number(layer, self.n_layers): poolings.check_layer(
                layer, self.n_layers
            )
            for layer in (self.n_layers, *layers)
        }
        pooled = (pooled_layers(choice, self.n_layers) for choice in (self.layer, *choices.values()))
        numbers = sorted(set(chain(*pooled)))
        results: dict[int, TokenVectors] = {}
        for batch, states in self._run(encoded, numbers):
            embeddings = self._embed(states, role)
            by_choice = {
                name: combined(states.layers, choice, self.n_layers) for name, choice in choices.items()
            }
            for row, i in enumerate(batch):
                n = len(encoded[i].ids)
                results[i] = TokenVectors(
                    text=inputs[i].text,
                    context=inputs[i].context,
                    hidden=inputs[i].hidden,
                    tokens=inputs[i].tokens,
                    layers={name: by_choice[name][row, :n].copy() for name in by_choice},
                    embedding=embeddings[row],
                )
        return [results[i] for i in range(len(inputs))]

    def inputs(
        self,
        texts: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        hidden: Sequence[Spans] | None = None,
        role: Role | None = None,
    ) -> list[ModelInput]:
        """Return texts as the model reads them, without running it; arguments and errors as for `tokens`."""
        if role == "query" and self.of_queries:
            return self.of_queries.inputs(texts, contexts=contexts, hidden=hidden, role=role)
        texts = strings(texts)
        contexts = [""] * len(texts) if contexts is None else strings(contexts)
        hidden = [()] * len(texts) if hidden is None else hidden
        read = [VisibleText(text, spans) for text, spans in zip(texts, hidden, strict=True)]
        prompt = self.prompt(role)
        whole = [prompt + with_context(c, r.text) for c, r in zip(contexts, read, strict=True)]
        tokenized = self._tokenized(whole, prompt, contexts, read)
        return [
            ModelInput(texts[i], contexts[i], hidden[i], whole[i], role, *of_text)
            for i, of_text in enumerate(tokenized)
        ]

    def _tokenized(
        self, whole: list[str], prompt: str, contexts: Sequence[str], read: Sequence[VisibleText]
    ) -> list[tuple[tuple[Token, ...], Encoded]]:
        """Return the tokens of texts, of which `whole` is what is encoded, and their ids."""
        return [
            (tokenizing.tokens(self.tokenizer, prompt, context, text), encoded)
            for context, text, encoded in zip(contexts, read, self._encoded(whole, False), strict=True)
        ]

    def _run(self, encoded: list[Encoded], layers: list[int]) -> Iterator[tuple[list[int], Hidden]]:
        """Yield (positions of the batch's texts, their hidden states) for each batch."""
        engine = self.engine
        lengths = [len(text.ids) for text in encoded]
        plan = list(batches(lengths, self._batch_tokens or engine.batch_tokens))
        texts = ([encoded[position] for position in positions] for positions in plan)
        return zip(plan, engine.run(texts, layers), strict=True)

    def _encoded(self, texts: list[str], truncate: bool) -> list[Encoded]:
        claim_process()
        encoded = encode_ids(self.tokenizer, texts, self.max_tokens)
        if not truncate:
            tokenizing.require_whole(encoded, self.max_tokens)
        return encoded

    def skipped(self, role: Role | None) -> int:
        """Return the number of first tokens that are not pooled: those of the prompt, for models trained so."""
        prompt = "" if self.description.pools_prompt else self.prompt(role)
        if not prompt:
            return 0
        encoding = self.tokenizer.encode(prompt)
        return len(encoding.ids) - encoding.special_tokens_mask[-1]

    def _embed(self, hidden: Hidden, role: Role | None) -> NDArray[np.float32]:
        states = combined(hidden.layers, self.layer, self.n_layers)
        skipped = self.skipped(role)
        if self.description.only_torch:
            vectors = cast("TorchEngine", self.engine).embed(states, hidden.mask, skipped)
        else:
            vectors = poolings.pool(states, hidden.mask, self.pooling, hidden.pooler, skipped)
            for dense in self.dense:
                vectors = dense(vectors)
        # A text without any token of a static model has a vector of zeros.
        kept, is_static = vectors[:, : self.dimension], self.files.is_static
        return poolings.unit(kept, self.files.name, allow_zeros=is_static)

    def _pooling(self, pooling: Pooling | None) -> str:
        own, only = self.description.pooling, self.description.only_torch
        if self.files.is_static and pooling not in (None, own):
            raise InputError(f"'{self.model}' is a static model, so its pooling is always '{own}'.")
        if only and pooling not in (None, own):
            raise InputError(f"'{self.model}' has {only}, so its pooling cannot be changed from '{own}'.")
        return own if pooling in (None, own) else poolings.check_pooling(str(pooling))

    def _max_tokens(self, limit: int | None) -> int:
        """Return the maximum number of tokens of a text: `limit`, or the model's own."""
        if limit is None:
            return self.description.max_tokens
        most = self.description.positions
        if not 3 <= limit <= most:  # room for [CLS], [SEP] and something between
            raise InputError(f"max_tokens is {limit}; for '{self.model}', choose from 3 to {most}.")
        return limit

    def _dimension(self, dim: int | None) -> int:
        """Return the number of dimensions to keep: `dim`, or the number in the model's configuration."""
        whole = self.description.dimension
        if self.layer.startswith("concat:"):
            if self.description.dense or self.description.only_torch or self.pooling == "pooler":
                raise InputError(f"'{self.model}' cannot pool the layer '{self.layer}'. Choose mean:N.")
            whole *= len(pooled_layers(self.layer, self.n_layers))
        if dim is not None and not 1 <= dim <= whole:
            raise InputError(f"dim is {dim}; for '{self.model}', choose from 1 to {whole}.")
        return dim or self.description.truncate or whole


def model_of(name: str, offline: bool) -> KnownModel:
    """Find a model and describe it; the default model may come converted, from a package.

    The static model of this machine is made at its first use.
    """
    if name == STATIC_MODEL and not has_static_model():
        make_static_model(describe(find_model(offline=offline)))
    if model := packaged(name):
        return replace(model, find=lambda: describe(find_model(name, offline=offline)))
    return describe(find_model(name, offline=offline))


def named_model(fingerprint: Fingerprint, trusted: bool) -> str:
    """Return the name under which to look for the model of a fingerprint.

    An index from somebody else may name any model or folder. So a model is only loaded or downloaded if the user gave
    its name, or already used a model with the same hashes on this machine.

    Args:
        trusted: this user built the index that the fingerprint comes from.

    Raises:
        ModelError: the user has neither given the name nor used the model on this machine.
    """
    if trusted or fingerprint.model.removeprefix("sentence-transformers/") == DEFAULT_MODEL:
        return fingerprint.model
    if name := name_here(fingerprint.weights, fingerprint.tokenizer, fingerprint.config):
        return name
    raise ModelError(
        f"the index uses the model '{fingerprint.model}', which you have never used here. If you "
        f"trust it, add: --model {quoted(fingerprint.model)}"
    )
