"""The application under uvicorn: from the first line that tells where it is to the end of the last request."""

import logging
import os
import signal
import socket
import sys

import uvicorn
from fastapi import FastAPI

from softset.errors import InputError
from softset.server.app import create_app
from softset.server.protocol import ImpatientProtocol
from softset.server.settings import Limits, Settings

__all__ = ["serve"]

LONGEST_HEADERS = 32 << 10
BACKLOG = 128


def serve(settings: Settings, *, quiet: bool = False) -> None:
    """Serve until a signal comes, then finish what is under way and return."""
    logging.basicConfig(stream=sys.stderr, format="softset: %(message)s", level=logging.INFO)
    with _listening(settings.host, settings.port) as listening:
        app = create_app(settings)
        try:
            app.state.service.offers.load_named()
            host, port = listening.getsockname()[:2]
            url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            everywhere = " (all addresses of this machine)" if host in ("0.0.0.0", "::") else ""  # noqa: S104 (told)
            sys.stderr.write(f"softset: {url}/ is the page, {url}/v1 the interface{everywhere}; Ctrl-C ends\n")
            sys.stderr.flush()
            _take_signals()
            uvicorn.Server(_config(app, settings.limits, quiet=quiet)).run(sockets=[listening])
        finally:
            finished = app.state.service.close()
    if not finished:  # threads cannot be ended, and Python would wait for them
        logging.getLogger("softset.server").warning("what took too long was not finished")
        sys.stderr.flush()
        os._exit(0)


def _config(app: FastAPI, limits: Limits, *, quiet: bool) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="warning" if quiet else "info",
        access_log=False,  # the counters have the numbers, and what people ask is their own
        server_header=False,
        http=ImpatientProtocol,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        ws="none",
    )


def _take_signals() -> None:
    """Let signals end the server in its own time, and let a client that hangs up not end it at all.

    uvicorn takes the first two while it serves, and hands them back afterwards. The last would kill the process: the
    command line wants that, which ends when the reader of its pipe does.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _ended)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _ended(number: int, frame: object) -> None:
    """Do nothing more: a server that was asked to end, and did, has not failed."""


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything is loaded; a port that is taken is one sentence."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)  # who comes now waits until all is loaded
        except OSError:
            listening.close()
            raise
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{host}:{port} cannot be listened at ({why}): choose another --port, or --host") from error
    return listening
