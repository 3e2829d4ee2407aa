"""How a server is reached."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from search.errors import InputError, quoted

SHORTEST_TOKEN = 16

_TOKEN = re.compile(rf"[!-~]{{{SHORTEST_TOKEN},}}")
_NAME = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_ORIGIN = rf"https?://{_NAME}(:[0-9]{{1,5}})?"


@dataclass(frozen=True)
class Settings:
    """How a server is reached, and by whom.

    Attributes:
        host: what it listens on.
        token: what a client has to send; "" for none, which is only for loopback.
        allowed_hosts: names that a request's Host may have without a token, beside `host` and those of loopback.
        origins: pages of other servers whose scripts may ask, as "https://notes.example"; none by default.

    Raises:
        InputError: others could ask without a token, or one of them is not what it has to be.
    """

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            raise InputError(
                f"other machines could ask a server that listens on {self.host}, which needs a token. "
                "Set SEEWHY_TOKEN, or let one be made with: --token new"
            )
        if self.token and not _TOKEN.fullmatch(self.token):
            raise InputError(
                f"a token is {SHORTEST_TOKEN} or more visible characters of ASCII, without spaces. "
                "Let one be made with: --token new"
            )
        for name in self.allowed_hosts:
            if not re.fullmatch(_NAME, name):
                raise InputError(
                    f"{quoted(name)} is no name of a host. Give it as in: --allowed-host notes.example"
                )
        for origin in self.origins:
            if not re.fullmatch(_ORIGIN, origin):
                raise InputError(
                    f"{quoted(origin)} is no origin. Give it as in: --origin https://notes.example"
                )

    @property
    def trusted_hosts(self) -> list[str]:
        """Names that a request's Host may have; any where a token is needed."""
        return (
            ["*"]
            if self.token
            else ["localhost", "127.0.0.1", "[::1]", "::1", self.host, *self.allowed_hosts]
        )


def is_loopback(name: str) -> bool:
    """Whether only this machine can mean itself by a name or address."""
    return name == "localhost" or getattr(_address(name), "is_loopback", False)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address that is written as one; None for a name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def url_of(host: str, port: int) -> str:
    """The address of a server on this machine, for a person and a browser.

    What listens on every address has none of its own; "localhost" is one that it answers to.
    """
    if getattr(_address(host), "is_unspecified", False):
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
