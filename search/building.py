"""What an index is made with: as it is asked for, else as it was made before, else the defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search.encoding import Encoder, Fingerprint
from search.encoding.models import DEFAULT_MODEL, find_model
from search.errors import IndexDamaged, IndexNotFound, InputError
from search.index.database import read_meta
from search.index.layout import DATABASE, is_index
from search.index.settings import PassageSettings, Source

if TYPE_CHECKING:
    from search.corpus import Follows

NEXT_SENTENCE = "next-sentence"
Selected: TypeAlias = tuple[Sequence[str] | None, Sequence[str] | None, str | None, str | None, bool | None]


def asked_for(
    root: Path,
    place: Path,
    *,
    rebuild: bool,
    model: str | None,
    pooling: str | None,
    layer: int | str | None,
    dim: int | None,
    max_tokens: int | None,
    precision: str | None,
    selected: Selected,
    boundaries: str | None,
    boundary_model: str | None,
    offline: bool,
    engine: str,
) -> tuple[Encoder, Source, PassageSettings]:
    """The encoder and the source of an index, and how it is cut; see `Index.build`.

    An index that is there goes on being cut as it was made, whatever the defaults are by now, until it is rebuilt.

    Args:
        root: the folder.
        place: where the index is, or will be.
        selected: `include`, `exclude`, `text_field`, `title_field` and `token_vectors`.

    Raises:
        InputError: boundaries are asked for that there are not.
        ModelError: a model cannot be found or used.
        IndexDamaged: there is an index, it cannot be read, and it is not to be replaced.
    """
    meta, made = earlier(place, rebuild) or (None, None)
    files = find_model(model or (made.model if made else DEFAULT_MODEL), offline=offline)
    if made and files.weights_sha256 == made.weights:
        pooling = pooling or made.pooling
        layer = made.layer if layer is None else layer
        dim = dim or int(made.dimension)
        max_tokens = max_tokens or int(made.max_tokens)
        precision = precision or made.precision
    source = source_of(meta, root).changed(*selected)
    encoder = Encoder(
        files,
        pooling=pooling,
        layer=-1 if layer is None else layer,
        dim=dim,
        max_tokens=max_tokens,
        offline=offline,
        engine=engine,
        precision=precision or "fp32",
    )
    passages = _bounded(_cut_before(made, rebuild), boundaries, boundary_model, offline)
    return encoder, source, passages


def boundary_of(settings: PassageSettings, offline: bool) -> Follows | None:
    """What tells where long texts are cut; None where that is by size alone. No model is loaded yet."""
    if not settings.boundaries:
        return None
    from search.bert.next_sentence import BoundarySignal

    files = settings.boundary_weights, settings.boundary_tokenizer
    return BoundarySignal(settings.boundary_model, offline=offline, files=files)


def _cut_before(made: Fingerprint | None, rebuild: bool) -> PassageSettings:
    """As the index was cut; for one that is rebuilt only with its boundaries."""
    if not made:
        return PassageSettings()
    if not rebuild:
        return PassageSettings.from_json(made.passages)
    try:
        before = PassageSettings.from_json(made.passages)
    except (ValueError, TypeError):  # it is to be replaced, whatever it is
        return PassageSettings()
    kept = {name: value for name, value in asdict(before).items() if name.startswith("boundar")}
    return replace(PassageSettings(), **kept)


def _bounded(
    passages: PassageSettings, boundaries: str | None, model: str | None, offline: bool
) -> PassageSettings:
    """With the boundaries that are asked for; their model is loaded, so that one without that head is refused now."""
    if boundaries not in (None, "none", NEXT_SENTENCE):
        raise InputError(f"there are no boundaries '{boundaries}'. Use {NEXT_SENTENCE} or none.")
    if model is not None and (boundaries == "none" or not (boundaries or passages.boundaries)):
        raise InputError(f"the model '{model}' tells no boundaries: ask for boundaries {NEXT_SENTENCE}, too.")
    if boundaries == "none":
        return replace(passages, boundaries="", boundary_model="", boundary_weights="", boundary_tokenizer="")
    if boundaries is None and model is None:
        return passages
    name = model or passages.boundary_model
    if not name:
        raise InputError(
            f"boundaries {NEXT_SENTENCE} need a checkpoint with a next-sentence head. Name one with --boundary-model, "
            "bert-base-uncased for instance."
        )
    from search.bert.next_sentence import BoundarySignal

    files = BoundarySignal(name, offline=offline).head.files
    return replace(
        passages,
        boundaries=NEXT_SENTENCE,
        boundary_model=files.name,
        boundary_weights=files.weights_sha256,
        boundary_tokenizer=files.tokenizer_sha256,
    )


def existing_folder(folder: str | Path) -> Path:
    """
    Raises:
        InputError: it is a file, or is not there.
    """
    root = Path(folder).expanduser()
    if root.is_dir():
        return root
    what = (
        "is a file, not a folder. Name the folder it is in"
        if root.is_file()
        else "does not exist. Check the spelling"
    )
    raise InputError(f"the folder '{folder}' {what}.")


def source_of(meta: dict[str, Any] | None, root: Path) -> Source:
    """What an index was made with, for the same folder; the defaults for a new one."""
    return Source.from_dict(meta["source"]) if meta and Path(meta["root"]) == root.resolve() else Source()


def earlier(place: Path, rebuild: bool) -> tuple[dict[str, Any], Fingerprint] | None:
    """What an index was made with; None for a new one, or when it is to be replaced and cannot be read."""
    if not is_index(place):
        return None
    try:
        meta = read_meta(place / DATABASE, older=True)
        return meta, Fingerprint.from_dict(meta["fingerprint"])
    except IndexNotFound:  # begun, never filled
        return None
    except IndexDamaged:
        if rebuild:
            return None
        raise
