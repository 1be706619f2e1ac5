"""Loops that NumPy has no call for: numba compiles them where it is installed, `pip install 'softset[fast]'`.

Without numba they stay Python, many times slower and the same in what they do: whoever has another way takes that.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["can_compile", "compiled"]

Loop = TypeVar("Loop", bound=Callable[..., Any])

# Sums may be taken in another order, which vectors of numbers need; NaN and infinity keep their meaning.
OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}


def can_compile() -> bool:
    """Tell whether numba is here and gets on with this NumPy.

    >>> from importlib.util import find_spec
    >>> can_compile() == (find_spec("numba") is not None)
    True
    """
    return _numba() is not None


@cache
def _numba() -> Any:
    try:
        return import_module("numba")
    except ImportError:
        return None


def compiled(function: Loop) -> Loop:
    """Compile a function when it is first called; what was compiled is kept where numba finds a folder for it.

    Threads can run it at the same time, for it does not hold Python's lock.

    >>> @compiled
    ... def total(values):
    ...     found = 0.0
    ...     for value in values:
    ...         found += value
    ...     return found
    >>> import numpy as np
    >>> float(total(np.array([1.0, 2.0])))
    3.0
    """
    numba = _numba()
    if numba is None:
        return function
    try:
        made: Loop = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # there is no folder that can be written to
        made = numba.njit(**OPTIONS)(function)
    return made
