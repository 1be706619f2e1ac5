"""Just-in-time compilation of loops by numba, an optional package (`pip install 'softset[fast]'`).

Without numba the loops run as Python, with the same results but many times slower; callers fall back to NumPy.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])

# Sums may be reordered, which vectorisation needs; NaN and infinity keep their meaning.
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}


def can_compile() -> bool:
    """Return whether numba is installed and works with the installed NumPy."""
    return _numba() is not None


@cache
def _numba() -> Any:
    try:
        return import_module("numba")
    except ImportError:
        return None


def compiled(function: Loop) -> Loop:
    """Compile a function at its first call; the machine code is cached if numba finds a writable folder.

    The compiled function releases the GIL, so that threads can run it in parallel.
    """
    numba = _numba()
    if numba is None:
        return function
    try:
        jitted: Loop = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # there is no writable folder
        jitted = numba.njit(**OPTIONS)(function)
    return jitted
