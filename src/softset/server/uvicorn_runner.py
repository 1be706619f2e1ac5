"""Run the application under uvicorn."""

import asyncio
import logging
import os
import signal
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from softset.errors import InputError
from softset.server.app import create_app
from softset.server.settings import ServerLimits, Settings

HEADER_TIMEOUT = 10.0  # seconds from the connection or the end of a response to the end of the next headers
MAX_HEADER_BYTES = 32 << 10
MAX_CONNECTIONS = 512  # below the usual limit of 1,024 open files


def serve(settings: Settings, *, quiet: bool = False) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests and return."""
    logging.basicConfig(stream=sys.stderr, format="softset: %(message)s", level=logging.INFO)
    with _listen(settings.host, settings.port) as listener:
        app = create_app(settings)
        service = app.state.service
        try:
            service.resources.load_named()
            _print_address(*listener.getsockname()[:2])
            _handle_signals()
            uvicorn.Server(_config(app, settings.limits, quiet=quiet)).run(sockets=[listener])
        finally:
            service.resources.temporary.close()
    if not service.finished:  # Python would wait for the threads, and nothing can stop them
        logging.getLogger("softset.server").warning("some requests did not finish in time")
        sys.stderr.flush()
        os._exit(0)


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a timeout for request headers and a limit on connections."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a connection, or close it if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.close()
        else:
            self._update_timer()

    def data_received(self, data: bytes) -> None:
        """Parse data, and start the timer if no request is complete."""
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _update_timer(self) -> None:
        """Run the timer only while no request is being processed."""
        if self._is_processing() and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not self._is_processing() and self._timer is None:
            self._timer = self.loop.call_later(HEADER_TIMEOUT, self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        if not self._is_processing():
            self.transport.close()

    def _is_processing(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


def _config(app: FastAPI, limits: ServerLimits, *, quiet: bool) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="warning" if quiet else "info",
        access_log=False,  # queries are private; the metrics count requests
        server_header=False,
        http=HeaderTimeoutProtocol,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.timeout) + 1,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        ws="none",
    )


def _print_address(host: str, port: int) -> None:
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    note = " (listening on all addresses of this machine)" if host in ("0.0.0.0", "::") else ""  # noqa: S104 (compared)
    sys.stderr.write(f"softset: page at {url}/, API at {url}/v1{note}; press Ctrl-C to stop\n")
    sys.stderr.flush()


def _handle_signals() -> None:
    """Make the process exit with code 0 after SIGINT and SIGTERM, and ignore SIGPIPE.

    uvicorn replaces the first two handlers while it serves, and raises the signal again afterwards. The command line
    ends at SIGPIPE, but a client that disconnects must not stop the server.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; clients that connect while models are loaded wait in its backlog."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise InputError(f"cannot listen on {host}:{port} ({reason}): choose another --port or --host") from error
