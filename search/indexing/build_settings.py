"""Settings of a build: what the user chose, completed by what the existing index or the model says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder, Fingerprint
from search.encoding.encoder import model_of, named_model
from search.encoding.models import DEFAULT_MODEL
from search.encoding.prompts import Prompts
from search.errors import IndexDamaged, IndexNotFound, IndexOutdated, InputError
from search.records.fingerprint import WHOLE_TEXT
from search.records.option_tools import split_options
from search.records.options import (
    BuildOptions,
    EncoderOptions,
    EngineName,
    PromptOptions,
    SourceOptions,
    StoreOptions,
)
from search.store.database import legible_fingerprint, legible_meta, read_meta
from search.store.files import DATABASE
from search.store.home import is_own, require_own_server
from search.store.layout import is_index, streamed
from search.store.settings import Folders, PassageSettings, Source, fingerprint_of

if TYPE_CHECKING:
    from search.store.milvus.collections import Server

_MAY_BE_EMPTY = PromptOptions.__annotations__  # "": no prompt


def build_inputs(
    folders: Folders,
    index: Path,
    options: BuildOptions,
    *,
    rebuild: bool,
    offline: bool,
    engine: EngineName,
    encoder: Encoder | None = None,
) -> tuple[Encoder, Source, PassageSettings]:
    """Return the encoder, the source and the passage settings of an index; see `Index.build`.

    An existing index keeps its passage settings until it is rebuilt, even if the defaults change.

    Args:
        folders: the folders to index.
        index: folder of the index, which need not exist.
        options: requested options. A missing option, or None, is taken from the index, or else from the model.
        encoder: the encoder; None loads one by the options.

    Raises:
        ModelError: a model cannot be found or used.
        IndexDamaged: the existing index cannot be read, and `rebuild` is off.
    """
    meta, old = load_existing_meta(index, rebuild) or (None, None)
    chosen, selected = split_options(options, EncoderOptions, SourceOptions)
    chosen = {
        name: value
        for name, value in chosen.items()
        if value is not None and (value != "" or name in _MAY_BE_EMPTY)
    }
    source = source_of(meta, folders).changed(**selected)
    if source.ocr:
        from search.corpus.ocr import require_ocr

        require_ocr(source.ocr_language)
    if encoder is None:
        encoder = _named_encoder(
            chosen, old, is_own(index), rebuild=rebuild, offline=offline, engine=engine
        )
    elif chosen:
        raise InputError(f"'{min(chosen)}' cannot be combined with encoder.")
    passages = PassageSettings.from_json(old.passages) if old and not rebuild else PassageSettings()
    return encoder, source, passages


def _named_encoder(
    chosen: dict[str, Any], old: Fingerprint | None, trusted: bool, *, rebuild: bool, **how: Any
) -> Encoder:
    """Load the encoder that the options name, or else that of the existing index.

    A rebuilt index keeps prompts only if a user gave them.
    """
    if old and old.pooling == WHOLE_TEXT and "model" not in chosen:
        Encoder.of(old)  # raises: a program must bring it
    named = chosen.pop("model", None) or (named_model(old, trusted) if old else DEFAULT_MODEL)
    model = model_of(named, how["offline"])
    if old and model.files.weights_sha256 == old.weights:
        if not rebuild or old.prompts_from == "given":
            model = replace(model, prompts=Prompts.of_fingerprint(old))
        chosen = {
            "pooling": old.pooling,
            "layer": old.layer,
            "dim": int(old.dimension),
            "max_tokens": int(old.max_tokens),
            "precision": old.precision,
        } | chosen
    return Encoder(model, **how, **chosen)


def source_of(meta: dict[str, Any] | None, folders: Folders) -> Source:
    """Return the source settings of an index of the same folders; the defaults for a new one."""
    same = meta and Folders.from_meta(meta) == folders
    return Source.from_dict(meta["source"]) if meta and same else Source(folders=folders.names)


def load_existing_meta(index: Path, rebuild: bool) -> tuple[dict[str, Any], Fingerprint] | None:
    """Return metadata and fingerprint of an index; None for a new one.

    Args:
        rebuild: the index will be rebuilt: if it is damaged or has another format, its settings are kept as far as they
            can be read; None if they cannot.
    """
    if not is_index(index):
        return None
    try:
        meta = read_meta(index / DATABASE)
        return meta, fingerprint_of(meta)
    except IndexNotFound:  # its first run stored nothing
        return None
    except (IndexDamaged, IndexOutdated):
        if not rebuild:
            raise
    meta, fingerprint = legible_meta(index / DATABASE), legible_fingerprint(index / DATABASE)
    if fingerprint is None:
        return None
    try:
        Folders.from_meta(meta)
        Source.from_dict(meta["source"])
    except IndexDamaged:
        meta |= {"root": "", "source": {}}
    return meta, fingerprint


def server_for(index: Path, options: StoreOptions, *, rebuild: bool = False) -> Server | None:
    """Return the server for the passages of an index; None for this machine.

    Raises:
        InputError: the address is invalid or belongs to another index, or the kind of index is unknown.
        StoreUnavailable: a server that is used for the first time does not respond.
    """
    store, kind = options.get("store"), options.get("store_index")
    stored = streamed(index)
    if store == "none":
        return None
    if not (store or stored):
        if kind:
            raise InputError("--store-index needs --store milvus://HOST:PORT/NAME")
        return None
    # Indexes on this machine need neither module.
    from search.store.milvus.client import Address, Client
    from search.store.milvus.collections import Server

    kept = Server(**stored) if stored else None
    if kept and not store:
        require_own_server(index, f"add: --store {kept.address}")
    if is_index(index) and not kept:
        raise InputError(f"'{index}' is stored on this machine. To use a server, choose another --index")
    address = Address.parse(store or (kept.address if kept else ""))
    target = Server.new(address, kind or (kept.kind if kept else "FLAT"))
    if kept and not rebuild:
        if (target.address, target.kind) != (kept.address, kept.kind):
            raise InputError(
                f"the index in '{index}' is stored at {kept.address} ({kept.kind}). To change that, add: --rebuild"
            )
        return kept
    if not rebuild and Client(address).target(address.name):
        raise InputError(f"{address} already holds an index. To replace it, add: --rebuild")
    return target
