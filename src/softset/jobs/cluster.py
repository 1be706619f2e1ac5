"""Connection to a Ray cluster: a running one, or one on this machine for the time of a job."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr, suppress
from io import StringIO
from typing import Any

from softset.errors import InputError
from softset.io.text import import_extra

CONNECT_TIMEOUT = 5.0  # seconds; Ray itself would try for more than a minute


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster; a cluster that was started here is stopped afterwards.

    If the caller has called `ray.init`, that cluster is used. Without an address, a cluster of local processes is
    started, which communicate over 127.0.0.1. Ray's usage statistics are switched off.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, but {workers} was given")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # otherwise each actor writes to standard error
    message = "jobs on a cluster need Ray: pip install 'softset[ray]'"
    _, ray = import_extra("pyarrow", message), import_extra("ray", message)
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
    own = {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1"}  # overrides RAY_ADDRESS
    target: dict[str, Any] = {"num_cpus": workers, **own}
    if address is not None:
        target = {"address": address}
        if address != "auto":
            _check_reachable(address)
    handler = signal.getsignal(signal.SIGTERM)
    with _silenced():
        ray.init(**target, **quiet)
    with suppress(ValueError):  # not in the main thread, where Ray has not set a handler
        signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _silenced() -> Iterator[None]:
    """Discard what Ray's processes write to standard error while they start; it is also in Ray's logs."""
    sys.stderr.flush()
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def _check_reachable(address: str) -> None:
    """Raise InputError if nothing listens at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise InputError(
            f"the address {address!r} of a Ray cluster is neither HOST:PORT nor auto (the cluster on this machine)"
        )
    try:
        with closing(socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT)):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"no Ray cluster answers at {address} ({reason}): is it running?") from error
