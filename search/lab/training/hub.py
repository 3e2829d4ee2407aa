"""Datasets of the Hugging Face hub, or of a folder, as files that the trainers read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from search.errors import InputError, first_line


def dataset_file(name: str, folder: Path) -> Path:
    """Load the split "train" of a dataset with `datasets.load_dataset`, and write it to a file in `folder`.

    Questions with answers become SQuAD's JSON, words with labels CoNLL, everything else JSONL. Classes get their names.

    Args:
        name: a name on the hub, a folder with data files, or "NAME:CONFIGURATION".

    Raises:
        InputError: the dataset cannot be loaded, has no such split, or has rows without a class.
    """
    import datasets

    path, _, configuration = (name, "", "") if Path(name).exists() else name.partition(":")
    try:
        rows = datasets.load_dataset(path, configuration or None, split="train")
    except Exception as error:  # of many kinds, of several packages
        raise InputError(f"cannot load the dataset '{name}': {first_line(error)}") from None
    named = (_named(row, rows.features) for row in rows)
    # ner_tags comes before pos_tags
    tags = min((column for column in rows.features if column.endswith("tags")), default="")
    if "start" in str(rows.features.get("answers")):
        text, ending = _squad(named), "json"
    elif tags and "tokens" in rows.features:
        sentences = (zip(row["tokens"], row[tags], strict=True) for row in named)
        text = "\n".join("".join(f"{word} {label}\n" for word, label in words) for words in sentences)
        ending = "conll"
    else:
        text, ending = "".join(json.dumps(row) + "\n" for row in named), "jsonl"
    file = folder / f"{Path(path).name}.{ending}"
    file.write_text(text, encoding="utf-8")
    return file


def _named(row: dict[str, Any], features: Any) -> dict[str, Any]:
    """Return a row with the names of classes in place of their numbers."""
    for column, feature in features.items():
        kind = getattr(feature, "feature", feature)  # of a list
        if hasattr(kind, "int2str"):
            if row[column] in (None, -1):
                raise InputError(
                    f"the dataset has rows without a class in '{column}'. Give a file of examples instead."
                )
            row[column] = kind.int2str(row[column])
    return row


def _squad(rows: Iterator[dict[str, Any]]) -> str:
    paragraphs = []
    for number, row in enumerate(rows):
        pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
        answers = [{"text": text, "answer_start": start} for text, start in pairs]
        question = {"id": str(row.get("id", number)), "question": row["question"], "answers": answers}
        paragraphs.append({"context": row["context"], "qas": [question]})
    return json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]})
