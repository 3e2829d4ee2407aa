"""What an index is made with: as it is asked for, else as it was made before, else the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from search.encoding import Encoder, Fingerprint
from search.encoding.models import DEFAULT_MODEL, find_model
from search.errors import IndexDamaged, IndexNotFound, IndexOutdated, InputError
from search.records.options import BuildOptions, EncoderOptions, SourceOptions, parts_of
from search.store.database import read_meta
from search.store.layout import DATABASE, is_index
from search.store.settings import PassageSettings, Source


def asked_for(
    root: Path, place: Path, options: BuildOptions, *, rebuild: bool, offline: bool, engine: str
) -> tuple[Encoder, Source, PassageSettings]:
    """The encoder and the source of an index, and how it is cut; see `Index.build`.

    An index that is there goes on being cut as it was made, whatever the defaults are by now, until it is rebuilt.

    Args:
        root: the folder.
        place: where the index is, or will be.
        options: what is asked for; None, or left out, is as the index was made, else as the model says.

    Raises:
        ModelError: a model cannot be found or used.
        IndexDamaged: there is an index, it cannot be read, and it is not to be replaced.
    """
    meta, made = earlier(place, rebuild) or (None, None)
    chosen, selected = parts_of(options, EncoderOptions, SourceOptions)
    chosen = {name: value for name, value in chosen.items() if value is not None and value != ""}
    files = find_model(chosen.pop("model", made.model if made else DEFAULT_MODEL), offline=offline)
    if made and files.weights_sha256 == made.weights:
        chosen = {
            "pooling": made.pooling,
            "layer": made.layer,
            "dim": int(made.dimension),
            "max_tokens": int(made.max_tokens),
            "precision": made.precision,
        } | chosen
    source = source_of(meta, root).changed(**selected)
    encoder = Encoder(files, offline=offline, engine=engine, **chosen)
    passages = PassageSettings.from_json(made.passages) if made and not rebuild else PassageSettings()
    return encoder, source, passages


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
        meta = read_meta(place / DATABASE)
        return meta, Fingerprint.from_dict(meta["fingerprint"])
    except IndexNotFound:  # begun, never filled
        return None
    except (IndexDamaged, IndexOutdated):
        if rebuild:
            return None
        raise
