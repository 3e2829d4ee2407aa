"""Pages of `seewhy serve` that look into a model, which a process of its own loads."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI
from starlette.requests import Request

from search.encoding.workers import begin_child
from search.index import Index
from search.lab.bert import tokenizing
from search.lab.records.inspections import Decoding
from search.lab.render import pages
from search.render.page.document import Page
from search.serving.pages import PageParams, form_view
from search.serving.problems import busy

Answered = TypeVar("Answered")

_IDLE_SECONDS = 300.0  # PyTorch takes 380 MB
_SECONDS_TO_END = 1.5


class IdleProcess:
    """A process for work that needs much memory; it ends, and starts anew, if it had no work for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._lock = seconds, threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._timer = threading.Timer(0, self.end)

    def run(self, work: Callable[..., Answered], *values: Any) -> Answered:
        """Return the result of a function, computed in the process; raise Problem if that was killed."""
        with self._lock:
            self._timer.cancel()
            self._pool = self._pool or ProcessPoolExecutor(1, get_context("spawn"), begin_child)
            try:
                return self._pool.submit(work, *values).result()
            except BrokenExecutor:
                self._pool = None
                raise busy("the model inspector stopped. Try again.") from None
            finally:
                self._timer = threading.Timer(self._seconds, self.end)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """End the process, if there is one, after its work."""
        with self._lock:
            if self._pool:
                self._pool.shutdown()
            self._pool = None


INSPECTOR = IdleProcess(_IDLE_SECONDS)


@asynccontextmanager
async def _ends_with_the_server(_: FastAPI) -> AsyncIterator[None]:
    yield
    with anyio.move_on_after(_SECONDS_TO_END):
        await run_sync(INSPECTOR.end, abandon_on_cancel=True)


router = APIRouter(lifespan=_ends_with_the_server)


def _decoding(text: str, model: str) -> Decoding:
    ids = [token.id for token in tokenizing.tokenize(text, model=model, offline=True).tokens]
    return tokenizing.decode(ids, model=model, offline=True)


def _looked_up(index: Index, params: PageParams, request: Request) -> Page:
    """Return the entries of the vocabulary that spell the text in a form."""
    return pages.vocabulary(INSPECTOR.run(_decoding, params.text[0], index.encoder.model))


form_view(pages.VOCABULARY, PageParams, _looked_up, router)
