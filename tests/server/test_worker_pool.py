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
from softset.server.problems import RequestError
from softset.server.resources import LoadOnceCache
from softset.server.worker_pool import ClientDisconnectedError, WorkerPool, raise_if_disconnected


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


def test_running_work_stops_when_its_client_disconnects() -> None:
    stopped = threading.Event()

    def work() -> None:
        try:
            for _ in range(1000):
                raise_if_disconnected()
                time.sleep(0.005)
        except ClientDisconnectedError:
            stopped.set()
            raise

    async def scenario() -> None:
        pool, request = WorkerPool(ServerLimits()), FakeRequest()
        job = asyncio.ensure_future(pool.run(request, work))
        await asyncio.sleep(0.02)
        request.disconnected.set()
        with pytest.raises(RequestError, match="client disconnected"):
            await job
        await wait_until(stopped.is_set)
        await wait_until(lambda: pool.in_progress == 0)

    asyncio.run(scenario())


def test_running_work_stops_after_the_timeout() -> None:
    async def scenario() -> None:
        pool = WorkerPool(ServerLimits(timeout=0.1))

        def work() -> None:
            for _ in range(1000):
                raise_if_disconnected()
                time.sleep(0.005)

        with pytest.raises(RequestError, match=r"the request took longer than 0\.1 s"):
            await pool.run(FakeRequest(), work)
        await wait_until(lambda: pool.in_progress == 0)

    asyncio.run(scenario())


def test_an_error_reaches_its_caller() -> None:
    async def scenario() -> None:
        pool = WorkerPool(ServerLimits())
        with pytest.raises(ZeroDivisionError):
            await pool.run(FakeRequest(), lambda: 1 / 0)
        await wait_until(lambda: pool.in_progress == 0)

    asyncio.run(scenario())


def test_close_waits_for_running_jobs() -> None:
    async def scenario() -> list[str]:
        pool, finished = WorkerPool(ServerLimits(concurrency=1)), list[str]()
        job = asyncio.ensure_future(pool.run(FakeRequest(), lambda: (time.sleep(0.2), finished.append("done"))))
        await asyncio.sleep(0.05)
        await pool.close()
        assert finished == ["done"]
        await job
        return finished

    assert asyncio.run(scenario()) == ["done"]


def test_concurrent_encoding_gives_the_vectors_of_the_encoder() -> None:
    for name in ("words", "minilm"):
        encoder = load_encoder(name)
        limited = LimitedEncoder(encoder, ServerLimits())
        batches = [["a red book", ""], ["the sea"], ["qwxz", "red", "red"], []] * 3
        with ThreadPoolExecutor(6) as pool:
            token_sets = list(pool.map(limited.encode, batches))
            pooled = list(pool.map(limited.embed, batches))
        for texts, sets, vectors in zip(batches, token_sets, pooled, strict=True):
            expected = encoder.encode(texts)
            assert np.allclose(sets.vectors, expected.vectors, atol=1e-6)
            assert np.array_equal(sets.offsets, expected.offsets) and sets.signature == expected.signature
            assert np.allclose(vectors, encoder.embed(texts), atol=1e-6)


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


def test_failed_loads_leave_nothing_behind() -> None:
    cache = LoadOnceCache(4)
    for key in range(10):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert len(cache) == 0 and vars(cache)["_entries"] == {}


def test_a_new_version_replaces_the_previous_one() -> None:
    cache = LoadOnceCache(4)
    for version in range(3):
        for _ in range(2):
            assert cache.get("a", lambda version=version: f"value {version}", version=version) == f"value {version}"
    assert len(cache) == 1


def test_a_client_that_disconnects_does_not_stop_a_load_that_others_wait_for() -> None:
    async def scenario() -> str:
        pool, request, cache = WorkerPool(ServerLimits()), FakeRequest(), LoadOnceCache(4)
        inside, release = threading.Event(), threading.Event()

        def load() -> str:
            inside.set()
            release.wait(5)
            raise_if_disconnected()
            return "model"

        first = asyncio.ensure_future(pool.run(request, lambda: cache.get("a", load)))
        await wait_until(inside.is_set)
        second = asyncio.ensure_future(pool.run(FakeRequest(), lambda: cache.get("a", load)))
        await asyncio.sleep(0.02)
        request.disconnected.set()
        with pytest.raises(RequestError, match="client disconnected"):
            await first
        release.set()
        return await second

    assert asyncio.run(scenario()) == "model"
