"""Embedding models to choose from, with published figures and their sources.

Parameters, dimensions, tokens and licences are those of the model cards, as MTEB 2.26 lists them. The costs were
measured for models of these shapes with random weights: 6 layers of 384 dimensions 1.0, 12 of 384 1.9, 12 of 768 6.5;
that of the static model in benchmarks/README.md.
"""

from __future__ import annotations

from search.encoding.models import DEFAULT_MODEL, STATIC_MODEL
from search.records.model_cards import ModelCard

_HUB = "https://huggingface.co/"
_ARCTIC = f"{_HUB}Snowflake/snowflake-arctic-embed-m"
_LEAF = f"{_HUB}MongoDB/mdbr-leaf-ir"
_BOARD = f"{_HUB}spaces/mteb/leaderboard"

# Name, languages, millions of parameters, dimensions, tokens, licence, prompts, retrieval, source, cost, tracing, need.
CATALOGUE = (
    ModelCard(DEFAULT_MODEL, "English", 23, 384, 256, "Apache-2.0", False, 41.95, _BOARD, 1.0, "NumPy",
              "no download (extra offline)"),
    ModelCard(STATIC_MODEL, "English", 8, 256, 0, "Apache-2.0", False, None, "", 0.01, "NumPy",
              "huge folders, slow machines"),
    ModelCard("MongoDB/mdbr-leaf-ir", "English", 23, 768, 512, "Apache-2.0", True, 53.55, _LEAF, 1.0, "NumPy",
              "English on a laptop"),
    ModelCard("Snowflake/snowflake-arctic-embed-xs", "English", 23, 384, 512, "Apache-2.0", True, 50.15, _ARCTIC, 1.0,
              "NumPy"),
    ModelCard("Snowflake/snowflake-arctic-embed-s", "English", 33, 384, 512, "Apache-2.0", True, 51.98, _ARCTIC, 1.9,
              "NumPy"),
    ModelCard("BAAI/bge-small-en-v1.5", "English", 33, 384, 512, "MIT", True, 51.65, _LEAF, 1.9, "NumPy"),
    ModelCard("intfloat/e5-small-v2", "English", 33, 384, 512, "MIT", True, None, "", 1.9, "NumPy"),
    ModelCard("Snowflake/snowflake-arctic-embed-m", "English", 109, 768, 512, "Apache-2.0", True, 54.90, _ARCTIC, 6.5,
              "NumPy", "the best English hits"),
    ModelCard("nomic-ai/nomic-embed-text-v1.5", "English", 137, 768, 8192, "Apache-2.0", True, 53.01, _BOARD, 6.5,
              "PyTorch", "long texts"),
    ModelCard("Alibaba-NLP/gte-modernbert-base", "English, code", 149, 768, 8192, "Apache-2.0", False, None, "", None,
              "PyTorch", "code"),
    ModelCard("ibm-granite/granite-embedding-small-english-r2", "English", 48, 384, 8192, "Apache-2.0", False, None, "",
              None, "PyTorch"),
    ModelCard("intfloat/multilingual-e5-small", "94 languages", 118, 384, 512, "MIT", True, None, "", 1.9, "NumPy",
              "many languages"),
    ModelCard("intfloat/multilingual-e5-base", "94 languages", 278, 768, 512, "MIT", True, None, "", 6.5, "NumPy"),
    ModelCard("BAAI/bge-m3", "100 languages", 568, 1024, 8192, "MIT", False, None, "", None, "NumPy"),
    ModelCard("google/embeddinggemma-300m", "100 languages", 308, 768, 2048, "Gemma", True, None, "", None, "PyTorch"),
    ModelCard("Qwen/Qwen3-Embedding-0.6B", "100 languages, code", 596, 1024, 32768, "Apache-2.0", True, None, "", None,
              "PyTorch", "many languages, with a GPU"),
    ModelCard("minishlab/potion-retrieval-32M", "English", 32, 512, 0, "MIT", False, 35.06,
              f"{_HUB}minishlab/potion-retrieval-32M", 0.01, "NumPy"),
    ModelCard("minishlab/potion-multilingual-128M", "101 languages", 128, 256, 0, "MIT", False, None, "", 0.01,
              "NumPy"),
)  # fmt: skip
