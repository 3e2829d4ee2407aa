"""Prompts: texts that a model reads before every query or every document, as it did in training.

Many models are trained with prompts such as "query: " and "passage: ", and find less without them. Some state them in
`config_sentence_transformers.json`; others only in their model card. For families of the second kind, `FAMILIES` has
what the card says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, cast

from search.encoding.models import ModelFiles
from search.records.fingerprint import Fingerprint, PromptOrigin

Role = Literal["query", "document"]
_NAMES: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage")}


class Family(NamedTuple):
    """Models with the same prompts.

    Attributes:
        names: regular expression of their names on the Hugging Face hub, "owner/name".
    """

    names: str
    query: str
    document: str


_REPRESENT = "Represent this sentence for searching relevant passages: "
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
# Sources: each model's card, https://huggingface.co/OWNER/NAME, and the registry of MTEB 2.26, as of November 2026.
FAMILIES = (
    Family(r"intfloat/(multilingual-)?e5-(small|base|large)(-v2)?", "query: ", "passage: "),
    Family(r"intfloat/(multilingual-e5-large|e5-mistral-7b)-instruct", _INSTRUCT, ""),
    Family(r"BAAI/bge-(small|base|large)-en(-v1\.5)?", _REPRESENT, ""),
    Family(r"BAAI/bge-(small|base|large)-zh(-v1\.5)?", "为这个句子生成表示以用于检索相关文章：", ""),
    Family(r"nomic-ai/nomic-embed-text-v.+", "search_query: ", "search_document: "),
    Family(r"nomic-ai/modernbert-embed-base", "search_query: ", "search_document: "),
    Family(r"mixedbread-ai/mxbai-embed-large-v1", _REPRESENT, ""),
    Family(r"Snowflake/snowflake-arctic-embed-(xs|s|m|m-long|l|m-v1\.5)", _REPRESENT, ""),
    Family(r"Snowflake/snowflake-arctic-embed-[ml]-v2\.0", "query: ", ""),
    Family(r"MongoDB/mdbr-leaf-(ir|mt)", _REPRESENT, ""),
    Family(r"WhereIsAI/UAE-Large-V1", _REPRESENT, ""),
    Family(r"Alibaba-NLP/gte-Qwen2-.+-instruct", _INSTRUCT, ""),
    Family(r"deepvk/USER2-(small|base)", "search_query: ", "search_document: "),
    Family(r"ai-forever/(ru-en-RoSBERTa|FRIDA)", "search_query: ", "search_document: "),
    Family(r"cl-nagoya/ruri-(small|base|large)(-v2)?", "クエリ: ", "文章: "),
)


@dataclass(frozen=True)
class Prompts:
    """The prompts of an encoder.

    Attributes:
        texts: name ("query", "document", "passage", ...) -> prompt. An absent role has none.
        origin: where the prompts for queries and documents come from.
        by_role: role -> prompt, "" for none.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    origin: PromptOrigin = "none"
    by_role: Mapping[Role | None, str] = field(init=False)

    def __post_init__(self) -> None:
        by_role = {
            role: next((self.texts[name] for name in names if name in self.texts), "")
            for role, names in _NAMES.items()
        }
        object.__setattr__(self, "by_role", by_role)

    @classmethod
    def of_model(cls, files: ModelFiles, texts: Mapping[str, str]) -> Prompts:
        """Return the prompts of a model.

        Args:
            texts: what the model's files say.
        """
        if any(name in texts for names in _NAMES.values() for name in names):
            return cls(texts, "from the model's files")
        if family := family_of(files):
            stated: dict[str, str] = {"query": family.query, "document": family.document}
            return cls(
                {**texts, **{role: text for role, text in stated.items() if text}},
                "known for this family",
            )
        return cls(texts)

    @classmethod
    def of_fingerprint(cls, fingerprint: Fingerprint) -> Prompts:
        """Return the prompts of existing embeddings."""
        texts = json.loads(fingerprint.prompts)
        of_older: PromptOrigin = "from the model's files" if texts else "none"
        return cls(texts, cast("PromptOrigin", fingerprint.prompts_from) or of_older)

    def changed(self, query: str | None, document: str | None) -> Prompts:
        """Return the prompts with those that a user gave; None keeps one, "" is no prompt."""
        texts, is_given = dict(self.texts), False
        for role, prompt in (("query", query), ("document", document)):
            if prompt is None:
                continue
            is_given = True
            named = [name for name in _NAMES[role] if name in texts] or [role]  # type: ignore[index]
            texts = {name: text for name, text in texts.items() if name not in named}
            if prompt:
                texts[named[0]] = prompt
        return Prompts(texts, "given") if is_given else self

    @property
    def as_json(self) -> str:
        """The prompts as a fingerprint contains them."""
        return json.dumps(dict(self.texts), sort_keys=True, ensure_ascii=False)


def family_of(files: ModelFiles) -> Family | None:
    """Return the family of a model by its name on the hub, or by the path of its folder; None if it is not known.

    The path names a model if it ends in OWNER/NAME or NAME, or leads into the hub's cache.
    """
    for name in _hub_names(files):
        for family in FAMILIES:
            if re.fullmatch(family.names if "/" in name else family.names.partition("/")[2], name):
                return family
    return None


def _hub_names(files: ModelFiles) -> list[str]:
    """Return the names that a model may have on the hub, with its owner or without."""
    if files.source == "hub":
        return [files.name.partition("@")[0]]
    parts = Path(files.name).parts
    cached = [part.removeprefix("models--") for part in parts if part.startswith("models--")]
    return [*(part.replace("--", "/", 1) for part in cached), "/".join(parts[-2:]), *parts[-1:]]
