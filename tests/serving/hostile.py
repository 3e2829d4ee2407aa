"""A client that sends bytes to a server over a raw socket, and what must hold for every answer."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

SECRET = "opensesame7f3a"  # stands in what must not be read
CLOSED = 0  # instead of a status: the connection is closed without an answer
ALWAYS = (
    "content-security-policy",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
    "cache-control",
)


@dataclass(frozen=True)
class Attack:
    """One thing that is sent.

    Attributes:
        right: the statuses that it may be answered with.
        seconds: how long the server may take to end it.
        absent: what the answer must not hold.
    """

    group: str
    name: str
    sent: bytes
    right: tuple[int, ...]
    seconds: float = 10.0
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What came back until the server closed the connection, or `ended` is false."""

    received: bytes
    ended: bool
    seconds: float

    @property
    def statuses(self) -> list[int]:
        return [int(one) for one in re.findall(rb"^HTTP/1\.1 ([2-5]\d\d) ", self.received, re.MULTILINE)] or [
            CLOSED
        ]

    @property
    def head(self) -> str:
        final = re.sub(rb"^HTTP/1\.1 1\d\d .*?\r\n\r\n", b"", self.received, flags=re.DOTALL)
        return final.partition(b"\r\n\r\n")[0].decode("latin-1").lower()


@dataclass(frozen=True)
class Target:
    """A server, and the decoys beside what it serves."""

    host: str
    port: int
    decoy: str = "/none"
    other: str = "/none"
    hidden: str = "none"

    def filled(self, sent: bytes) -> bytes:
        """What is sent to it."""
        places = {"HOST": f"{self.host}:{self.port}", "PORT": str(self.port)}
        places |= {"DECOY": quote(self.decoy), "OTHER": quote(self.other), "HIDDEN": quote(self.hidden)}
        for name, value in places.items():
            sent = sent.replace(f"@{name}@".encode(), value.encode())
        return sent

    def send(self, sent: bytes, seconds: float = 10.0) -> Answer:
        """Send bytes, and read until the server closes the connection or the time is over."""
        started, received, ended = time.monotonic(), b"", False
        with socket.create_connection((self.host, self.port), 10) as connection:
            with contextlib.suppress(OSError):  # it may be refused before all of it is sent
                connection.sendall(self.filled(sent))
            try:
                while (left := started + seconds - time.monotonic()) > 0:
                    connection.settimeout(left)
                    if not (block := connection.recv(1 << 16)):
                        ended = True
                        break
                    received += block
            except TimeoutError:
                pass
            except OSError:
                ended = True  # reset: what was sent was not read to its end
        return Answer(received, ended, time.monotonic() - started)


def wrong_with(attack: Attack, answer: Answer) -> str:
    """What is wrong with an answer; "" where it is right."""
    shown = answer.received.decode("utf-8", "replace")
    if not answer.ended:
        return f"still open after {answer.seconds:.1f} s, answered {answer.statuses}"
    if answer.statuses[0] not in attack.right or len(answer.statuses) > 1:
        return f"answered {answer.statuses}, right is one of {attack.right}: {shown[-200:]!r}"
    for told in ("Traceback", SECRET, "root:x:", *attack.absent):
        if told in shown:
            return f"the answer holds {told!r}"
    if answer.statuses[0] == CLOSED:
        return ""
    if missing := [name for name in ALWAYS if f"\n{name}:" not in answer.head]:
        return f"the answer lacks {missing}"
    if extra := re.findall(r"\n(access-control-[a-z-]+|server|x-powered-by):", answer.head):
        return f"the answer has {extra}"
    return ""


def request(
    target: str = "/",
    method: str = "GET",
    host: str | None = "@HOST@",
    headers: Iterable[tuple[str, str]] | dict[str, str] = (),
    body: bytes = b"",
) -> bytes:
    """A request that asks for the connection to be closed behind it."""
    lines = [f"{method} {target} HTTP/1.1", *([] if host is None else [f"Host: {host}"])]
    lines += [
        f"{name}: {value}" for name, value in (headers.items() if isinstance(headers, dict) else headers)
    ]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def posted(body: bytes, path: str = "/api/v1/search", **headers: str) -> bytes:
    """A POST of JSON."""
    named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    return request(path, "POST", headers={name: value for name, value in named.items() if value}, body=body)


def table(done: Sequence[tuple[Attack, str]]) -> list[str]:
    """What was tried: a row a group, and a line with all."""
    rows = ["| what was tried | | as they should be |", "|---|---|---|"]
    for group in dict.fromkeys(attack.group for attack, _ in done):
        found = [wrong for attack, wrong in done if attack.group == group]
        rows.append(f"| {group} | {len(found)} | {found.count('')} |")
    right = sum(not wrong for _, wrong in done)
    return [*rows, "", f"{right} of {len(done)} answered or refused as they should be"]
