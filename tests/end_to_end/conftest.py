"""A real browser for the tests of pages.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.conftest import skip_or_fail

if TYPE_CHECKING:
    from selenium import webdriver

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    try:
        from selenium import webdriver
    except ImportError:
        skip_or_fail("selenium is not installed")
    if not (CHROMIUM and DRIVER):
        skip_or_fail("Chromium or its driver is not installed")
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
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
