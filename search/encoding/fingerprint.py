"""What must be equal for two embeddings to be comparable.

A model's name is recorded for people to read; what decides is the sha256 of its weights and of its
tokenizer, so a model keeps its fingerprint wherever it is loaded from.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields

from search.errors import FingerprintMismatch, IndexDamaged

_LONGEST_PROMPT = 10_000  # characters

_HASH = "[0-9a-f]{64}"  # names a folder of the cache


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

    def as_dict(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, str]) -> Fingerprint:
        """The fingerprint that an index recorded.

        Raises:
            IndexDamaged: it was recorded by a version that knew less of it, or a hash is none.
        """
        known = {field.name for field in fields(cls)}
        try:
            found = cls(**{name: value for name, value in values.items() if name in known})
        except TypeError:
            raise IndexDamaged(
                "the index does not record all that its embeddings depend on; it was made by an older version. "
                "Build it again with: seewhy index FOLDER --rebuild"
            ) from None
        for name in ("weights", "tokenizer", "config"):
            if not re.fullmatch(_HASH, str(getattr(found, name))):
                raise IndexDamaged(
                    f"'{name}' in the fingerprint is not a hash. To fix this, run: seewhy index FOLDER --rebuild"
                )
        return found

    def differences(self, other: Fingerprint) -> list[tuple[str, str, str]]:
        """(what, mine, theirs) for everything that makes embeddings of the two incomparable.

        Other weights are named by the models' names where these tell them apart.
        """
        found = []
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine == theirs or field.name in ("model", "revision"):
                continue
            if field.name == "passages":
                found += _of_settings(mine, theirs)
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


def require_prompts(prompts: dict[str, str]) -> None:
    """Raise ValueError for prompts that no model can have."""
    for prompt in prompts.items():
        if not all(isinstance(text, str) and len(text) <= _LONGEST_PROMPT for text in prompt):
            raise ValueError(
                f"the prompt {prompt[0]!r:.40} is no text of at most {_LONGEST_PROMPT:,} characters"
            )
        "".join(prompt).encode()  # a lone surrogate cannot be


def _of_settings(mine: str, theirs: str) -> list[tuple[str, str, str]]:
    """(what, mine, theirs) of settings of passages."""
    try:
        one, two = json.loads(mine or "{}"), json.loads(theirs or "{}")
    except ValueError:
        return [("passages", mine, theirs)]
    return [
        (name.replace("_", " "), str(one.get(name, "none")), str(two.get(name, "none")))
        for name in dict.fromkeys([*one, *two])
        if one.get(name) != two.get(name)
    ]
