"""What a request passes before anybody looks at what it says; each guard is an ASGI application around another."""

import asyncio
import hmac
import time
from hashlib import sha256
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from softset.server.counters import Counters
from softset.server.desk import Desk
from softset.server.problems import BadRequestError, problem
from softset.server.settings import Limits

__all__ = ["Bodies", "Counted", "Hosts", "Keys", "Sealed"]

OPEN_PATHS = ("/v1/health",)  # what a load balancer asks without a key; the page itself holds no secret either
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

# The page brings all that it needs: the browser is told to load nothing from elsewhere, and to send nothing there.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SEALS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Counted:
    """Counts requests and their times by the route that took them."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self.app, self.counters = app, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when it is answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, begun = 0, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "other")  # never the path itself: anybody can invent one
            self.counters.request(route, status, time.perf_counter() - begun)


class Sealed:
    """Adds the headers that keep a browser from loading or sending anything elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and the answer back with more headers."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SEALS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, sealed)


class Hosts:
    """Takes only requests that call the server by a name of its own.

    A page from anywhere can let its own name point to 127.0.0.1, and its visitors' browsers would then talk to this
    server as if they were there; but they say the name.
    """

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self.app, self.names = app, LOCAL_NAMES | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request by a strange name."""
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "").lower()
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name not in self.names:
                sentence = f"this server is not called {name[:100]!r}: let it know the name (softset serve --host-name)"
                await problem(HTTPStatus.MISDIRECTED_REQUEST, sentence)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Keys:
    """Lets in only those who bring the API key; the time it takes does not tell how much of a wrong one is right."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.digest = app, _digest(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request without the key, but for the page and the question after its health."""
        guarded = scope["type"] == "http" and scope["path"].startswith(("/v1", "/metrics"))
        if guarded and scope["path"] not in OPEN_PATHS and not self._known(Headers(scope=scope)):
            sentence = "this server wants its API key: send it as Authorization: Bearer KEY"
            refused = problem(HTTPStatus.UNAUTHORIZED, sentence, headers={"www-authenticate": "Bearer"})
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(_digest(given.strip()), self.digest)


class Bodies:
    """Reads a body that is no larger than allowed and comes in time, if there is room for the work that it asks for."""

    def __init__(self, app: ASGIApp, limits: Limits, desk: Desk) -> None:
        self.app, self.limits, self.desk = app, limits, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            self.desk.check_room()
            body = await self._read(Headers(scope=scope), receive)
        except BadRequestError as error:
            refused = problem(error.status, str(error), headers={"connection": "close", **error.headers})
            await refused(scope, receive, send)
            return
        if body is None:
            return

        async def again() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            whole, body = body, None
            return {"type": "http.request", "body": whole, "more_body": False}

        await self.app(scope, again, send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body, or None if the asker is gone.

        What another site's form can send without being asked is no JSON, and is not read as such.
        """
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and headers.get("content-length") != "0":
            sentence = "the request is not said to be JSON: send content-type: application/json"
            raise BadRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.limits.body:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self.limits.body:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return _text(bytes(body))
        except TimeoutError:
            raise BadRequestError(HTTPStatus.REQUEST_TIMEOUT, "the request did not come to its end in time") from None

    def _too_large(self) -> BadRequestError:
        return BadRequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"a request may have {self.limits.body:,} bytes here, but this has more: send less at once (softset serve "
            "--max-body)",
        )


def _text(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        sentence = f"the body is not UTF-8 at byte {error.start}: convert it first"
        raise BadRequestError(HTTPStatus.BAD_REQUEST, sentence) from None
    return body


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
