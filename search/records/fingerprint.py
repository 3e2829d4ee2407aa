"""What must be equal for two embeddings to be comparable.

A model's name is recorded for people to read; what decides is the sha256 of its weights and of its
tokenizer, so a model keeps its fingerprint wherever it is loaded from.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from search.errors import FingerprintMismatch


@dataclass(frozen=True)
class Fingerprint:
    """How an embedding was made.

    Attributes:
        model: the name it was asked for by. Not compared when the hashes agree.
        weights, tokenizer, config: sha256 in hexadecimal, the last of what the configuration says about
            the computation.
        prompts: JSON of the prompts for queries and documents.
        precision: of the arithmetic: "fp32", "bf16" or "fp16".
        layer: which hidden states are pooled: "-1" for the last layer, "mean:4" for the mean of the last 4.
        passages: JSON of the settings that passages were cut with; "" outside an index. The name of a model in it is
            not compared.
        revision: commit of a model that came from the hub, "" for others. For people, not compared.
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

    def differences(self, other: Fingerprint) -> list[tuple[str, str, str]]:
        """(what, mine, theirs) for everything that makes embeddings of the two incomparable.

        Other weights are named by the models' names where these tell them apart.
        """
        found = []
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine == theirs or field.name in ("model", "revision"):
                continue
            if field.name in ("weights", "tokenizer", "config"):
                mine, theirs = f"{self.model} ({mine[:12]})", f"{other.model} ({theirs[:12]})"
            found.append((field.name.replace("_", " "), mine, theirs))
        return found

    def require_equal(self, other: Fingerprint) -> None:
        """Raise FingerprintMismatch if embeddings made with `other` cannot be compared with mine."""
        found = self.differences(other)
        if found:
            raise FingerprintMismatch(found)
