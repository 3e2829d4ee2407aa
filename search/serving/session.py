"""The token: programs send it as bearer; people give it once, in a form, and have a session from then on."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from urllib.parse import parse_qs

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from search.render.page.document import Page, text
from search.serving.limits import media_type, read, refused
from search.serving.pages import answered
from search.serving.problems import is_for_programs
from search.serving.settings import Settings

PLACE = "/session"
SECONDS = 12 * 60 * 60.0
MOST = 100  # sessions at once; the oldest ends
DELAY = 0.5  # seconds that a wrong token costs
MOST_WRONG = 8  # wrong tokens that wait at once
LARGEST_FORM = 4 * 1024

_OPEN = re.compile(r"/(healthz|readyz|static/.*)")  # they say nothing of what is indexed
_NEXT = re.compile(r"/([!-\[\]-~]{0,4000})")


class Door:
    """Lets in who knows the token."""

    def __init__(self, settings: Settings) -> None:
        self._digest, self._settings = _digest(settings.token), settings
        self._ends: dict[bytes, float] = {}  # digest of a session's id -> when it ends
        self._wrong = 0

    async def answer(self, request: Request) -> Response | None:
        """What somebody is answered who is not in yet; None for who is.

        Raises:
            Problem: 401 for a program; what is wrong with the form.
        """
        if request.scope["path"] == PLACE and request.method == "POST":
            return await self._form(request)
        if _OPEN.fullmatch(request.scope["path"]) or self._is_in(
            request.cookies.get(self._cookie(request), "")
        ):
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if token:
            if scheme.lower() == "bearer" and self._is_token(token.strip()):
                return None
            await self._slow_down()
        elif not is_for_programs(request):
            return _form(request, _address(request))
        raise refused(
            401,
            "token-needed",
            "this server asks for its token. Send it as: Authorization: Bearer TOKEN",
            **{"WWW-Authenticate": "Bearer"},
        )

    async def _form(self, request: Request) -> Response:
        """A session for who gave the right token; the form again for who did not."""
        if media_type(request.headers) != "application/x-www-form-urlencoded":
            raise refused(415, "bad-request", "send the form of this page.")
        body = await read(request.receive, request.headers, LARGEST_FORM, self._settings.seconds_to_send)
        try:
            given = parse_qs(body.decode("ascii"), max_num_fields=4)
        except ValueError:
            raise refused(400, "bad-request", "that is no form of this page.") from None
        token, place = (given.get(name, [""])[0] for name in ("token", "next"))
        place = place if _is_here(place) else "/"
        if not self._is_token(token.strip()):
            await self._slow_down()
            return _form(request, place, "That is not the token of this server.")
        answer = RedirectResponse(place, 303)
        answer.set_cookie(
            self._cookie(request),
            self._begin(),
            max_age=int(SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.headers.get("x-forwarded-proto", request.scope["scheme"]) == "https",
        )
        return answer

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), self._digest)

    async def _slow_down(self) -> None:
        """Let who gave a wrong token wait; where many do, they are sent away."""
        if self._wrong >= MOST_WRONG:
            raise refused(
                429, "too-many-tokens", "too many wrong tokens; try again later.", **{"Retry-After": "1"}
            )
        self._wrong += 1
        try:
            await anyio.sleep(DELAY)
        finally:
            self._wrong -= 1

    def _begin(self) -> str:
        """A new session."""
        now = time.monotonic()
        held = {one: end for one, end in self._ends.items() if end > now}
        self._ends = dict(list(held.items())[-MOST + 1 :])
        session = secrets.token_urlsafe(32)
        self._ends[_digest(session)] = now + SECONDS
        return session

    def _is_in(self, session: str) -> bool:
        return self._ends.get(_digest(session), 0.0) > time.monotonic()

    @staticmethod
    def _cookie(request: Request) -> str:
        """Its name; servers on other ports have others, as a browser does not tell ports apart."""
        return f"seewhy-{request.scope['server'][1]}"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _is_here(place: str) -> bool:
    """Whether an address is one of this server."""
    return _NEXT.fullmatch(place) is not None and not place.startswith("//")


def _address(request: Request) -> str:
    """Where somebody wanted to go; "/" where that cannot be gone to again."""
    query = request.scope["query_string"].decode("latin-1")
    place = request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return place if request.method in ("GET", "HEAD") and _is_here(place) else "/"


def _form(request: Request, place: str, wrong: str = "") -> Response:
    """The page that asks for the token; 401."""
    said = f'<p role="alert">{text(wrong)}</p>' if wrong else ""
    # A cookie that is strictly of this site is not sent along with a link from elsewhere, but with this one.
    back = f'<p>Have you given it already? <a href="{text(place)}">Go on</a>.</p>'
    body = f"""{said}<form method="post" action="{PLACE}">
<p><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required></p>
<input type="hidden" name="next" value="{text(place)}">
<p><button>Go on</button></p></form>
{back if request.headers.get("sec-fetch-site") not in (None, "none", "same-origin") else ""}"""
    page = Page("Token", "This server asks for its token", "<p>Who started it knows the token.</p>", body)
    answer = answered(request, page, status=401)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer
