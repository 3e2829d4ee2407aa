"""A real browser for the tests of pages, and a real server of them.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

from __future__ import annotations

import importlib.util
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.conftest import skip_or_fail

if TYPE_CHECKING:
    from selenium import webdriver

    from search import Index

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
DRIVER = shutil.which("chromedriver")


@contextmanager
def chromium(watched: bool = True) -> Iterator[webdriver.Chrome]:
    """A browser that nobody sees.

    Args:
        watched: keep what it asks for and complains of, which takes time.
    """
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ):
        options.add_argument(argument)
    if watched:
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def serving(*indexes: Index) -> Iterator[str]:
    """A server in a thread; its address."""
    import uvicorn

    from search.serving import create_app

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `seewhy serve` does
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(*indexes), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="session", autouse=True)
def _one_inspector(one_inspector: None) -> None:
    """All servers of these tests share the process that looks into models."""


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    if importlib.util.find_spec("selenium") is None:
        skip_or_fail("selenium is not installed")
    if not (CHROMIUM and DRIVER):
        skip_or_fail("Chromium or its driver is not installed")
    with chromium() as driver:
        yield driver
