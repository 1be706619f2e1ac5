"""Work at the desk: bounded, dropped when nobody waits for it, and never lost count of."""

import asyncio
import threading
import time

import pytest

from softset.server import Limits
from softset.server.desk import Desk
from softset.server.problems import BadRequestError


class Asker:
    """A request whose asker hangs up when told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def until(true, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def refused(error: BaseException) -> tuple[int, bool]:
    assert isinstance(error, BadRequestError)
    return int(error.status), "Retry-After" in error.headers


def test_too_much_is_refused_at_once_and_the_rest_is_done() -> None:
    async def scene() -> None:
        desk, go = Desk(Limits(workers=2, waiting=3)), threading.Event()
        jobs = [asyncio.ensure_future(desk.do(Asker(), lambda at=at: go.wait(5) and at)) for at in range(5)]
        await asyncio.sleep(0.05)
        assert desk.full and desk.under_way == 5
        with pytest.raises(BadRequestError) as error:
            await desk.do(Asker(), lambda: None)
        assert refused(error.value) == (503, True)
        go.set()
        assert await asyncio.gather(*jobs) == [0, 1, 2, 3, 4]
        await until(lambda: desk.under_way == 0)
        desk.close()

    asyncio.run(scene())


def test_what_takes_too_long_keeps_its_place_until_it_ends() -> None:
    async def scene() -> None:
        desk, go = Desk(Limits(workers=1, waiting=1, seconds=0.1)), threading.Event()
        long, behind = (asyncio.ensure_future(desk.do(Asker(), lambda: go.wait(5))) for _ in range(2))
        found = await asyncio.gather(long, behind, return_exceptions=True)
        assert [refused(one) for one in found] == [(504, False), (503, True)]
        assert desk.under_way == 1  # the one that had begun; the other was dropped
        go.set()
        await until(lambda: desk.under_way == 0)
        assert await desk.do(Asker(), lambda: "again") == "again"
        desk.close()

    asyncio.run(scene())


def test_who_hangs_up_makes_room() -> None:
    async def scene() -> None:
        desk, go, done = Desk(Limits(workers=1, waiting=2)), threading.Event(), []
        first = asyncio.ensure_future(desk.do(Asker(), lambda: go.wait(5)))
        await asyncio.sleep(0.02)
        asker = Asker()
        second = asyncio.ensure_future(desk.do(asker, lambda: done.append("second")))
        await asyncio.sleep(0.02)
        asker.gone.set()
        with pytest.raises(BadRequestError, match="hung up"):
            await second
        await until(lambda: desk.under_way == 1)
        go.set()
        await first
        await until(lambda: desk.under_way == 0)
        assert done == []
        desk.close()

    asyncio.run(scene())


def test_an_error_is_the_asker_s_own() -> None:
    async def scene() -> None:
        desk = Desk(Limits())
        with pytest.raises(ZeroDivisionError):
            await desk.do(Asker(), lambda: 1 / 0)
        await until(lambda: desk.under_way == 0)
        desk.close()

    asyncio.run(scene())


def test_closing_finishes_what_has_begun() -> None:
    async def scene() -> list[str]:
        desk, done = Desk(Limits(workers=1)), list[str]()
        waiting = asyncio.ensure_future(desk.do(Asker(), lambda: (time.sleep(0.2), done.append("whole"))))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(desk.close)
        await waiting
        return done

    assert asyncio.run(scene()) == ["whole"]
