"""Convert any record to JSON.

The keys are the names of a record's fields, then those of its derived values. Matrices become lists of rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal

from search.plugins import plugins
from search.records.explanations import Explanation, Highlight
from search.records.hits import Hit, Surroundings
from search.records.tokens import TokenNumbers
from search.render.format import CONTROL

# Keys after the fields of a record: properties, methods, and fields moved to the end.
_DERIVED: dict[str, tuple[str, ...]] = {
    "Counterfactual": ("sentence",),
    "Contrast": ("gap", "residual", "words"),
    "Difference": ("gap",),
    "Explanation": (
        "similarity", "contributions", "offsets", "layers", "addends", "drift", "shares", "residual", "words",
        "alignment", "highlights",
    ),
    "Hit": ("mode", "kind"),
    "RankChange": ("sentence",),
    "WordMatrices": ("contributions", "similarity", "query_sums", "passage_sums"),
    "WordOccurrence": ("line_number", "line", "span"),
}  # fmt: skip

# Fields that are elsewhere in the document, or in a file of their own.
_LEFT_OUT: dict[str, tuple[str, ...]] = {
    "Evaluation": ("settings", "comparisons", "notes"),
    "Copy": ("file",),
    "Explanation": ("numbers",),
    "Hit": ("explanation", "file"),
    "StoredPassage": ("file", "metadata", "path", "title"),
    "WordMatrices": ("numbers",),
    "WordOccurrence": ("file",),
}


# A list of numbers in a JSON document; texts cannot be mistaken for one, as their line breaks are escaped.
_NUMBERS = re.compile(r"\[\n\s*(-?\d[^\[\]{}\"]*)\]")

_LEAST_CONTRIBUTION = 0.001  # of a word of the passage, in a compact explanation

_JSON_TYPES = {str, int, float, bool, type(None)}


def document(value: Any, **more: Any) -> str:
    """Return a record as a JSON document; `more` has keys to add after the record's own."""
    return _dump({**_shallow(value), **more} if more else value, indent=2)


def _rounded(numbers: TokenNumbers) -> dict[str, Any]:
    """Return the cosines and contributions of pairs with as many digits as they are exact to."""
    return {
        "similarity": numbers.similarity.astype(float).round(6),
        "contributions": numbers.contributions.round(9),
    }


def document_of_hits(records: Sequence[dict[str, Any]]) -> str:
    """Return hits as a JSON document, with each row of a matrix on one line."""
    return _NUMBERS.sub(lambda row: f"[{' '.join(row[1].split())}]", document(records))


def compact(value: Any) -> str:
    """Return a JSON document on one line, which is much faster than an indented one."""
    return _dump(value, indent=None)


def lines(values: Sequence[Any]) -> str:
    """Return one JSON object per line; "" if there are no values."""
    return "\n".join(map(compact, values))


def hits(
    ranked: Sequence[Hit],
    around: Sequence[Surroundings] | None = None,
    marks: Sequence[Sequence[Highlight]] | None = None,
    explained: Callable[[Explanation], Any] | None = None,
) -> list[dict[str, Any]]:
    """Return hits as JSON objects, with the lines around them, highlights and explanations if there are any.

    Args:
        explained: returns the JSON of an explanation; None is the whole record.
    """
    records: list[dict[str, Any]] = [_shallow(hit) for hit in ranked]
    for record, beside in zip(records, around or (), strict=False):
        record["surroundings"] = beside
    for record, marked in zip(records, marks or (), strict=False):
        record["highlights"] = [[mark.start, mark.end] for mark in marked]
    for record, hit in zip(records, ranked, strict=True):
        if hit.explanation:
            record["explanation"] = explained(hit.explanation) if explained else hit.explanation
    return records


def matrices(why: Explanation, by: Literal["token", "word"] = "token") -> dict[str, Any]:
    """Return both matrices of an explanation with its tokens or words, its layers and its shares."""
    record: dict[str, Any] = {
        name: getattr(why, name) for name in ("layer", "similarity_layer", "n_layers")
    }
    if by == "token":
        record |= {"query_tokens": why.query_tokens, "passage_tokens": why.passage_tokens}
        record |= _rounded(why) | {"offsets": why.offsets}
    else:
        words = why.words()
        record["words"] = {"query": words.query, "passage": words.passage, **_rounded(words)}
    return plain(record) | {"shares": why.shares()}


def compact_explanation(why: Explanation) -> dict[str, Any]:
    """Return an explanation without matrices: the score and its parts, and what each word added to it.

    Contributions are rounded. `shares` and `residual`, which has the rounding errors, sum to the score. `passage_words`
    has start, end and contribution of words in the passage's text, without those of less than a thousandth; `offset` is
    the share of what the model adds to any text, which is also among the shares.
    """
    shares: list[dict[str, Any]] = [
        {
            "text": share.text,
            "kind": share.kind,
            "start": share.start,
            "end": share.end,
            "contribution": round(share.contribution, 6),
            "partners": [partner.text for partner in share.partners],
        }
        for share in why.shares(partners=2)
    ]
    return {
        "query": why.query,
        "score": why.score,
        "cosine": why.cosine,
        "weight": why.weight,
        "layer": why.layer,
        "shares": shares,
        "passage_words": [
            [item.word.start, item.word.end, round(item.contribution, 4)]
            for item in why.passage_words()
            if item.word.kind == "word" and abs(item.contribution) >= _LEAST_CONTRIBUTION
        ],
        "offset": round(why.weight * why.offset, 6),
        "residual": why.score - sum(share["contribution"] for share in shares),
    }


def explanation(why: Explanation, hit: Hit | None = None, **more: Any) -> str:
    """Return an explanation as JSON, with its derived values: residual, words, alignment, highlights."""
    return document({**({} if hit is None else {"hit": hit}), **plain(why), **more})


def plain(value: Any) -> Any:
    """Convert a record to dictionaries and lists, recursively."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    opened = _shallow(value)
    return {name: plain(item) for name, item in opened.items()} if isinstance(opened, dict) else opened


def _shallow(value: Any) -> Any:
    """Convert a record to a dictionary, or an array to lists; the values of a dictionary are not converted."""
    if is_dataclass(value) and not isinstance(value, type):
        derived = {name: getattr(value, name) for name in keys(type(value))}
        return {name: item() if callable(item) else item for name, item in derived.items()}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


@cache
def keys(record: type) -> tuple[str, ...]:
    """Return the JSON keys of a class of records, in order."""
    derived_keys, left_out = dict(_DERIVED), dict(_LEFT_OUT)
    for plugin in plugins():
        derived_keys |= plugin.json_keys
        left_out |= plugin.json_left_out
    derived = derived_keys.get(record.__name__, ())
    elsewhere = (*derived, *left_out.get(record.__name__, ()))
    own_first = sorted(fields(record), key=lambda field: field.name not in record.__annotations__)
    return (*(field.name for field in own_first if field.name not in elsewhere), *derived)


def _dump(value: Any, indent: int | None) -> str:
    """Serialise with readable Unicode; control characters and surrogates become JSON escapes."""
    text = json.dumps(value, default=_serialisable, ensure_ascii=False, indent=indent, allow_nan=False)
    return CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _serialisable(value: Any) -> Any:
    """Convert a value for json.dumps; raise TypeError if it has no JSON form."""
    opened = _shallow(value)
    if opened is value:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return opened
