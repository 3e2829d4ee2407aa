"""What a model can learn from texts without labels, as losses for the trainer.

MaskedWords   say which word stands behind a mask (Devlin et al. 2019, "BERT", section 3.1)
Denoising     write a text again from the embedding of what is left of it (Wang et al. 2021, "TSDAE")
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from search.encoding.loading import load_transformer
from search.encoding.models import ModelFiles
from search.errors import InputError, ModelError, first_line
from search.records.evaluations import Estimate
from search.statistics import mean_of
from search.training.model import losses, seeded, shown_name
from search.training.scoring import Figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

MASKED = 0.15
DELETED = 0.6
_BATCH = 16
_LONG = 20  # characters a word, on average; no language that parts its words has so many


class Adapting(Protocol):
    """A loss that is computed of texts alone.

    Attributes:
        module: for the trainer.
        notes: what had to be made up, as sentences.
    """

    module: Any
    notes: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The name of its class."""

    def columns(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """What the trainer is given."""

    def values(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(n,) the loss of texts, with the same masks or deletions at every call."""


def objective_of(name: str, model: Any, files: ModelFiles, seed: int) -> Adapting:
    """
    Args:
        name: "mlm" or "denoising".

    Raises:
        ModelError: the model's architecture cannot learn this.
    """
    return MaskedWords(model, files, seed) if name == "mlm" else Denoising(model, files, seed)


class AdaptingMeasure:
    """Held-out passages: their mean loss."""

    primary = "loss"

    def __init__(self, objective: Adapting, texts: Sequence[str], seed: int) -> None:
        self._objective, self._texts, self._seed = objective, texts, seed

    def score(self, model: Any) -> float:
        return float(self._objective.values(self._texts).mean())

    def figures(self, model: Any) -> Figures:
        values = self._objective.values(self._texts)
        return Figures({"loss": mean_of(values, seed=self._seed)}, {"loss": values})

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        return {"loss": mean_of(after.values["loss"] - before.values["loss"], seed=self._seed)}


class MaskedWords:
    """15 % of the tokens are chosen, of each text at least one; 80 % of those are masked, 10 % replaced, 10 % left.

    The head is the checkpoint's own where its file holds one, and else a fresh one whose last layer is the table of
    word embeddings. The encoder inside is the model that is trained.
    """

    kind = "masked-language modelling"

    def __init__(self, model: Any, files: ModelFiles, seed: int) -> None:
        import torch
        from transformers import DataCollatorForLanguageModeling

        tokenizer = model.tokenizer
        if tokenizer.mask_token is None:
            raise ModelError(f"'{files.name}' has no token for a mask. Take --objective denoising.")
        with seeded(seed):
            whole, missing = load_transformer(files, "AutoModelForMaskedLM")
        base = whole.base_model_prefix
        setattr(whole, base, model[0].auto_model)
        whole.tie_weights()
        fresh = sorted(name for name in missing if not name.startswith((f"{base}.", "pooler.")))
        self.notes: tuple[str, ...] = (
            (
                f"the file of '{shown_name(files.name)}' holds no head for masked words, so a fresh one learns, too; "
                "part of what the loss falls by is due to that",
            )
            if fresh
            else ()
        )
        collator = DataCollatorForLanguageModeling(tokenizer, mlm=True, mlm_probability=MASKED)
        self._model, self._seed = model, seed

        class Module(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.whole = whole

            def logits(self, features: dict[str, Any]) -> tuple[Any, Any]:
                """Logits and labels, -100 where nothing was asked."""
                given = {name: features[name] for name in _INPUTS if name in features}
                ids = given["input_ids"].cpu()
                special = torch.tensor(
                    [
                        tokenizer.get_special_tokens_mask(row, already_has_special_tokens=True)
                        for row in ids.tolist()
                    ]
                ).bool()
                masked, labels = collator.torch_mask_tokens(ids, special_tokens_mask=special)
                for row in (labels < 0).all(dim=1).nonzero().flatten().tolist():
                    places = (~special[row]).nonzero().flatten()
                    if len(places):
                        place = int(places[torch.randint(len(places), (1,))])
                        labels[row, place] = masked[row, place]
                        masked[row, place] = tokenizer.mask_token_id
                given["input_ids"] = masked.to(features["input_ids"].device)
                return self.whole(**given).logits, labels.to(features["input_ids"].device)

            def forward(self, sentence_features: Any, labels: Any = None) -> Any:
                logits, wanted = self.logits(next(iter(sentence_features)))
                if not (wanted >= 0).any():  # none of the texts has a word that the vocabulary knows
                    return logits.sum() * 0.0
                return torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())

        self.module = Module()

    def columns(self, texts: Sequence[str]) -> dict[str, list[str]]:
        return {"text": list(texts)}

    def values(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Mean over the chosen tokens of each text; a text without a word that the vocabulary knows has no value.

        Raises:
            InputError: none has.
        """
        import torch

        found: list[float] = []
        self.module.eval()
        with seeded(self._seed), torch.no_grad():
            for features in _batches(self._model, texts):
                logits, labels = self.module.logits(features)
                each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
                counts = (labels >= 0).sum(dim=1)
                found += (each.sum(dim=1)[counts > 0] / counts[counts > 0]).tolist()
        if not found:
            raise InputError(
                "the vocabulary of the model knows no word of the held-out passages, so there is nothing to mask."
            )
        return np.array(found, dtype=np.float64)


class Denoising:
    """60 % of the words are left out; a decoder, tied to the encoder, writes the text from the embedding alone."""

    kind = "DenoisingAutoEncoderLoss"

    def __init__(self, model: Any, files: ModelFiles, seed: int) -> None:
        try:
            with seeded(seed):
                self.module = losses().DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
        except (ValueError, AssertionError, OSError, AttributeError, TypeError) as error:
            raise ModelError(
                f"'{files.name}' cannot be a decoder, too, as a denoising auto-encoder needs ({first_line(error)}). "
                "Take --objective mlm."
            ) from error
        self.module.to(model.device)
        self._model, self._seed = model, seed
        self.notes: tuple[str, ...] = (
            "the decoder's attention to the embedding is fresh; part of what the loss falls by is due to that",
        )

    def columns(self, texts: Sequence[str]) -> dict[str, list[str]]:
        if by_character := sum(_has_no_words(text) for text in texts):
            self.notes += (
                f"{by_character:,} texts are not parted by spaces: of them characters were left out, not words",
            )
        return {"damaged": self._damaged(texts), "text": list(texts)}

    def values(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Mean over the tokens of each text."""
        import torch

        found: list[float] = []
        self.module.eval()
        with seeded(self._seed), torch.no_grad():
            for damaged, text in zip(self._damaged(texts), texts, strict=True):
                features = [next(_batches(self._model, [one])) for one in (damaged, text)]
                found.append(float(self.module(features, None)))
        return np.array(found, dtype=np.float64)

    def _damaged(self, texts: Sequence[str]) -> list[str]:
        """Texts without most of their words, at least one left, by the seed and the text's place alone.

        Where spaces part no words, characters are left out instead.
        """
        found = []
        for number, text in enumerate(texts):
            chance, words, between = random.Random(f"{self._seed} {number}"), text.split(), " "
            if _has_no_words(text):
                words, between = list("".join(words)), ""
            kept = [word for word in words if chance.random() >= DELETED]
            found.append(between.join(kept or [chance.choice(words)]))
        return found


def _has_no_words(text: str) -> bool:
    """Spaces do not part it into words, as in Chinese or Thai."""
    words = text.split()
    return len(words) < 2 or sum(map(len, words)) > _LONG * len(words)


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def _batches(model: Any, texts: Sequence[str]) -> Any:
    """Features of the texts, a batch at a time, in order."""
    prepare = getattr(model, "preprocess", None) or model.tokenize  # its name before version 6
    for start in range(0, len(texts), _BATCH):
        features = prepare(list(texts[start : start + _BATCH]))
        yield {
            name: value.to(model.device) if hasattr(value, "to") else value
            for name, value in features.items()
        }
