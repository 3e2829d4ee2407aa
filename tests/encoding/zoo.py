"""Small models of many architectures with random weights, in the files that sentence-transformers writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

TEXTS = [
    "short",
    "Füße über Straße, schön: naïve café",
    "日本語の文章と中文 🎉 with emoji",
    "the badge opens the door " * 70,
]
QUERIES = ["wo ist der Schlüssel 🔑", "which badge opens the door of the house"]
TOKENS = 400
_TRAINED_ON = [*TEXTS, *QUERIES, "the key of the house is in the other room, they say", "wie spät ist es"]
_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": TOKENS + 12,
    "pad_token_id": 0,
}
_DECODER = _SIZES | {"num_key_value_heads": 2, "head_dim": 8}
_SPECIAL = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]


@cache
def tokenizer(kind: str) -> Any:
    """Return a trained tokenizer: "wordpiece", "bpe" (byte-level) or "unigram"."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    trainer: Any
    if kind == "wordpiece":
        built = Tokenizer(models.WordPiece(unk_token="<unk>"))
        built.normalizer = normalizers.BertNormalizer(lowercase=True)
        built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=_SPECIAL)
    elif kind == "bpe":
        built = Tokenizer(models.BPE())
        built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        built.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=_SPECIAL, initial_alphabet=alphabet)
    else:
        built = Tokenizer(models.Unigram())
        built.normalizer = normalizers.NFKC()
        built.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=_SPECIAL, unk_token="<unk>")
    built.train_from_iterator(_TRAINED_ON, trainer)
    built.post_processor = processors.TemplateProcessing(
        single="$A </s>" if kind == "bpe" else "<s> $A </s>",
        special_tokens=[("<s>", 2), ("</s>", 3)],
    )
    return built


def transformer(
    config: str,
    kind: str = "wordpiece",
    model: str = "",
    options: dict[str, Any] | None = None,
    **more: Any,
) -> Callable[[Path], list[Any]]:
    """Return a function that saves a transformer to a folder and returns it as a list of one module.

    Args:
        config: name of transformers' class for the configuration, without "Config".
        kind: the tokenizer.
        model: name of transformers' class for the model; "" for the name of the configuration with "Model".
        options: sizes; None for those of an encoder.
        more: further values of the configuration.
    """

    def build(folder: Path) -> list[Any]:
        import torch
        import transformers
        from sentence_transformers.sentence_transformer.modules import Transformer

        torch.manual_seed(0)
        values = {"vocab_size": tokenizer(kind).get_vocab_size()} | (options or _SIZES) | more
        settings = getattr(transformers, f"{config}Config")(**values)
        built = getattr(transformers, model or f"{config}Model")(settings)
        for name, parameter in built.named_parameters():
            if parameter.ndim > 1 and "LayerNorm" not in name:
                torch.nn.init.normal_(parameter, std=0.25)
        built.save_pretrained(folder)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer(kind), model_max_length=TOKENS, unk_token="<unk>", pad_token="<pad>",
            bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", mask_token="<mask>",
            padding_side="left" if kind == "bpe" and options is _DECODER else "right",
        ).save_pretrained(folder)  # fmt: skip
        loaded = Transformer(str(folder), max_seq_length=TOKENS)
        return [loaded]

    return build


def static(folder: Path) -> list[Any]:
    """A table with a row for each token."""
    import torch
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(0)
    words = tokenizer("wordpiece")
    return [StaticEmbedding(words, torch.randn(words.get_vocab_size(), 32))]


def routed(
    query: Callable[[Path], list[Any]], document: Callable[[Path], list[Any]]
) -> Callable[[Path], list[Any]]:
    """A model with other modules for queries than for documents."""

    def build(folder: Path) -> list[Any]:
        from sentence_transformers.base.modules import Router

        return [Router.for_query_document(query(folder / "of query"), document(folder / "of document"))]

    return build


def pooled(
    transformer_of: Callable[[Path], list[Any]], *names: str, dense: str = "", **options: Any
) -> Any:
    """Return a function that appends a pooling, and other modules by name."""

    def build(folder: Path) -> list[Any]:
        import torch
        from sentence_transformers.sentence_transformer import modules as of_library

        torch.manual_seed(1)
        built = transformer_of(folder)
        width = built[0].get_embedding_dimension()
        for name in names:
            if name == "WeightedLayerPooling":
                built.append(of_library.WeightedLayerPooling(width, num_hidden_layers=2, layer_start=1))
                built[-1].layer_weights.data = torch.tensor([0.7, 1.9])
            elif name == "Dense":
                activation = getattr(torch.nn, dense or "Identity")()
                built.append(of_library.Dense(width, 24, activation_function=activation))
                width = 24
            elif name == "LayerNorm":
                built.append(of_library.LayerNorm(width))
            elif name == "Normalize":
                built.append(of_library.Normalize())
            else:
                modes = name.split("+")
                built.append(of_library.Pooling(width, pooling_mode=modes, **options))
                width *= len(modes)
        return built

    return build


BERT = transformer("Bert", type_vocab_size=2)
PROMPTS = {"query": "query: ", "document": "passage: "}
# Name -> (function that builds the modules, options of SentenceTransformer).
MODELS: dict[str, tuple[Callable[[Path], Sequence[Any]], dict[str, Any]]] = {
    "bert": (pooled(BERT, "mean", "Normalize"), {}),
    "bert-cls": (pooled(BERT, "cls", "Normalize"), {}),
    "bert-max": (pooled(BERT, "max"), {}),
    "bert-lasttoken": (pooled(BERT, "lasttoken"), {}),
    "bert-weightedmean": (pooled(BERT, "weightedmean"), {"prompts": PROMPTS}),
    "bert-mean+max": (pooled(BERT, "mean+max"), {}),
    "bert-dense-tanh": (pooled(BERT, "mean", "Dense", dense="Tanh"), {}),
    "bert-dense-gelu": (pooled(BERT, "mean", "Dense", dense="GELU"), {}),
    "bert-layernorm": (pooled(BERT, "mean", "LayerNorm"), {}),
    "bert-layers": (
        pooled(transformer("Bert", output_hidden_states=True), "WeightedLayerPooling", "mean"),
        {},
    ),
    "bert-prompts-excluded": (pooled(BERT, "mean", include_prompt=False), {"prompts": PROMPTS}),
    "bert-truncated": (pooled(BERT, "mean"), {"truncate_dim": 16, "prompts": PROMPTS}),
    "bert-dot": (pooled(BERT, "mean"), {"similarity_fn_name": "dot"}),
    "albert": (pooled(transformer("Albert", "unigram", embedding_size=16), "mean"), {}),
    "camembert": (pooled(transformer("Camembert", "unigram"), "mean"), {}),
    "deberta-v2": (
        pooled(
            transformer(
                "DebertaV2", "unigram", relative_attention=True, pos_att_type=["p2c", "c2p"],
                position_buckets=16, type_vocab_size=0,
            ),
            "mean",
        ),
        {},
    ),
    "distilbert": (
        pooled(
            transformer(
                "DistilBert", options={
                    "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "pad_token_id": 0,
                    "max_position_embeddings": TOKENS + 12,
                },
            ),
            "mean",
        ),
        {},
    ),
    "electra": (pooled(transformer("Electra", embedding_size=16), "mean"), {}),
    "eurobert": (pooled(transformer("EuroBert", "bpe", options=_SIZES, num_key_value_heads=4), "mean"), {}),
    "gte": (pooled(transformer("Gte"), "cls"), {}),
    "modernbert": (
        pooled(
            transformer(
                "ModernBert", "bpe", cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3,
                num_hidden_layers=3,
            ),
            "cls",
        ),
        {},
    ),
    "mpnet": (pooled(transformer("MPNet"), "mean"), {}),
    "nomic_bert": (pooled(transformer("NomicBert"), "mean"), {"prompts": PROMPTS}),
    "roberta": (pooled(transformer("Roberta", "bpe"), "mean"), {}),
    "xlm-roberta": (pooled(transformer("XLMRoberta", "unigram"), "mean"), {"prompts": PROMPTS}),
    "qwen3": (
        pooled(transformer("Qwen3", "bpe", options=_DECODER), "lasttoken", "Normalize"),
        {"prompts": {"query": "Instruct: find it\nQuery:", "document": ""}},
    ),
    "gemma3": (
        pooled(
            transformer(
                "Gemma3Text", "unigram", options=_DECODER, use_bidirectional_attention=True, sliding_window=64,
                query_pre_attn_scalar=8,
            ),
            "mean", "Dense", "Dense", "Normalize",
        ),
        {"prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}},
    ),
    "llama": (pooled(transformer("Llama", "bpe", options=_DECODER), "lasttoken"), {}),
    "mistral": (pooled(transformer("Mistral", "bpe", options=_DECODER, sliding_window=64), "mean"), {}),
    "t5": (
        pooled(
            transformer(
                "T5", "unigram", model="T5EncoderModel", options={
                    "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "pad_token_id": 0,
                    "feed_forward_proj": "gated-gelu",
                },
            ),
            "mean", "Dense", "Normalize",
        ),
        {},
    ),
    "static": (static, {}),
    "static-normalized": (lambda folder: [*static(folder), _normalize()], {"prompts": PROMPTS}),
    "router": (
        lambda folder: [
            *routed(static, pooled(BERT, "mean"))(folder),
            _normalize(),
        ],
        {},
    ),
    "router-of-two": (
        routed(pooled(BERT, "mean"), pooled(transformer("MPNet"), "cls")), {"prompts": PROMPTS},
    ),
}  # fmt: skip


def _normalize() -> Any:
    from sentence_transformers.sentence_transformer.modules import Normalize

    return Normalize()


def save(name: str, folder: Path) -> Any:
    """Save a model of `MODELS` to a folder; return it as a SentenceTransformer."""
    from sentence_transformers import SentenceTransformer

    build, options = MODELS[name]
    model = SentenceTransformer(modules=list(build(folder / "parts")), device="cpu", **options).eval()
    model.save(str(folder / "model"), create_model_card=False)
    return model
