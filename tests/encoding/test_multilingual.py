"""A BERT with SentencePiece's kind of tokenizer, as multilingual sentence encoders have it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from search import Encoder, Index
from tests.conftest import save_tiny_bert

TEXTS = {
    "schlüssel.md": "# Schlüssel\n\nDer Schlüssel liegt unter der Fußmatte, und die Tür ist blau.",
    "νερό.md": "# Νερό\n\nΤο νερό του ποταμού είναι κρύο τον χειμώνα.",
    "水.md": "# 水\n\n河里的水在冬天很冷。钥匙在门垫下面。",
}


@pytest.fixture(scope="module")
def multilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_tiny_bert(tmp_path_factory.mktemp("models") / "multilingual")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=220, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator([*TEXTS.values()] * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = dict(
        zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), special, strict=True)
    )
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "cls_token": "<s>",
        "sep_token": "</s>",
        **names,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_embeddings_are_those_of_sentence_transformers(multilingual: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = list(TEXTS.values())
    expected = SentenceTransformer(str(multilingual), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    np.testing.assert_allclose(Encoder(str(multilingual)).encode(texts), expected, atol=1e-5)


def test_a_folder_in_other_scripts_is_found_and_explained(tmp_path: Path, multilingual: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    index = Index.build(folder, model=str(multilingual))
    for query, word in (("Schlüssel Tür", "Schlüssel"), ("νερό ποταμού", "νερό"), ("河里的水", "")):
        for hit in index.query(query):
            why = index.explain(query, hit)
            assert abs(why.residual) <= 1e-5
            assert "".join(why.passage[t.start : t.end] for t in why.passage_tokens if not t.special)
        best = index.query(query, mode="lexical")[:1]
        assert not word or word in best[0].text
