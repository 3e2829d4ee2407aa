"""No network for any adaptor: frameworks send nothing, and reach nothing."""

import os
from collections.abc import Iterator

import pytest
import pytest_socket

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # read when Haystack is imported


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()
