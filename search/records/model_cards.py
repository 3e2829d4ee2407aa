"""Published facts about an embedding model, to choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tracing = Literal["NumPy", "PyTorch"]


@dataclass(frozen=True)
class ModelCard:
    """An embedding model.

    Attributes:
        name: its name on the Hugging Face hub, or of a model of this package.
        languages: "English", or what it was trained for.
        parameters: millions of parameters.
        dimension, tokens: length of an embedding; maximum number of tokens of a text, 0 for no limit.
        licence: its licence.
        prompts: True if it needs prompts, which seewhy applies.
        retrieval: published mean nDCG@10, in percent, of the 15 public English retrieval sets of MTEB (BEIR); None if
            none was checked.
        source: address of that figure.
        cost: processor time of encoding, as a multiple of the default model's; None if it was not measured for a model
            of this shape.
        tracing: what explains its scores, all of them exactly: NumPy, or PyTorch, which takes seconds to load.
        best_for: the need that it is recommended for; "" for none.
    """

    name: str
    languages: str
    parameters: float
    dimension: int
    tokens: int
    licence: str
    prompts: bool
    retrieval: float | None
    source: str
    cost: float | None
    tracing: Tracing
    best_for: str = ""
