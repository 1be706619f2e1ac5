"""The application under uvicorn: from the first line that tells where it is to the end of the last request."""

import logging
import socket
import sys

import uvicorn

from softset.errors import InputError
from softset.serve.app import create_app
from softset.serve.settings import Settings

__all__ = ["serve"]

LONGEST_HEADERS = 32 << 10


def serve(settings: Settings, *, quiet: bool = False) -> None:
    """Serve until a signal comes, then finish what is under way and return."""
    listening = _listening(settings.host, settings.port)
    logging.basicConfig(stream=sys.stderr, format="softset: %(message)s", level=logging.INFO)
    limits = settings.limits
    config = uvicorn.Config(
        create_app(settings),
        log_config=None,
        log_level="warning" if quiet else "info",
        access_log=False,  # the counters have the numbers, and what people ask is their own
        server_header=False,
        limit_concurrency=4 * (limits.workers + limits.waiting) + 64,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        ws="none",
    )
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(
        f"softset: http://{shown}:{port}/ is the page, http://{shown}:{port}/v1 the interface; Ctrl-C ends\n"
    )
    sys.stderr.flush()
    uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything is loaded; a port that is taken is one sentence."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{host}:{port} cannot be listened at ({why}): choose another --port, or --host") from error
    return listening
