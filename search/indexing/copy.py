"""The copy of an index on a server: where it is to be, and that it is brought up to date with the index.

An index that was published once is published again whenever it was brought up to date, until it is said not to be. One
that lies outside of the user's own may come from somebody else: then the server is named each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import IndexDamaged, InputError, OptionalDependency, StoreUnavailable, first_line
from search.store.files import PUBLISHED, writer_lock
from search.store.layout import is_own

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.records.options import StoreOptions
    from search.records.reports import Progress, Report
    from search.store.milvus.publishing import Published

NONE = "none"


def check_store(index: Path, options: StoreOptions) -> None:
    """Refuse what cannot be published, before any work is done and before anything is kept of it.

    Raises:
        InputError: it is no address, there is no such kind of index, or another index was published there.
        OptionalDependency: what asks a server is not installed.
        StoreUnavailable: a server that is named for the first time does not answer.
    """
    store, kind = options.get("store"), options.get("store_index")
    if kind:
        from search.store.milvus.collections import dense_of

        dense_of(kind)
    if store and store != NONE:
        from search.store.milvus.address import Address

        address = Address.parse(store)
        if find_spec("pymilvus") is None:
            raise OptionalDependency("pymilvus", "milvus", "an index on Milvus")
        from search.store.milvus.ledger import place_of
        from search.store.milvus.publishing import require_free

        if not options.get("store_anew"):
            place = place_of(index)
            if place is None or place.address != str(address):
                require_free(address)


def with_copy(
    index: Path,
    report: Report,
    encoder: Encoder,
    options: StoreOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """The report of a run, after the copy of the index was brought up to date, where it has one or is to have one.

    Raises:
        InputError: the index is to have none, and something is asked of it; or it has one of another index's name.
        StoreUnavailable: the server does not answer.
    """
    if options.get("store") in (None, "", NONE) and not (index / PUBLISHED).is_file():
        if options.get("store_index") or options.get("store_anew"):
            raise InputError("the index has no copy on a server. Say where it is to be with --store ADDRESS.")
        return report
    if options.get("store") == NONE:
        return replace(report, notes=(*report.notes, _ended(index)))
    from search.store.milvus.publishing import publish

    if note := _settle(index, options):
        return replace(report, notes=(*report.notes, note))
    started = time.monotonic()
    try:
        done = publish(index, encoder, anew=bool(options.get("store_anew")), progress=progress)
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"the index in '{index}' is up to date, but its copy on the server is as it was: "
            f"{first_line(error)} The next run goes on; --store none ends publishing.",
            report,
        ) from error
    return (
        report
        if done.nothing
        else replace(report, notes=(*report.notes, _said(index, done, time.monotonic() - started)))
    )


def _ended(index: Path) -> str:
    """Publish the index no more, also where what says where it was is damaged; a sentence that says so."""
    from search.store.milvus import ledger

    where = "the server"
    with writer_lock(index):
        with suppress(IndexDamaged):
            place = ledger.place_of(index)
            where = place.address if place else where
        ledger.forget_place(index)
    return f"the index is published no more; what is on {where} stays there as it is"


def _settle(index: Path, options: StoreOptions) -> str:
    """Keep where the copy is to be; or a sentence that says why there is none to bring up to date."""
    from search.store.milvus import ledger
    from search.store.milvus.address import Address
    from search.store.milvus.collections import EXACT

    store, kind = options.get("store"), options.get("store_index")
    with writer_lock(index):
        try:
            place = ledger.place_of(index)
        except IndexDamaged:
            if not (options.get("store_anew") and store):
                raise
            place = None
        if not store and not is_own(index):
            return (
                f"the index says that it is published on {place and place.address}, and may come from somebody else: "
                "nothing was sent. If it is yours, name the server with --store"
            )
        address = str(Address.parse(store)) if store else place.address if place else ""
        if place is None or place.address != address:
            ledger.keep_place(index, ledger.Place(address, kind or EXACT))
        elif kind:
            ledger.change_kind(index, kind)
    return ""


def _said(index: Path, done: Published, seconds: float) -> str:
    """What was published, in a sentence."""
    from search.store.milvus.ledger import place_of

    place, made = place_of(index), done.generation
    written = f"{done.written:,} of {made.passages:,} passages written in {seconds:.1f} s"
    text = f"published on {place and place.address}: {written}"
    if done.ended:
        text += f", {done.ended:,} old ones ended"
    if not made.exact:
        recall = made.dense["recall@10"]
        finds = (
            "what it finds was not measured, as no passage has a sentence to ask with"
            if recall is None
            else f"finds {recall:.1%} of the ten nearest ({made.dense['queries']:,} questions)"
        )
        text += f"; its index of embeddings is approximate ({made.dense['kind']}), {finds}"
    return text
