"""ASGI middleware: host names, the API key, limits on request bodies, security headers and metrics."""

import asyncio
import hmac
import time
from hashlib import sha256
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from softset.server.problems import RequestError, problem
from softset.server.service import Service
from softset.server.settings import Settings, is_loopback
from softset.server.worker_pool import CLIENT_CLOSED_REQUEST

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


class RequestGuard:
    """Check each request before the application sees it, add security headers to the response, and record metrics."""

    def __init__(self, app: ASGIApp, settings: Settings, service: Service) -> None:
        self.app, self.service, self.limits = app, service, settings.limits
        names = {name.lower() for name in (settings.host, *settings.hosts)}
        self.hosts = LOCAL_HOSTS | names if is_loopback(settings.host) else None
        self.key_digest = None if settings.key is None else _digest(settings.key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        try:
            await self._check_and_forward(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "other")  # not the path: clients could invent endless labels
            self.service.metrics.record(route, status, time.perf_counter() - start)

    async def _check_and_forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_key(scope["path"], headers)
            body = await self._read_body(headers, receive) if scope["method"] == "POST" else None
        except RequestError as error:
            response = problem(error.status, str(error), headers={"connection": "close", **error.headers})
            await response(scope, receive, send)
            return

        async def receive_body() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            content, body = body, None
            return {"type": "http.request", "body": content, "more_body": False}

        await self.app(scope, receive_body, send)

    def _check_host(self, headers: Headers) -> None:
        """Refuse other host names, to prevent DNS rebinding.

        A foreign page can let its own domain resolve to 127.0.0.1. The browsers of its visitors would then send its
        requests to this server, but with that domain in the Host header.
        """
        host = headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if self.hosts is not None and name not in self.hosts:
            detail = f"{name[:100]!r} is not a host name of this server: add it with softset serve --host-name"
            raise RequestError(HTTPStatus.MISDIRECTED_REQUEST, detail)

    def _check_key(self, path: str, headers: Headers) -> None:
        """Require the API key for everything but the page and /v1/health; keys are compared in constant time."""
        if self.key_digest is None or path in PUBLIC_PATHS or not path.startswith(("/v1", "/metrics")):
            return
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(_digest(key.strip()), self.key_digest):
            detail = "the API key is missing or wrong: send the header Authorization: Bearer KEY"
            raise RequestError(HTTPStatus.UNAUTHORIZED, detail, headers={"www-authenticate": "Bearer"})

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the body of a request, with limits on its type, size and time.

        Browsers let a form of any site send other content types without asking the server first. Only JSON is
        accepted, so that such forms cannot use this server.
        """
        self.service.pool.raise_if_full()
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        length = headers.get("content-length", "0")
        if content_type != "application/json" and headers.get("content-length") != "0":
            detail = "the content type is not JSON: send the header content-type: application/json"
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
        if not length.isdigit() or int(length) > self.limits.body:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.limits.timeout):
                body = await self._receive_all(receive)
            body.decode()
        except TimeoutError:
            detail = f"the body did not arrive within {self.limits.timeout:g} s"
            raise RequestError(HTTPStatus.REQUEST_TIMEOUT, detail) from None
        except UnicodeDecodeError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is not UTF-8 at byte {error.start}") from None
        return body

    async def _receive_all(self, receive: Receive) -> bytes:
        body, complete = bytearray(), False
        while not complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError(CLIENT_CLOSED_REQUEST, "client disconnected")
            body += message.get("body", b"")
            if len(body) > self.limits.body:
                raise self._too_large()
            complete = not message.get("more_body")
        return bytes(body)

    def _too_large(self) -> RequestError:
        return RequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body has more than {self.limits.body:,} bytes: send less at once or raise the limit (softset serve "
            "--max-body)",
        )


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
