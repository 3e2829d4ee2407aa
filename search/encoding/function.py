"""Encoders from a program: a function or an object that returns embeddings of whole texts, without token vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from search.encoding import pooling as poolings
from search.encoding.encoder import Encoder, Role
from search.encoding.prompts import Prompts
from search.encoding.tokenizer import Encoded, strings
from search.errors import InputError, ModelError
from search.records.fingerprint import WHOLE_TEXT, Fingerprint
from search.records.tokens import Token, TokenVectors
from search.records.visible_text import Spans, VisibleText

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

_BATCH = 64  # texts in one call
_WORDS = 256  # words of a passage, if nothing else is chosen
_ADDEND = "whole text (no token vectors)"


class EncodesTexts(Protocol):
    """An object such as a `SentenceTransformer`: it encodes queries and documents, each with its prompt."""

    encode_query: Callable[..., Any]
    encode_document: Callable[..., Any]


AnyEncoder = Encoder | EncodesTexts | Callable[[list[str]], Any]
"""An `Encoder`, a `SentenceTransformer`, or a function from n texts to an (n, d) array."""


class FunctionEncoder(Encoder):
    """An encoder that calls functions of a program. Its embeddings are compared by its name only.

    Passages are cut by words, as there is no tokenizer. The meaning part of a score has one addend: the cosine.

    Args:
        documents: function from n texts to an (n, d) array.
        name: name of the encoder in the index; another name is another encoder.
        queries: the same for queries; None takes `documents`.
        max_tokens: maximum number of words of a passage.
    """

    def __init__(
        self,
        documents: Callable[[list[str]], Any],
        name: str,
        queries: Callable[[list[str]], Any] | None = None,
        *,
        max_tokens: int = _WORDS,
    ) -> None:
        self._functions = {"query": queries or documents}
        self._documents, self._name, self.max_tokens = documents, name, max_tokens
        self.pooling, self.precision, self.layer = WHOLE_TEXT, "fp32", "-1"
        self.prompts = Prompts()  # the functions apply their own
        self.dimension = self._called(documents, ["dimension"]).shape[1]

    def __reduce__(self) -> tuple[Any, ...]:
        raise InputError(
            f"the encoder '{self._name}' is a function, so workers cannot load it. Omit workers."
        )

    @property
    def model(self) -> str:
        return self._name

    @property
    def model_notes(self) -> tuple[str, ...]:
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        return ()

    @property
    def runs_on(self) -> str:
        return f"the function '{self._name}'"

    @property
    def n_layers(self) -> int:
        return 1

    @cached_property
    def tokenizer(self) -> tokenizers.Tokenizer:
        """A tokenizer whose tokens are words and punctuation marks."""
        from tokenizers import Tokenizer, models, pre_tokenizers

        tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer

    @property
    def fingerprint(self) -> Fingerprint:
        name = hashlib.sha256(self._name.encode()).hexdigest()
        settings = {"prompts": "{}", "normalized": "yes", "max_tokens": str(self.max_tokens)}
        return Fingerprint(
            self._name, name, "words", WHOLE_TEXT, WHOLE_TEXT, str(self.dimension), **settings
        )

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        texts = list(strings(texts))
        function = self._functions.get(role or "", self._documents)
        embeddings = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            rows = self._called(function, texts[start : start + _BATCH])
            if rows.shape[1] != self.dimension:
                raise ModelError(
                    f"the encoder '{self._name}' returned {rows.shape[1]} dimensions, before {self.dimension}."
                )
            embeddings[start : start + len(rows)] = poolings.unit(rows, self._name)
            if progress:
                progress(start + len(rows), len(texts))
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
        """Return the embedding of each text as the vector of a single token, which stands for the whole text."""
        inputs = self.inputs(texts, contexts=contexts, hidden=hidden, role=role)
        vectors = self.encode([text.whole for text in inputs], role=role)
        return [
            TokenVectors(
                text=text.text,
                context=text.context,
                hidden=text.hidden,
                tokens=text.tokens,
                layers={0: vector[None], 1: vector[None]},
                embedding=vector,
            )
            for text, vector in zip(inputs, vectors, strict=True)
        ]

    def _tokenized(
        self, whole: list[str], prompt: str, contexts: Sequence[str], read: Sequence[VisibleText]
    ) -> list[tuple[tuple[Token, ...], Encoded]]:
        """Return a single token for each text, which stands for the whole text."""
        token = Token(_ADDEND, 0, 0, 0, True, None, "special")
        return [((token,), Encoded([0], [0])) for _ in whole]

    def _called(self, function: Callable[[list[str]], Any], texts: list[str]) -> NDArray[np.float32]:
        rows = np.asarray(function(texts), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            shape = " x ".join(map(str, rows.shape))
            raise ModelError(
                f"the encoder '{self._name}' returned an array of {shape} for {len(texts)} texts; it must have a "
                "row for each text."
            )
        return rows


def encoder_from(source: AnyEncoder, name: str | None = None, max_tokens: int | None = None) -> Encoder:
    """Return an encoder for anything that encodes texts.

    Args:
        name: name of a function; None takes its `__name__`, or for a SentenceTransformer a hash of its weights.

    Raises:
        InputError: a function has no name, or `source` cannot encode.
    """
    if isinstance(source, Encoder):
        return source
    limit = max_tokens or _WORDS
    if documents := getattr(source, "encode_document", None):
        name, queries = name or _name_of_weights(source), getattr(source, "encode_query", None)
        return FunctionEncoder(documents, name, queries, max_tokens=limit)
    if not callable(source):
        raise InputError(
            "encoder must be an Encoder, a SentenceTransformer or a function of a list of texts."
        )
    name = name or getattr(source, "__name__", "")
    if not name or name == "<lambda>":
        raise InputError(
            "the encoder has no name. Add encoder_name='...', which identifies its embeddings."
        )
    return FunctionEncoder(source, name, max_tokens=limit)


def _name_of_weights(model: Any) -> str:
    """Return the name of a SentenceTransformer's model with a hash of its weights."""
    digest = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        digest.update(key.encode() + value.detach().cpu().float().numpy().tobytes())
    name = getattr(getattr(model, "model_card_data", None), "base_model", None) or type(model).__name__
    return f"{name} {digest.hexdigest()[:12]}"
