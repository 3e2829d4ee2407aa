"""What may be chosen of a server."""

from __future__ import annotations

from dataclasses import dataclass, field

PORT = 8765
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Settings:
    """How a server is reached, and what it takes.

    Attributes:
        host, port: what it listens on; port 0 takes any that is free.
        token: what a client has to send as bearer; "" for none, which is only for loopback.
        allowed_hosts: names that a request's Host may have, beside those of loopback.
        origins: pages of other servers whose scripts may ask, as "https://notes.example"; none by default.
        longest_query: characters of a query; `most_hits` of one answer; `largest_body` in bytes.
        seconds_to_drain: how long requests may go on when the server is to end.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    longest_query: int = 2_000
    most_hits: int = 100
    largest_body: int = 64 * 1024
    seconds_to_drain: float = 10.0
