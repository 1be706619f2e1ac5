"""The worker pool limits and drops work; the encoder and the cache that use it."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from softset import load_encoder
from softset.server import ServerLimits
from softset.server.limited_encoder import LimitedEncoder
from softset.server.load_once_cache import LoadOnceCache
from softset.server.problems import RequestError
from softset.server.worker_pool import WorkerPool


class FakeRequest:
    """A request whose client disconnects when the event is set."""

    def __init__(self) -> None:
        self.disconnected = asyncio.Event()

    async def receive(self) -> dict[str, str]:
        await self.disconnected.wait()
        return {"type": "http.disconnect"}


async def wait_until(condition, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def status_and_retry(error: BaseException) -> tuple[int, bool]:
    assert isinstance(error, RequestError)
    return int(error.status), "Retry-After" in error.headers


def test_requests_beyond_the_queue_limit_are_refused() -> None:
    async def scenario() -> None:
        pool, release = WorkerPool(ServerLimits(concurrency=2, queue=3)), threading.Event()
        jobs = [
            asyncio.ensure_future(pool.run(FakeRequest(), lambda number=number: release.wait(5) and number))
            for number in range(5)
        ]
        await asyncio.sleep(0.05)
        assert pool.in_progress == 5
        with pytest.raises(RequestError) as error:
            await pool.run(FakeRequest(), lambda: None)
        assert status_and_retry(error.value) == (503, True)
        release.set()
        assert await asyncio.gather(*jobs) == [0, 1, 2, 3, 4]
        await wait_until(lambda: pool.in_progress == 0)

    asyncio.run(scenario())


def test_no_more_jobs_run_at_once_than_there_are_workers() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def scenario() -> None:
        pool = WorkerPool(ServerLimits(concurrency=3))
        await asyncio.gather(*(pool.run(FakeRequest(), work) for _ in range(20)))

    asyncio.run(scenario())
    assert most == 3


def test_a_job_that_times_out_keeps_its_worker_until_it_ends() -> None:
    async def scenario() -> None:
        pool, release = WorkerPool(ServerLimits(concurrency=1, queue=1, timeout=0.1)), threading.Event()
        running, queued = (asyncio.ensure_future(pool.run(FakeRequest(), lambda: release.wait(5))) for _ in range(2))
        errors = await asyncio.gather(running, queued, return_exceptions=True)
        assert [status_and_retry(error) for error in errors] == [(504, False), (503, True)]
        await wait_until(lambda: pool.in_progress == 1)  # the running job; the queued one was dropped
        release.set()
        await wait_until(lambda: pool.in_progress == 0)
        assert await pool.run(FakeRequest(), lambda: "next") == "next"

    asyncio.run(scenario())


def test_a_queued_job_is_dropped_when_its_client_disconnects() -> None:
    async def scenario() -> None:
        pool, release, executed = WorkerPool(ServerLimits(concurrency=1, queue=2)), threading.Event(), []
        first = asyncio.ensure_future(pool.run(FakeRequest(), lambda: release.wait(5)))
        await asyncio.sleep(0.02)
        request = FakeRequest()
        second = asyncio.ensure_future(pool.run(request, lambda: executed.append("second")))
        await asyncio.sleep(0.02)
        request.disconnected.set()
        with pytest.raises(RequestError, match="client disconnected"):
            await second
        await wait_until(lambda: pool.in_progress == 1)
        release.set()
        await first
        await wait_until(lambda: pool.in_progress == 0)
        assert executed == []

    asyncio.run(scenario())


def test_tokens_are_counted_before_texts_are_encoded() -> None:
    texts = ["A red book.", "don't", ""]
    for name in ("words", "minilm"):
        encoder = load_encoder(name)
        sets = encoder.encode(texts)
        assert LimitedEncoder(encoder, ServerLimits()).count_tokens(texts) == (sets.counts + sets.unknown).tolist()
    custom = load_encoder(lambda texts: [np.ones((1, 2))] * len(texts))
    assert LimitedEncoder(custom, ServerLimits()).count_tokens(["a b", "c"]) == [2, 1]


def test_encoding_stops_when_the_client_disconnects() -> None:
    async def scenario() -> None:
        limited = LimitedEncoder(load_encoder("minilm"), ServerLimits())
        pool, request, finished = WorkerPool(ServerLimits()), FakeRequest(), threading.Event()

        def work() -> None:
            limited.encode([f"{number} red book " * 20 for number in range(300)])
            finished.set()

        job = asyncio.ensure_future(pool.run(request, work))
        await asyncio.sleep(0.1)
        request.disconnected.set()
        with pytest.raises(RequestError, match="client disconnected"):
            await job
        await wait_until(lambda: pool.in_progress == 0, 20)
        assert not finished.is_set()

    asyncio.run(scenario())


def test_concurrent_callers_load_a_value_once() -> None:
    loads, cache = [], LoadOnceCache(4)

    def load() -> str:
        time.sleep(0.05)
        loads.append(1)
        return "model"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: cache.get("a", load), range(8))) == {"model"}
    assert len(loads) == 1 == len(cache)


def test_a_failed_load_is_tried_again() -> None:
    cache = LoadOnceCache(4)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: "loaded") == "loaded"


def test_a_slow_load_does_not_delay_other_values() -> None:
    cache, inside, release = LoadOnceCache(4), threading.Event(), threading.Event()

    def slow() -> str:
        inside.set()
        release.wait(5)
        return "slow"

    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(cache.get, "b", slow)
        assert inside.wait(5) and cache.get("c", lambda: "quick") == "quick"
        release.set()
        assert waiting.result(5) == "slow"


def test_a_failed_load_evicts_nothing() -> None:
    cache = LoadOnceCache(2)
    cache.get("a", lambda: "A")
    cache.get("b", lambda: "B")
    for key in range(5):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert cache.get("a", lambda: "loaded again") == "A" and len(cache) == 2
