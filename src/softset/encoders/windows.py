"""Texts longer than a model takes: overlapping windows, and each token from the one where it has most context."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Window", "windows"]

OVERLAP = 4  # neighbours share a quarter of a window: every token has an eighth of one around it, for a third more work


@dataclass(frozen=True)
class Window:
    """The tokens [start, stop) of a text are encoded together, and the vectors of [begin, end) are taken from there."""

    start: int
    stop: int
    begin: int
    end: int


def windows(n: int, size: int, *, causal: bool = False) -> Iterator[Window]:
    """Yield windows of at most `size` tokens over a text of n.

    Neighbours meet in the middle of what they share: left of it a token has more context in the earlier window, right
    of it in the later one. In a `causal` model, where a token sees only what is before it, the earlier window has more
    of that for all that they share.

    >>> list(windows(3, 8))
    [Window(start=0, stop=3, begin=0, end=3)]
    >>> [(w.start, w.stop, w.begin, w.end) for w in windows(12, 8)]
    [(0, 8, 0, 6), (4, 12, 6, 12)]
    >>> [(w.start, w.stop, w.begin, w.end) for w in windows(12, 8, causal=True)]
    [(0, 8, 0, 8), (4, 12, 8, 12)]
    """
    step = max(size - size // OVERLAP, 1)
    starts = [*range(0, max(n - size, 0), step), max(n - size, 0)]
    begin = 0
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        stop = min(start + size, n)
        end = stop if causal or following is None else (following + stop) // 2
        yield Window(start, stop, begin, end)
        begin = end
