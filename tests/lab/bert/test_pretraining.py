"""Words for masked places and next sentences, against transformers' own classes and pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.bert import fill, ids_of, next_sentence, tokenize
from search.errors import InputError, ModelError
from tests.lab.bert.conftest import named_checkpoint, save_tiny, save_tiny_head

TEXTS = ["open the door", "turn the lock and look"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("fill") / "bert", "fill"))


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("next"), "next"))


def outputs(model: str, loads: str, **inputs: Any) -> Any:
    import torch
    import transformers

    network = getattr(transformers, loads).from_pretrained(model).eval()
    with torch.inference_mode():
        return network(**{name: torch.tensor([row]) for name, row in inputs.items()})


@pytest.mark.parametrize("kind", ["bert", "distilbert", "mpnet"])
def test_probabilities_and_loss_are_those_of_transformers(tmp_path: Path, kind: str) -> None:
    model = str(save_tiny_head(tmp_path, "fill", kind=kind))
    pieces = "[CLS] turn the [MASK] and [MASK] the door [SEP]".split()
    ids = list(ids_of(pieces, model=model))
    right = [-100] * len(ids)
    right[3], right[5] = ids_of(["key", "lock"], model=model)
    reference = outputs(model, "AutoModelForMaskedLM", input_ids=ids, labels=right)
    text = "turn the [MASK] and [MASK] the door"
    result = fill(text, model=model, k=400, labels=["key", "lock"])
    assert [(mask.start, mask.end) for mask in result.masks] == [(9, 15), (20, 26)]
    assert result.loss == pytest.approx(float(reference.loss), abs=1e-5)
    for mask, position in zip(result.masks, (3, 5), strict=True):
        likely = reference.logits[0, position].double().softmax(0).numpy()
        assert [guess.rank for guess in mask.guesses] == list(range(1, 401))
        by_id = {guess.id: guess for guess in mask.guesses}
        np.testing.assert_allclose([by_id[i].probability for i in range(400)], likely, atol=1e-6)
        np.testing.assert_allclose(
            [by_id[i].logit for i in range(400)], reference.logits[0, position], atol=1e-5
        )
        assert mask.label == by_id[right[position]]
    few = fill(text, model=model, k=3)
    assert ([len(mask.guesses) for mask in few.masks], few.loss, few.vocabulary) == ([3, 3], None, 400)


def test_words_for_a_mask_are_those_of_the_pipeline_of_transformers(bytes_model: str, model: str) -> None:
    from transformers import pipeline

    for name, mask in ((bytes_model, "<mask>"), (model, "[MASK]")):
        theirs = pipeline("fill-mask", model=name, device="cpu")(f"turn the {mask} now", top_k=7)
        for mask_token in {mask, "[MASK]"}:
            (ours,) = fill(f"turn the {mask_token} now", model=name, k=7).masks
            assert [guess.id for guess in ours.guesses] == [guess["token"] for guess in theirs]
            likely = [guess["score"] for guess in theirs]
            np.testing.assert_allclose([guess.probability for guess in ours.guesses], likely, atol=1e-6)
    # RoBERTa's entries hold the space before a word: after a space such an entry is meant.
    (mask,) = fill("turn the [MASK], now", model=bytes_model, labels=["key"]).masks
    assert mask.label and (mask.label.piece, mask.label.word) == ("Ġkey", "key")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("turn the key", {}, r"has no mask. Write \[MASK\] in"),
        (" ", {}, "the text is empty"),
        ("\udcff [MASK]", {}, "not valid text"),
        ("[MASK] " + "key " * 80, {}, "reads at most"),
        ("the [MASK]", {"labels": ["keyed"]}, r"'keyed' must be a single token; .* into 2: key ##ed"),
        ("the [MASK]", {"labels": ["☃"]}, "'☃' must be a single token"),
        ("the [MASK]", {"labels": [""]}, "one of the words is empty"),
        ("the [MASK]", {"labels": ["key", "lock"]}, "2 labels for 1 masks. Give"),
        ("the [MASK]", {"labels": ["\udcff"]}, "one of the words contains bytes"),
    ],
)
def test_a_text_that_cannot_be_filled_is_refused_with_a_reason(
    model: str, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fill(text, model=model, **options)


def test_models_without_head_or_mask_are_refused(tmp_path: Path, real: search.Encoder) -> None:
    with pytest.raises(ModelError, match="has no head for masked words.*for example bert-base-uncased"):
        fill("the [MASK]", model=str(save_tiny(tmp_path / "plain", "bert")))
    with pytest.raises(ModelError, match="'all-MiniLM-L6-v2' has no head for masked words"):
        fill("the [MASK]", model="all-MiniLM-L6-v2", offline=True)
    folder = save_tiny_head(tmp_path / "maskless", "fill")
    whole = (folder / "tokenizer.json").read_text(encoding="utf-8").replace("[MASK]", "[NONE]")
    (folder / "tokenizer.json").write_text(whole, encoding="utf-8")
    with pytest.raises(ModelError, match="has no mask token in its vocabulary"):
        fill("the [MASK]", model=str(folder))
    weights = save_tiny_head(tmp_path / "damaged", "fill") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:9000])
    with pytest.raises(ModelError, match="cannot load .*damaged' from .*: Error while deserializing"):
        fill("the [MASK]", model=str(weights.parent))


def test_a_checkpoint_in_the_oldest_layout_is_read(tmp_path: Path) -> None:
    """Both heads in one file, the tied decoder left out, norms named gamma and beta."""
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import BertForPreTraining

    folder = save_tiny_head(tmp_path, "fill")
    torch.manual_seed(3)
    original = BertForPreTraining(BertForPreTraining.config_class.from_pretrained(folder)).eval()
    original.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in weights.items()
        if "decoder" not in name
    }
    save_file(old, folder / "model.safetensors", metadata={"format": "pt"})
    the, mask = ids_of(["the", "[MASK]"], model=str(folder))
    with torch.inference_mode():
        mask_logits = original(torch.tensor([[2, the, mask, 3]])).prediction_logits[0, 2]
        types = torch.tensor([[0, 0, 0, 1, 1]])
        pair_logits = original(
            torch.tensor([[2, the, 3, the, 3]]), token_type_ids=types
        ).seq_relationship_logits[0]
    (best,) = fill("the [MASK]", model=str(folder), k=1).masks[0].guesses
    assert (best.id, best.logit) == (
        int(mask_logits.argmax()),
        pytest.approx(float(mask_logits.max()), abs=1e-5),
    )
    assert next_sentence("the", "the", model=str(folder)).logits == pytest.approx(
        pair_logits.tolist(), abs=1e-5
    )


@pytest.mark.parametrize("label", [0, 1])
def test_the_next_sentence_is_that_of_transformers(follower: str, label: int) -> None:
    pair = next_sentence(*TEXTS, model=follower, follows=label == 0)
    tokens = tokenize(*TEXTS, model=follower).tokens
    ids, types = [token.id for token in tokens], [token.segment for token in tokens]
    name = "BertForNextSentencePrediction"
    reference = outputs(follower, name, input_ids=ids, token_type_ids=types, labels=[label])
    np.testing.assert_allclose(pair.logits, reference.logits[0], atol=1e-5)
    assert pair.probability == pytest.approx(float(reference.logits[0].softmax(0)[0]), abs=1e-6)
    assert (pair.label, pair.loss) == (
        ("is-next", "not-next")[label],
        pytest.approx(float(reference.loss), abs=1e-5),
    )
    alone = next_sentence(*TEXTS, model=follower)
    assert (alone.loss, alone.probability) == (None, pytest.approx(pair.probability, abs=1e-6))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["one", " "], "text 2 is empty"),
        (["\udcff", "one"], "text 1 contains bytes"),
        (["key " * 40, "key " * 40], "the two texts together have 83 tokens"),
    ],
)
def test_sentences_that_cannot_be_judged_are_refused_with_a_reason(
    follower: str, texts: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        next_sentence(*texts, model=follower)


def test_a_model_without_a_head_for_the_next_sentence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match="has no head for the next sentence.*for example bert-base-uncased"
    ):
        next_sentence("a", "b", model=str(save_tiny(tmp_path / "bert", "bert")))
    with pytest.raises(ModelError, match="RobertaConfig"):
        next_sentence("a", "b", model=str(save_tiny(tmp_path / "roberta", "roberta")))


def test_published_figures_are_reproduced() -> None:
    """The handbook's examples."""
    text = "If you don't know how to swim, you will [MASK] in this lake."
    (mask,) = fill(text, model=named_checkpoint("bert-base-cased")).masks
    assert [guess.word for guess in mask.guesses] == ["drown", "die", "be", "drowned", "fall"]
    assert mask.guesses[0].probability == pytest.approx(0.7256, abs=2e-4)
    texts = "I like cookies!", "Do you like them too?"
    pair = next_sentence(*texts, model=named_checkpoint("bert-base-uncased"))
    assert pair.logits == pytest.approx((6.0661, -5.6789), abs=1e-3)
