"""Limits on BLAS threads end with their context, also when several threads are scoring."""

import os
import subprocess
import sys
from threading import Event, Thread, get_ident
from time import sleep

import numpy as np  # noqa: F401 (brings the library that is looked for)
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from softset.runtime.threads import in_threads, on_one_thread, own_threads, parallel_map


def blas_threads() -> set[int]:
    """Return the number of threads of NumPy's BLAS library, without those of SciPy and torch."""
    ours = [
        library for library in threadpool_info() if library["user_api"] == "blas" and "numpy" in library["filepath"]
    ]
    assert ours
    return {library["num_threads"] for library in ours}


def test_one_thread_inside_and_the_previous_number_outside() -> None:
    with threadpool_limits(2, user_api="blas"):
        assert on_one_thread(blas_threads)() == {1}
        assert blas_threads() == {2}

        @on_one_thread
        def fails() -> None:
            raise RuntimeError

        with pytest.raises(RuntimeError):
            fails()
        assert blas_threads() == {2}


def test_overlapping_callers_restore_the_number_of_threads() -> None:
    """The first caller leaves before the second, which must not restore the number that it had at its start."""
    first_in, second_in, first_out = Event(), Event(), Event()

    @on_one_thread
    def first() -> None:
        first_in.set()
        assert second_in.wait(10)

    @on_one_thread
    def second() -> None:
        second_in.set()
        assert first_out.wait(10)

    def run_first() -> None:
        first()
        first_out.set()

    before = blas_threads()
    if before == {1}:
        pytest.skip("there is one thread to begin with")
    try:
        first_thread, second_thread = Thread(target=run_first), Thread(target=second)
        first_thread.start()
        assert first_in.wait(10)
        second_thread.start()
        first_thread.join()
        second_thread.join()
        assert blas_threads() == before
    finally:
        ThreadpoolController().limit(limits=max(before), user_api="blas")  # for the tests that follow


LATE_LIBRARY = """
from threadpoolctl import threadpool_info
from softset.runtime.threads import on_one_thread

def blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

early = on_one_thread(blas)()
import scipy.linalg
late = on_one_thread(blas)()
assert len(late) > len(early), "SciPy has no BLAS library of its own"
print(*late, *blas())
"""


def test_libraries_that_are_loaded_later_are_limited_too() -> None:
    pytest.importorskip("scipy")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    process = subprocess.run(
        [sys.executable, "-c", LATE_LIBRARY], env=environment, capture_output=True, text=True, check=False
    )
    if "no BLAS library of its own" in process.stderr:
        pytest.skip("SciPy uses the library of NumPy")
    assert process.stdout.split() == ["1", "1", "2", "2"], process.stderr


def workers(jobs: int = 8) -> int:
    """Return the number of threads that `in_threads` uses."""

    def waiting(_: int) -> int:
        sleep(0.01)
        return get_ident()

    return len(set(in_threads(waiting, range(jobs))))


def test_own_threads_have_the_number_of_blas_threads() -> None:
    with threadpool_limits(2, user_api="blas"):
        with own_threads():
            assert blas_threads() == {1}
            assert workers() == 2
        assert blas_threads() == {2}
        with own_threads(enabled=False):
            assert blas_threads() == {2}
        with pytest.raises(RuntimeError), own_threads():
            raise RuntimeError
        assert blas_threads() == {2}


def test_the_callers_number_of_threads_takes_precedence() -> None:
    with threadpool_limits(2, user_api="blas"):
        with own_threads(threads=1), own_threads():
            assert workers() == 1
        with own_threads(threads=3):
            assert blas_threads() == {1}
            assert workers() == 3
        with own_threads(enabled=False):
            assert blas_threads() == {2}
        assert blas_threads() == {2}


@pytest.mark.parametrize("threads", [1, 3])
def test_parallel_map_keeps_the_order_and_ends_with_the_first_error(threads: int) -> None:
    def slower_first(job: int) -> int:
        sleep(0.02 if job == 0 else 0)
        if job == 7:
            raise ValueError("seven")
        return job

    assert list(parallel_map(slower_first, range(6), threads)) == [0, 1, 2, 3, 4, 5]
    results = parallel_map(slower_first, range(1_000), threads)
    assert [next(results) for _ in range(7)] == [0, 1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="seven"):
        next(results)


def test_parallel_map_holds_no_more_than_a_few() -> None:
    """At most one more job than threads is started before its result is requested."""
    begun: list[int] = []
    results = parallel_map(lambda job: begun.append(job) or job, range(1_000), threads=2)
    assert next(results) == 0
    sleep(0.05)
    assert len(begun) <= 3
    results.close()
