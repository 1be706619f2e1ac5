"""A Ray cluster: one that is running, or one of this machine's processes for the time of a job."""

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr
from io import StringIO
from typing import Any

from softset.errors import InputError, MissingExtraError

__all__ = ["cluster", "require_ray"]

PATIENCE = 5.0  # seconds for a cluster to take a connection; Ray itself would try for more than a minute


def require_ray() -> Any:
    """Return the module ray.Data lives in, or tell how to get it."""
    try:
        import pyarrow  # noqa: F401
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("jobs on a cluster need Ray: pip install 'softset[ray]'") from error
    return ray


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield the module ray, connected; what was begun here is ended afterwards.

    Whoever has called ray.init has chosen a cluster already, and that is taken. Without an address, processes of this
    machine are the cluster, and talk to each other by its own address. Ray's count of its users is switched off.
    """
    if workers is not None and workers < 1:
        raise InputError(f"there must be 1 worker or more, but {workers} were given")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # else each actor writes a line to our standard error
    ray = require_ray()
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
    own = {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1"}  # whatever RAY_ADDRESS says
    where: dict[str, Any] = {"num_cpus": workers, **own}
    if address is not None:
        _check_reachable(address)
        where = {"address": address}
    with _hushed():
        ray.init(**where, **quiet)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False  # we have our own
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep from standard error what Ray's own processes tell there while they start: it is in its logs."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _check_reachable(address: str) -> None:
    """Refuse an address at which nobody listens, at once."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise InputError(
            f"the address {address!r} is no HOST:PORT of a Ray cluster; auto takes the one of this machine"
        )
    try:
        with closing(socket.create_connection((host, int(port)), timeout=PATIENCE)):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"no Ray cluster answers at {address} ({why}): is it running?") from error
