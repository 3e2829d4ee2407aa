"""What a generation says of an index besides its passages, as JSON: status, annotators, a sample of random pairs."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.records.documents import Annotator
from search.records.reports import SkippedGroup, Status
from search.store.calibration import Baseline
from search.store.milvus.layout import WAY_OUT

if TYPE_CHECKING:
    from search.store.milvus.generation import Generation, View

_KEPT = ("folders", "updated", "engine", "skipped", "copies", "copied_texts", "complete")


def status_row(status: Status) -> dict[str, Any]:
    """What of an index's status no other part of its generation says."""
    return {name: value for name, value in asdict(status).items() if name in _KEPT}


def annotator_row(annotator: Annotator) -> dict[str, Any]:
    return asdict(annotator)


def baseline_row(baseline: Baseline) -> dict[str, Any]:
    return {
        "passages": baseline.passages,
        "queries": baseline.queries,
        "made_with": baseline.made_with,
        "cosine": _text(baseline.cosine),
        "lexical": _text(baseline.lexical),
        "hubs": {str(id_): count for id_, count in baseline.hubs.items()},
    }


def status_of(view: View, weight: float) -> Status:
    """The status of an index on a server.

    Args:
        weight: what the cosine counts in the scores of random pairs.
    """
    generation, address = view.generation, view.client.address
    made, said, baseline = generation.made, dict(generation.status), random_pairs(generation)
    skipped = said.pop("skipped", ())
    kind = "exact" if generation.exact else f"approximate, {generation.dense['kind']}"
    since = f", published {said['published']}" if "published" in said else ""
    return Status(
        name=address.name,
        index=str(address),
        folder=generation.root,
        folders=tuple(said.pop("folders", ())),
        model=made.model,
        pooling=made.pooling,
        dimension=int(made.dimension),
        max_tokens=int(made.max_tokens),
        documents=generation.documents,
        passages=generation.passages,
        tokens=generation.tokens,
        bytes=0,
        updated=said.pop("updated", ""),
        engine=said.pop("engine", ""),
        vectors=f"{generation.passages} passages on a server ({kind}), generation {generation.number}{since}",
        skipped=tuple(SkippedGroup(one["reason"], one["count"], tuple(one["examples"])) for one in skipped),
        fingerprint=generation.fingerprint,
        complete=bool(said.pop("complete", True)),
        copies=said.pop("copies", 0),
        copied_texts=said.pop("copied_texts", 0),
        random_pairs=baseline.spread(weight) if baseline else None,
        annotations=tuple(annotators(generation.annotators)),
    )


def annotators(rows: Sequence[Mapping[str, Any]]) -> list[Annotator]:
    """Who gave annotations, by name."""
    found = [Annotator(**{**row, "fields": tuple(row["fields"])}) for row in rows]
    return sorted(found, key=lambda one: one.name)


def random_pairs(generation: Generation) -> Baseline | None:
    """The sample of random pairs; None where there is none."""
    row = generation.baseline
    if row is None:
        return None
    try:
        hubs = {int(id_): int(count) for id_, count in row["hubs"].items()}
        cosine, lexical = _array(row["cosine"]), _array(row["lexical"])
        return Baseline(
            int(row["passages"]), int(row["queries"]), cosine, lexical, hubs, str(row["made_with"])
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        raise IndexDamaged(f"the sample of random pairs on the server makes no sense. {WAY_OUT}") from None


def _text(values: np.ndarray[Any, np.dtype[np.float32]]) -> str:
    return base64.b85encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _array(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    found = np.frombuffer(base64.b85decode(text), dtype="<f4")
    if not np.isfinite(found).all():
        raise ValueError
    return found
