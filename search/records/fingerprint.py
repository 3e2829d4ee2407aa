"""Fingerprint of embeddings: two embeddings are comparable only if their fingerprints agree.

A model is identified by the SHA-256 of its weights and of its tokenizer, so it has the same fingerprint wherever it is
loaded from. Its name is only recorded for people to read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Literal

from search.errors import FingerprintMismatch

WHOLE_TEXT = "whole-text"
"""Pooling of an encoder that a program brings: it gives embeddings of whole texts, without token vectors."""

PromptOrigin = Literal["from the model's files", "known for this family", "given", "none"]
"""Where an encoder has its prompts from."""
_NOT_COMPARED = ("model", "revision", "prompts_from")


@dataclass(frozen=True)
class Fingerprint:
    """Model, tokenizer and settings that produced an embedding.

    All values are text. Embeddings are comparable if all fields are equal, except `model`, `revision` and
    `prompts_from`.

    Attributes:
        model: the name that the model was loaded by.
        weights, tokenizer, config: SHA-256 in hexadecimal; `config` covers the part of the configuration that
            affects the computation.
        prompts: JSON of the prompts for queries and documents.
        precision: precision of the arithmetic: "fp32", "bf16" or "fp16".
        layer: the hidden states that are pooled: "-1" for the last layer, "concat:4" for those of the last 4.
        passages: JSON of the settings that passages were cut with; "" outside an index. A model name in it is
            not compared.
        revision: commit of a model from the Hugging Face hub, "" for others.
        prompts_from: a `PromptOrigin`.
    """

    model: str
    weights: str
    tokenizer: str
    config: str
    pooling: str
    dimension: str
    max_tokens: str
    prompts: str
    normalized: str
    precision: str = "fp32"
    layer: str = "-1"
    passages: str = ""
    revision: str = ""
    prompts_from: str = ""

    @property
    def prompts_line(self) -> str:
        """The prompts and their origin on one line: "query 'query: ', documents none (given)"."""
        if self.pooling == WHOLE_TEXT:
            return "left to the program"
        texts = json.loads(self.prompts)
        query, document = texts.get("query", ""), texts.get("document", texts.get("passage", ""))
        if not query and not document:
            return "none (given)" if self.prompts_from == "given" else "none"
        quotations = [repr(text) if text else "none" for text in (query, document)]
        origin = (
            self.prompts_from or "from the model's files"
        )  # of an index from before there was an origin
        return f"query {quotations[0]}, documents {quotations[1]} ({origin})"

    def differences(self, other: Fingerprint) -> list[tuple[str, str, str]]:
        """Return (name, own value, other value) for each field in which the two fingerprints are incompatible.

        A hash is written as the model's name with the first 12 digits of the hash.
        """
        rows = []
        for field in fields(self):
            own_value, other_value = getattr(self, field.name), getattr(other, field.name)
            if own_value == other_value or field.name in _NOT_COMPARED:
                continue
            if field.name in ("weights", "tokenizer", "config"):
                own_value, other_value = (
                    f"{self.model} ({own_value[:12]})",
                    f"{other.model} ({other_value[:12]})",
                )
            rows.append((field.name.replace("_", " "), own_value, other_value))
        return rows

    def require_equal(self, other: Fingerprint) -> None:
        """Raise FingerprintMismatch if embeddings with the two fingerprints cannot be compared."""
        differences = self.differences(other)
        if differences:
            raise FingerprintMismatch(differences)
