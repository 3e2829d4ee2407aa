"""Tiny checkpoints of every family that can be taken apart, written by transformers' own save."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REFERENCE, WORDS, save_tokenizer

_SIZES: dict[str, Any] = {
    "vocab_size": 400,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}
_CLASSES = {
    "bert": "Bert", "camembert": "Camembert", "distilbert": "DistilBert",
    "mpnet": "MPNet", "roberta": "Roberta", "xlm-roberta": "XLMRoberta",
}  # fmt: skip
_OTHER_SIZES: dict[str, dict[str, Any]] = {
    "distilbert": {
        "vocab_size": 400, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64,
    },
}  # fmt: skip


def save_tiny(folder: Path, kind: str) -> Path:
    """A random model of a family; norms and biases are not left at 1 and 0, where an error would not be seen."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    name = _CLASSES[kind]
    config = getattr(transformers, f"{name}Config")(**_OTHER_SIZES.get(kind, _SIZES))
    model = getattr(transformers, f"{name}Model")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("families")
    return {kind: save_tiny(folder / kind, kind) for kind in _CLASSES}


def figures() -> Any:
    """Published figures of BERT."""
    file = REFERENCE / "bert_figures.json"
    if not file.is_file():
        pytest.skip("the reference figures are not at hand")
    return json.loads(file.read_text(encoding="utf-8"))


def named_checkpoint(name: str) -> str:
    """The folder of a published checkpoint within $SEEWHY_TEST_MODELS, or the test is skipped."""
    folder = os.environ.get("SEEWHY_TEST_MODELS")
    if not folder:
        pytest.skip("SEEWHY_TEST_MODELS names no folder with published checkpoints")
    path = Path(folder) / name
    if not (path / "config.json").is_file():
        pytest.skip(f"there is no {name} in SEEWHY_TEST_MODELS")
    return str(path)


_HEADS = {
    "fill": "MaskedLM", "next": "NextSentencePrediction", "answer": "QuestionAnswering",
    "tag": "TokenClassification", "label": "SequenceClassification", "both": "PreTraining",
}  # fmt: skip


def save_tiny_head(
    folder: Path,
    task: str,
    *,
    kind: str = "bert",
    labels: tuple[str, ...] = (),
    seed: int = 7,
    positions: int = 64,
) -> Path:
    """A random model of a family with a task head, written by transformers' own save.

    Args:
        task: "fill", "next", "both" of these, "answer", "tag" or "label".
        labels: the names of the classes, for "tag" and "label".
        positions: most tokens that it reads.
    """
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    name = _CLASSES[kind]
    sizes = {**_OTHER_SIZES.get(kind, _SIZES), "max_position_embeddings": positions}
    config = getattr(transformers, f"{name}Config")(**sizes)
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: number for number, label in enumerate(labels)}
    model = getattr(transformers, f"{name}For{_HEADS[task]}")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    settings = folder / "tokenizer_config.json"
    content = json.loads(settings.read_text(encoding="utf-8")) | {"model_max_length": positions}
    settings.write_text(json.dumps(content), encoding="utf-8")
    return folder


BIO = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-creative-work", "I-creative-work")


def save_tagger(folder: Path, labels: tuple[str, ...], kind: str = "bert") -> Path:
    """A tiny tagger whose classes vary: at the size that transformers draws weights, one class wins nearly always."""
    from safetensors.torch import load_file, save_file

    save_tiny_head(folder, "tag", kind=kind, labels=labels, seed=3)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] -= weights["classifier.weight"].mean(dim=0)
    for layer, factor in (("word_embeddings", 5.0), ("classifier.weight", 20.0)):
        for name in weights:
            if layer in name:
                weights[name] *= factor
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def save_reader(folder: Path, null: float = -4.0, kind: str = "bert") -> Path:
    """A tiny reader that finds "no answer" far less likely than all spans; with a `null` above 0 far likelier."""
    from safetensors.torch import load_file, save_file

    save_tiny_head(folder, "answer", kind=kind, positions=130)
    weights = load_file(folder / "model.safetensors")
    for name in weights:
        if name.endswith("output.dense.weight"):
            weights[name] *= 0.2
        if name.endswith("word_embeddings.weight"):
            first = 0 if kind == "roberta" else 2  # [CLS]
            weights[name][:, 0] = 0
            weights[name][first, 0] = 50
    weights["qa_outputs.weight"][:, 0] = null
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def bytes_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A RoBERTa with a masked-language head and a tokenizer of its kind: byte-level, <mask> takes the space before."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    folder = save_tiny_head(tmp_path_factory.mktemp("fill") / "roberta", "fill", kind="roberta")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=399,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["turn the key, a key and the key"] * 9 + [" ".join(WORDS)], trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"mask_token": "<mask>", "tokenizer_class": "RobertaTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return str(folder)
