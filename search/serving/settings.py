"""What may be chosen of a server."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from search.errors import InputError, quoted

PORT = 8765
SHORTEST_TOKEN = 16

_TOKEN = re.compile(rf"[!-~]{{{SHORTEST_TOKEN},}}")
_HOST = re.compile(
    r"(?P<name>[a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f.]*:[0-9a-f:.]*\])(:(?P<port>[0-9]{1,5}))?"
)
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}")


@dataclass(frozen=True)
class Settings:
    """How a server is reached, and what it takes.

    Attributes:
        host, port: what it listens on; port 0 takes any that is free.
        token: what a client has to send as bearer; "" for none, which is only for loopback.
        allowed_hosts: names that a request's Host may have, beside those of loopback; with a port, only with that.
        origins: pages of other servers whose scripts may ask, as "https://notes.example"; none by default.
        largest_body: in bytes; `longest_target`, of path and query string; `largest_head`, of a request.
        most_headers: of a request.
        seconds_to_send: what a client has to send the head of a request, and its body, and to take what it is sent.
        most_connections: that are open at once.
        seconds_to_drain: how long requests may go on when the server is to end.

    Raises:
        InputError: others could ask without a token, or one of them is not what it has to be.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    largest_body: int = 64 * 1024
    longest_target: int = 32 * 1024  # a query of the longest, as percent-encoded UTF-8
    most_headers: int = 100
    largest_head: int = 64 * 1024
    seconds_to_send: float = 10.0
    most_connections: int = 256
    seconds_to_drain: float = 10.0

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
            if host_and_port(name) is None:
                raise InputError(
                    f"{quoted(name)} is no name of a host. Give it as in: --allowed-host notes.example"
                )
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin.lower()):
                raise InputError(
                    f"{quoted(origin)} is no origin. Give it as in: --origin https://notes.example"
                )


def host_and_port(value: str) -> tuple[str, int | None] | None:
    """The name, in lower case, and the port of a Host; None for what is none."""
    found = _HOST.fullmatch(value.lower())
    return (found["name"].strip("[]"), int(found["port"]) if found["port"] else None) if found else None


def is_loopback(name: str) -> bool:
    """Whether only this machine can mean itself by a name or address."""
    return name == "localhost" or getattr(address(name), "is_loopback", False)


def address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address that is written as one; None for a name."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def url_of(host: str, port: int) -> str:
    """The address of a server on this machine, for a person and a browser.

    What listens on every address has none of its own; "localhost" is one that it answers to.
    """
    if getattr(address(host), "is_unspecified", False):
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
