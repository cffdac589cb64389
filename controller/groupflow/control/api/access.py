"""Access to a REST API: for bearers of its token, and processes of the same user at its Unix socket.

A browser is let in once by `/?token=`, and then by a cookie. A request whose `Host:` is not this machine's
comes from a page of somebody else's, whose name was made to lead here (DNS rebinding), and is refused.
"""

import asyncio
import hmac
import logging
import secrets
import socket
from collections import deque
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groupflow.agents.api_token import VARIABLE
from groupflow.agents.controller_link import TOKEN_VARIABLE

log = logging.getLogger(__name__)

OF_AGENTS = frozenset({"/v1/agents/reports", "/v1/gather/rounds"})
"""the paths for which the token of agents is enough"""
BODY = 1 << 20
"""most bytes of a request's body"""
_LOOKS = 10
"""rounds of the event loop in which it comes to know the end of a connection that has ended"""


class Guard:
    """An application that only those use who may. `agents`: the token of agents, if they have one."""

    def __init__(
        self, app: ASGIApp, token: str, *, agents: str | None = None, names: Sequence[str] = ()
    ) -> None:
        """`names` are this machine's besides its own: those of the API's address and of its certificate."""
        self._app = app
        self._token = token
        # Cookies are sent to every port of a host: this one is of use only here, and dies with the API.
        self._cookie = secrets.token_hex(32)
        self._agents = agents
        self._names = {"localhost", socket.gethostname().lower(), *map(str.lower, names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refusal = self._refusal(scope)
            if refusal is None and (request := await _bounded(receive)) is not None:
                await self._answer(request, scope, send)
            else:
                refusal = refusal or _problem(413, f"a request has at most {BODY} bytes; send less")
                await refusal(scope, receive, send)

    async def _answer(self, request: "_Request", scope: Scope, send: Send) -> None:
        try:
            if scope["method"] in ("GET", "HEAD") or not await request.has_left():
                await self._app(scope, request.receive, send)
            else:
                log.warning("dropped a request whose client has left path=%s", scope["path"])
        finally:
            request.close()

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is not let in; also that which gives a browser its cookie."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_own(host):
            return _problem(421, f"{host!r} is no name of this machine; use its IP address")
        if (scope.get("server") or ("", 0))[1] is None:
            return None  # a Unix socket, whose peer was known when it connected
        cookie = f"groupflow_{scope['server'][1]}" if scope.get("server") else "groupflow"
        if scope["path"] == "/" and (given := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            if not _same(given[-1], self._token):
                return _problem(403, "the token is wrong; open the address that the controller printed")
            answer = RedirectResponse(
                "/", 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
            )
            answer.set_cookie(
                cookie, self._cookie, httponly=True, samesite="strict", secure=scope["scheme"] == "https"
            )
            return answer
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if _same(bearer, self._token):
                return None
            if self._agents is not None and scope["path"] in OF_AGENTS and _same(bearer, self._agents):
                return None
            variable = TOKEN_VARIABLE if scope["path"] in OF_AGENTS else VARIABLE
            return _problem(403, f"the token is wrong; set {variable}")
        if _same(HTTPConnection(scope).cookies.get(cookie, ""), self._cookie):
            # Pages at other ports of this host are of the same site: the cookie comes with their forms, too.
            origin = headers.get("origin")
            if scope["method"] in ("GET", "HEAD") or origin is None or urlsplit(origin).netloc == host:
                return None
            return _problem(403, f"a page of {origin} may change nothing here")
        return _problem(
            401,
            f"the token is missing: set {VARIABLE} (agents: {TOKEN_VARIABLE}), or run the command as the user"
            " of the API; in a browser, open the address that the API printed",
        )

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        name = name.rstrip(".")
        if not self._names.isdisjoint({name, f"*.{name.partition('.')[2]}"}):
            return True
        try:
            ip_address(name)  # no name, so that nobody can have made it lead here
        except ValueError:
            return False
        return True


class _Request:
    """A request whose body has been read."""

    def __init__(self, body: deque[Message], receive: Receive) -> None:
        self._body = body
        self._receive = receive
        self._end: asyncio.Future[Message] | None = None
        """what comes behind the body: the end of the connection"""

    async def receive(self) -> Message:
        if self._body:
            return self._body.popleft()
        return await (self._receive() if self._end is None else asyncio.shield(self._end))

    async def has_left(self) -> bool:
        """Whether the client hung up, as while no controller ran: what it asked for is not wanted."""
        self._end = asyncio.ensure_future(self._receive())
        for _ in range(_LOOKS):
            await asyncio.sleep(0)
        return self._end.done()

    def close(self) -> None:
        if self._end is not None:
            self._end.cancel()


async def _bounded(receive: Receive) -> _Request | None:
    """A request; None: it is too long."""
    messages: deque[Message] = deque()
    size, more = 0, True
    while more:
        messages.append(message := await receive())
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        if size > BODY:
            return None
    return _Request(messages, receive)


def _same(given: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


def _problem(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
