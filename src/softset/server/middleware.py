"""ASGI middleware: metrics, security headers, host names, the API key, and limits on request bodies."""

import asyncio
import hmac
import time
from hashlib import sha256
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from softset.server.metrics import ServerMetrics
from softset.server.problems import RequestError, problem
from softset.server.settings import ServerLimits
from softset.server.worker_pool import WorkerPool

__all__ = ["AllowedHosts", "ApiKey", "BodyLimit", "RequestMetrics", "SecurityHeaders"]

PUBLIC_PATHS = ("/v1/health",)  # for load balancers, which have no key
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
SECURITY_HEADERS = {
    # The page contains everything it needs: the browser must not load from, or send to, any other host.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class RequestMetrics:
    """Record the route, status and duration of each request."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and record it when the response is sent."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_status)
        finally:
            route = getattr(scope.get("route"), "path", "other")  # not the path: clients could invent endless labels
            self.metrics.record(route, status, time.perf_counter() - start)


class SecurityHeaders:
    """Add the security headers to each response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and add headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


class AllowedHosts:
    """Refuse requests for other host names, to prevent DNS rebinding.

    A foreign page can let its own domain resolve to 127.0.0.1. The browsers of its visitors would then send its
    requests to this server, but with that domain in the Host header.
    """

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self.app, self.names = app, LOCAL_HOSTS | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request if its host name is known."""
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "").lower()
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name not in self.names:
                detail = f"{name[:100]!r} is not a host name of this server: add it with softset serve --host-name"
                await problem(HTTPStatus.MISDIRECTED_REQUEST, detail)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class ApiKey:
    """Require the API key for everything but the page and /v1/health. Keys are compared in constant time."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.digest = app, _digest(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request if it has the key or needs none."""
        protected = scope["type"] == "http" and scope["path"].startswith(("/v1", "/metrics"))
        if protected and scope["path"] not in PUBLIC_PATHS and not self._is_valid(Headers(scope=scope)):
            detail = "the API key is missing or wrong: send the header Authorization: Bearer KEY"
            response = problem(HTTPStatus.UNAUTHORIZED, detail, headers={"www-authenticate": "Bearer"})
            await response(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _is_valid(self, headers: Headers) -> bool:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(_digest(key.strip()), self.digest)


class BodyLimit:
    """Read the body of each POST request, with limits on its type, size and time.

    Requests are refused before their body is read if the worker pool is full.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits, pool: WorkerPool) -> None:
        self.app, self.limits, self.pool = app, limits, pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request with its complete body."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            self.pool.raise_if_full()
            body = await self._read(Headers(scope=scope), receive)
        except RequestError as error:
            response = problem(error.status, str(error), headers={"connection": "close", **error.headers})
            await response(scope, receive, send)
            return
        if body is None:
            return

        async def receive_body() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            content, body = body, None
            return {"type": "http.request", "body": content, "more_body": False}

        await self.app(scope, receive_body, send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has disconnected.

        Browsers let a form of any site send other content types without asking the server first. Only JSON is
        accepted, so that such forms cannot use this server.
        """
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        length = headers.get("content-length", "0")
        if content_type != "application/json" and headers.get("content-length") != "0":
            detail = "the content type is not JSON: send the header content-type: application/json"
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
        if not length.isdigit() or int(length) > self.limits.body:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await self._receive_all(receive)
        except TimeoutError:
            raise RequestError(HTTPStatus.REQUEST_TIMEOUT, "the request was not complete in time") from None

    async def _receive_all(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.limits.body:
                raise self._too_large()
            if not message.get("more_body"):
                return _check_utf8(bytes(body))

    def _too_large(self) -> RequestError:
        return RequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body has more than {self.limits.body:,} bytes: send less at once or raise the limit (softset serve "
            "--max-body)",
        )


def _check_utf8(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is not UTF-8 at byte {error.start}") from None
    return body


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
