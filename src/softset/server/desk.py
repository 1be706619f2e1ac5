"""Where the work is done: so much of it at once, so much waiting, and nobody waits for ever."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from http import HTTPStatus
from math import ceil
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

from starlette.requests import Request

from softset.server.asker import ASKER_GONE
from softset.server.problems import BadRequestError
from softset.server.settings import Limits

__all__ = ["Desk"]

GONE = 499  # what servers write in their logs; nobody is there to read the answer
Result = TypeVar("Result")


class Desk:
    """Threads that do what requests ask for.

    Work that has begun cannot be taken back: if it takes too long its asker is told so, and its place stays taken until
    it ends. What has not begun is dropped when its asker hangs up or has waited too long.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._name = f"softset desk {id(self)}"
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix=self._name)
        self.under_way = 0  # begun or waiting; changed by the event loop alone

    @property
    def full(self) -> bool:
        """Whether one more would have to wait behind too many others."""
        return self.under_way >= self._limits.workers + self._limits.waiting

    def check_room(self) -> None:
        """Refuse what would have to wait too long."""
        if self.full:
            raise self._busy()

    async def do(self, request: Request, work: Callable[[], Result]) -> Result:
        """Return what some work makes, done in a thread; refuse it if there is too much of it already."""
        self.check_room()
        loop = asyncio.get_running_loop()
        gone = Event()
        context = copy_context()
        context.run(ASKER_GONE.set, gone)
        done = self._pool.submit(context.run, work)
        self.under_way += 1
        done.add_done_callback(lambda _: _in_loop(loop, self._finished))
        try:
            return await self._awaited(request, done)
        finally:
            gone.set()

    async def _awaited(self, request: Request, done: "Future[Result]") -> Result:
        result, left = asyncio.wrap_future(done), asyncio.ensure_future(_hung_up(request))
        first: set[asyncio.Future[Any]] = {result, left}
        try:
            await asyncio.wait(first, timeout=self._limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            dropped = done.cancel()  # if it had not begun
            if left.done():
                raise BadRequestError(GONE, "the asker hung up")
            if dropped:
                raise self._busy()
            raise BadRequestError(
                HTTPStatus.GATEWAY_TIMEOUT,
                f"there was no answer within the {self._limits.seconds:g} seconds that a request may take here: ask "
                "for less at once, or come again when the server is less busy (softset serve --seconds)",
            )
        finally:
            left.cancel()
            result.add_done_callback(_forget)

    def _finished(self) -> None:
        self.under_way -= 1

    def _busy(self) -> BadRequestError:
        seconds = str(max(1, ceil(self._limits.seconds / 10)))
        return BadRequestError(
            HTTPStatus.SERVICE_UNAVAILABLE, f"the server is busy: come again in {seconds} s", Retry_After=seconds
        )

    def close(self) -> bool:
        """Finish what is under way, if it does not take too long, and tell whether all is finished."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + self._limits.seconds
        while any(one.is_alive() for one in self._threads()) and time.monotonic() < end:
            time.sleep(0.02)
        return not any(one.is_alive() for one in self._threads())

    def _threads(self) -> list[Thread]:
        return [one for one in enumerate_threads() if one.name.startswith(self._name)]


async def _hung_up(request: Request) -> None:
    """Return when the asker is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _in_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)


def _forget(result: "asyncio.Future[Result]") -> None:
    """Look at what nobody waits for any more, so that an error in it is not reported as forgotten."""
    if not result.cancelled():
        result.exception()
