"""Bounded thread pool with a queue limit and a timeout."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from http import HTTPStatus
from math import ceil
from threading import Event
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from softset.server.problems import RequestError
from softset.server.settings import ServerLimits

CLIENT_CLOSED_REQUEST = 499  # the status that nginx logs for this; nobody reads the response
Result = TypeVar("Result")
_ABANDONED: ContextVar[Event | None] = ContextVar("softset_request_abandoned", default=None)


class ClientDisconnectedError(Exception):
    """The client has disconnected or its request has timed out, so that the work is useless."""


def raise_if_disconnected(*_: object) -> None:
    """Stop the current work if its client has disconnected or its request has timed out.

    Long work calls this between its steps, for example as the `progress` function of an encoder.
    """
    abandoned = _ABANDONED.get()
    if abandoned is not None and abandoned.is_set():
        raise ClientDisconnectedError


class WorkerPool:
    """Threads that run the work of requests.

    Queued work is dropped when its client disconnects or when the timeout expires. A thread cannot be stopped from
    outside: work that has started keeps its worker until it ends or calls `raise_if_disconnected`.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._limiter = CapacityLimiter(limits.concurrency)
        self.in_progress = 0  # running and queued jobs; changed by the event loop only

    def raise_if_full(self) -> None:
        """Raise an error with status 503 if the queue is full."""
        if self.in_progress >= self._limits.concurrency + self._limits.queue:
            raise self._busy()

    async def run(self, request: Request, work: Callable[[], Result]) -> Result:
        """Run a function in a worker thread and return its result.

        Raises:
            RequestError: the queue is full or the job was still queued at the timeout (503), it ran too long (504),
                or the client has disconnected (499).
        """
        self.raise_if_full()
        abandoned, started = Event(), False

        async def execute() -> Result:
            nonlocal started
            _ABANDONED.set(abandoned)
            async with self._limiter:
                raise_if_disconnected()
                started = True
                return await to_thread.run_sync(work, limiter=CapacityLimiter(1))

        task = asyncio.create_task(execute())
        self.in_progress += 1
        task.add_done_callback(self._finish)
        disconnect = asyncio.create_task(_wait_for_disconnect(request))
        try:
            waiting: set[asyncio.Task[Any]] = {task, disconnect}
            await asyncio.wait(waiting, timeout=self._limits.timeout, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if not started:
                task.cancel()
            if disconnect.done():
                raise RequestError(CLIENT_CLOSED_REQUEST, "client disconnected")
            raise self._too_slow() if started else self._busy()
        finally:
            abandoned.set()
            disconnect.cancel()

    async def close(self) -> None:
        """Wait until all jobs have ended, but not longer than the timeout."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._limits.timeout
        while self.in_progress and loop.time() < deadline:
            await asyncio.sleep(0.02)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self.in_progress -= 1
        if not task.cancelled():
            task.exception()  # marks the error of an abandoned job as seen, so that asyncio does not log it

    def _busy(self) -> RequestError:
        seconds = str(max(1, ceil(self._limits.timeout / 10)))
        message = f"the server is busy: try again in {seconds} s"
        return RequestError(HTTPStatus.SERVICE_UNAVAILABLE, message, headers={"Retry-After": seconds})

    def _too_slow(self) -> RequestError:
        return RequestError(
            HTTPStatus.GATEWAY_TIMEOUT,
            f"the request took longer than {self._limits.timeout:g} s: send less at once, try again later, or raise "
            "the limit (softset serve --timeout)",
        )


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
