"""Words for masked places, against transformers' own pipeline and plain softmax."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from search.bert import fill, next_sentence
from search.bert.checkpoint import load_head
from search.encoding import Encoder
from search.errors import InputError, ModelError
from tests.bert.conftest import named_checkpoint, save_tiny, save_tiny_head
from tests.conftest import WORDS


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("fill") / "bert", "fill"))


@pytest.fixture(scope="module")
def bytes_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A RoBERTa with a tokenizer of its kind: byte-level, <mask> takes the space before it."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    folder = save_tiny_head(tmp_path_factory.mktemp("fill") / "roberta", "fill", kind="roberta")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=399, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(["turn the key, a key and the key"] * 9 + [" ".join(WORDS)], trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False}
    mask |= {"single_word": False, "special": True}
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": mask, "model_max_length": 64}
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    return str(folder)


def softmax(logits: np.ndarray) -> np.ndarray:
    likely = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return likely / likely.sum(axis=-1, keepdims=True)


def by_hand(model: str, ids: list[int]) -> np.ndarray:
    """(t, vocabulary) probabilities, as transformers computes them."""
    import torch
    from transformers import AutoModelForMaskedLM

    loaded = AutoModelForMaskedLM.from_pretrained(model).eval()
    with torch.inference_mode():
        return softmax(loaded(torch.tensor([ids])).logits[0].double().numpy())


def test_probabilities_are_those_of_transformers(model: str) -> None:
    text = "turn the [MASK] and [MASK] the door"
    vocabulary = load_head("fill", model).tokenizer.get_vocab()
    ids = [vocabulary[f"{word}"] for word in "[CLS] turn the [MASK] and [MASK] the door [SEP]".split()]
    expected = by_hand(model, ids)
    found = fill(text, model=model, k=400)
    assert [(mask.start, mask.end) for mask in found.masks] == [(9, 15), (20, 26)]
    for mask, at in zip(found.masks, (3, 5), strict=True):
        assert [guess.id for guess in mask.guesses] == np.argsort(-expected[at], kind="stable").tolist()
        assert [guess.rank for guess in mask.guesses] == list(range(1, 401))
        got = {guess.id: guess.probability for guess in mask.guesses}
        np.testing.assert_allclose([got[i] for i in range(400)], expected[at], atol=1e-6)
        logits = {guess.id: guess.logit for guess in mask.guesses}
        np.testing.assert_allclose(
            softmax(np.array([logits[i] for i in range(400)])), expected[at], atol=1e-6
        )
    assert (found.vocabulary, found.word) == (400, "")
    assert len(fill(text, model=model, k=3).masks[0].guesses) == 3


def test_candidates(model: str) -> None:
    found = fill("turn the [MASK] [MASK] now", model=model, among=["Lock", "##s", "key"])
    everything = fill("turn the [MASK] [MASK] now", model=model, k=400)
    for mask, whole in zip(found.masks, everything.masks, strict=True):
        assert {guess.piece for guess in mask.among} == {"lock", "##s", "key"}
        by_id = {guess.id: guess for guess in whole.guesses}
        assert all(guess == by_id[guess.id] for guess in mask.among)
        assert [guess.rank for guess in mask.among] == sorted(guess.rank for guess in mask.among)


def test_a_hidden_word_is_hidden_everywhere(model: str) -> None:
    text = "Turn the key, then turn it"
    found = fill(text, model=model, word="turn")
    masked = fill("[MASK] the key, then [MASK] it", model=model, k=400)
    assert [text[mask.start : mask.end] for mask in found.masks] == ["Turn", "turn"]
    for mask, other in zip(found.masks, masked.masks, strict=True):
        assert mask.hidden is not None and mask.hidden.piece == "turn"
        assert mask.hidden == other.guesses[mask.hidden.rank - 1]
        assert mask.guesses == other.guesses[:5]
    assert found.word == "turn" and fill(text, model=model, word="key").masks[0].start == 9


def test_the_loss_of_labels_is_that_of_transformers(model: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForMaskedLM

    for name in (model, str(save_tiny_head(tmp_path, "fill", kind="distilbert"))):
        tokenizer = load_head("fill", name).tokenizer
        ids = tokenizer.encode("turn the key and lock it").ids
        places, right = [3, 5], [ids[3], ids[5]]
        ids[3] = ids[5] = tokenizer.token_to_id("[MASK]")
        labels = torch.full((1, len(ids)), -100)
        labels[0, places] = torch.tensor(right)
        loaded = AutoModelForMaskedLM.from_pretrained(name).eval()
        with torch.inference_mode():
            known = float(loaded(torch.tensor([ids]), labels=labels).loss)
        found = fill("turn the [MASK] and [MASK] it", model=name, labels=["key", "lock"])
        assert found.loss == pytest.approx(known, abs=1e-5)
        assert [mask.hidden.word for mask in found.masks if mask.hidden] == ["key", "lock"]
    hidden = fill("turn the key", model=model, word="key")
    assert hidden.loss == pytest.approx(fill("turn the [MASK]", model=model, labels=["key"]).loss)
    assert fill("turn the [MASK]", model=model).loss is None
    for options, said in (
        ({"labels": ["key", "lock"]}, "masks: 1, labels: 2. Give"),
        ({"labels": ["key"], "word": "turn"}, "is its own label"),
        ({"labels": ["keyed"]}, "no single entry"),
        ({"labels": "key"}, "lists of strings"),
    ):
        with pytest.raises(InputError, match=said):
            fill("turn the [MASK]", model=model, **options)  # type: ignore[arg-type]


def test_a_mask_and_a_hidden_word_together(model: str) -> None:
    found = fill("turn the [MASK] key", model=model, word="key")
    assert [(mask.start, mask.end, mask.hidden is None) for mask in found.masks] == [
        (9, 15, True),
        (16, 19, False),
    ]


def test_a_model_with_another_mask_is_asked_in_the_same_way(bytes_model: str) -> None:
    """RoBERTa's entries hold the space before a word: after one it is that entry which is meant."""
    typed = fill("turn the [MASK], now", model=bytes_model, among=["key", "a"], k=400)
    own = fill("turn the <mask>, now", model=bytes_model, among=["key", "a"], k=400)
    assert [guess.id for guess in typed.masks[0].guesses] == [guess.id for guess in own.masks[0].guesses]
    assert {guess.piece: guess.word for guess in typed.masks[0].among} == {"Ġkey": "key", "Ġa": "a"}
    tokenizer = load_head("fill", bytes_model).tokenizer
    ids = tokenizer.encode("turn the<mask>, now").ids
    at = ids.index(tokenizer.token_to_id("<mask>"))
    expected = by_hand(bytes_model, ids)[at]
    for guess in typed.masks[0].guesses:
        assert guess.probability == pytest.approx(expected[guess.id], abs=1e-6)
    assert (typed.masks[0].start, typed.masks[0].end) == (9, 15)
    hidden = fill("turn the key, now", model=bytes_model, word="key").masks[0]
    assert hidden.hidden is not None and hidden.hidden.piece == "Ġkey"


def test_as_the_pipeline_of_transformers_says(bytes_model: str, model: str) -> None:
    from transformers import pipeline

    for name, mask in ((bytes_model, "<mask>"), (model, "[MASK]")):
        ours = fill(f"turn the {mask} now", model=name, k=7)
        asked = pipeline("fill-mask", model=name, device="cpu")
        theirs = asked(f"turn the {mask} now", top_k=7)
        assert [guess.id for guess in ours.masks[0].guesses] == [one["token"] for one in theirs]
        np.testing.assert_allclose(
            [guess.probability for guess in ours.masks[0].guesses],
            [one["score"] for one in theirs],
            atol=1e-6,
        )


@pytest.mark.parametrize("kind", ["albert", "distilbert", "electra", "mpnet"])
def test_other_families(tmp_path: Path, kind: str) -> None:
    (mask,) = fill("the [MASK]", model=str(save_tiny_head(tmp_path, "fill", kind=kind)), k=400).masks
    assert sum(guess.probability for guess in mask.guesses) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("turn the key", {}, r"has no mask. Type \[MASK\] where"),
        (" ", {}, "the text is empty"),
        ("\udcff [MASK]", {}, "no valid text"),
        ("[MASK] " + "key " * 80, {}, "Nothing is cut"),
        ("the [MASK]", {"k": 0}, "k=0"),
        ("the [MASK]", {"among": "key"}, "lists of strings"),
        ("the [MASK]", {"among": ["keyed"]}, r"'keyed' is no single entry .* but 2: key ##ed"),
        ("the [MASK]", {"among": ["the key"]}, r"but 2: the key"),
        ("the [MASK]", {"among": ["☃"]}, "cannot spell '☃'"),
        ("the [MASK]", {"among": [""]}, "cannot spell ''"),
        ("the keys turn", {"word": "keys"}, r"'keys' is no single entry .* but 2: key ##s"),
        ("the key", {"word": "lock"}, "'lock' does not stand in"),
        ("the [MASK]", {"word": "mask"}, "'mask' does not stand in"),
    ],
)
def test_what_cannot_be_filled_is_said(model: str, text: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fill(text, model=model, **options)  # type: ignore[arg-type]


def test_models_without_head_or_mask_are_refused(tmp_path: Path, real: Encoder) -> None:
    with pytest.raises(ModelError, match="has no head for masked words.*such as bert-base-uncased"):
        fill("the [MASK]", model=str(save_tiny(tmp_path / "plain", "bert")))
    with pytest.raises(ModelError, match="'all-MiniLM-L6-v2' has no head for masked words"):
        fill("the [MASK]", model="all-MiniLM-L6-v2", offline=True)
    folder = save_tiny_head(tmp_path / "maskless", "fill")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        whole = (folder / name).read_text(encoding="utf-8").replace("[MASK]", "[NONE]")
        (folder / name).write_text(whole.replace('"mask_token"', '"none_token"'), encoding="utf-8")
    with pytest.raises(ModelError, match="has no mask token in its vocabulary"):
        fill("the [MASK]", model=str(folder))


def test_published_probabilities() -> None:
    """The handbook's example, with bert-base-cased."""
    found = fill(
        "If you don't know how to swim, you will [MASK] in this lake.",
        model=named_checkpoint("bert-base-cased"),
    )
    assert [guess.word for guess in found.masks[0].guesses] == ["drown", "die", "be", "drowned", "fall"]
    assert found.masks[0].guesses[0].probability == pytest.approx(0.7256, abs=2e-4)


def test_a_checkpoint_as_they_were_published_first(tmp_path: Path) -> None:
    """Both heads in one file, the tied decoder left out, norms named gamma and beta."""
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import BertForPreTraining

    folder = save_tiny_head(tmp_path, "fill")
    torch.manual_seed(3)
    config = BertForPreTraining.config_class.from_pretrained(folder)
    made = BertForPreTraining(config)
    made.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in weights.items()
        if "decoder" not in name
    }
    assert len(old) < len(weights) or not any("decoder" in name for name in weights)
    save_file(old, folder / "model.safetensors", metadata={"format": "pt"})
    made.eval()
    with torch.inference_mode():
        one = made(torch.tensor([[2, 5, 4, 3]]))
        two = made(torch.tensor([[2, 5, 3, 7, 3]]), token_type_ids=torch.tensor([[0, 0, 0, 1, 1]]))
    tokenizer = load_head("fill", str(folder)).tokenizer
    (mask,) = fill(f"{tokenizer.id_to_token(5)} [MASK]", model=str(folder), k=1).masks
    assert mask.guesses[0].id == int(one.prediction_logits[0, 2].argmax())
    assert mask.guesses[0].logit == pytest.approx(float(one.prediction_logits[0, 2].max()), abs=1e-5)
    found = next_sentence(tokenizer.id_to_token(5), tokenizer.id_to_token(7), model=str(folder))
    assert found.logits == pytest.approx(two.seq_relationship_logits[0].tolist(), abs=1e-5)


def test_a_word_that_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = str(save_tiny_head(tmp_path, "fill"))
    with pytest.raises(InputError, match="one of the words holds bytes that are no valid text"):
        fill("the [MASK]", model=folder, among=["\udcff"])
    with pytest.raises(InputError, match="one of the words holds bytes"):
        fill("the [MASK]", model=folder, word="\udcff")
