"""Every set against every other: one large product at a time, then sums over the rows of each set.

Blocks bound the memory, and go to threads: those of a library would leave all but the products to one. Sums and maxima
over a set's rows are taken along the first axis, where whole rows are added at once; the weighted mean over its tokens
is a product with their shares.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from softset.runtime.threads import in_threads

__all__ = ["mean_closest", "mean_membership", "mean_of_two"]

BLOCK = 2_048  # rows of each side in one product: 16 MB in float32


def mean_membership(
    factors: np.ndarray, ends: np.ndarray, units: np.ndarray, offsets: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Return (n, m): how much set j's unit rows, by their shares, belong to set i with the factor rows F of `bases`.

    >>> F, rows = np.array([[1.0, 0]]), np.array([[1.0, 0], [0.6, 0.8]])
    >>> mean_membership(F, np.array([0, 1]), rows, np.array([0, 2]), np.array([0.5, 0.5]))
    array([[0.8]])
    """
    found = np.zeros((len(ends) - 1, len(offsets) - 1))

    def block(left: Sets, right: Sets) -> None:
        m = _memberships(factors[left.rows], units[right.rows], ends[left.which] - left.rows.start)
        found[np.ix_(left.which, right.which)] = m @ _averaging(offsets, right.which, shares)

    _each(block, ends, offsets)
    return found


def mean_of_two(
    factors: np.ndarray,
    ends: np.ndarray,
    units: np.ndarray,
    offsets: np.ndarray,
    shares: np.ndarray,
    own: np.ndarray,
) -> np.ndarray:
    """Return (n, m): the mean over two rows of set j, drawn by their shares, of the lesser membership in set i.

    Memberships are measured by `own` (rows,), those in a row's own set, and at most 1.

    >>> F, rows = np.array([[1.0, 0]]), np.array([[1.0, 0], [0.6, 0.8]])
    >>> mean_of_two(F, np.array([0, 1]), rows, np.array([0, 2]), np.array([0.5, 0.5]), np.ones(2)).round(3)
    array([[0.7]])
    """
    found = np.zeros((len(ends) - 1, len(offsets) - 1))
    counts = np.diff(offsets)

    def block(left: Sets, right: Sets) -> None:
        U = units[right.rows] / own[right.rows, None].astype(units.dtype)
        m = _memberships(factors[left.rows], U, ends[left.which] - left.rows.start)
        for k in np.unique(counts[right.which]).tolist():
            some = right.which[counts[right.which] == k]
            at = offsets[some][:, None] + np.arange(k)
            found[np.ix_(left.which, some)] = _lesser_of_two(m[:, at - right.rows.start], shares[at])

    _each(block, ends, offsets)
    return found


def _memberships(factors: np.ndarray, units: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return (n, rows): how much unit rows belong to n sets, whose factors begin at some places."""
    S = factors @ units.T
    np.multiply(S, S, out=S)
    squares = np.add.reduceat(S, starts, axis=0)
    np.minimum(squares, 1.0, out=squares)
    m: np.ndarray = np.sqrt(squares, out=squares)
    return m


def _lesser_of_two(m: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return (n, s): the mean of the lesser of two memberships (n, s, k), drawn by shares (s, k)."""
    if m.shape[2] > 1 and np.ptp(shares, axis=1).max() == 0:  # all alike: the order is enough
        ordered = np.sort(m, axis=2)
        weights = (2 * np.arange(m.shape[2], 0, -1) - 1).astype(m.dtype) / m.shape[2] ** 2
        even: np.ndarray = ordered @ weights
        return even
    order = np.argsort(-m, axis=2)
    w = np.take_along_axis(np.broadcast_to(shares.astype(m.dtype), m.shape), order, axis=2)
    total = np.cumsum(w, axis=2)
    least = np.take_along_axis(m, order, axis=2) * w * (2 * total - w)  # (c + w)^2 - c^2 = w (2 (c + w) - w)
    mean: np.ndarray = least.sum(axis=2)
    return mean


def mean_closest(
    units: np.ndarray,
    offsets: np.ndarray,
    shares: np.ndarray,
    others: np.ndarray,
    other_offsets: np.ndarray,
    other_shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return two (n, m): the mean over set i's rows of their largest cosine with set j, and that over set j's rows.

    >>> A, B = np.array([[1.0, 0]]), np.array([[0.6, 0.8], [0, 1]])
    >>> one, all_of_B = np.array([0, 1]), np.array([0, 2])
    >>> mean_closest(A, one, np.ones(1), B, all_of_B, np.full(2, 0.5))
    (array([[0.6]]), array([[0.3]]))
    """
    P, R = (np.zeros((len(offsets) - 1, len(other_offsets) - 1)) for _ in range(2))

    def block(left: Sets, right: Sets) -> None:
        C = units[left.rows] @ others[right.rows].T
        places = np.ix_(left.which, right.which)
        nearest = np.maximum.reduceat(C, offsets[left.which] - left.rows.start, axis=0)
        R[places] = nearest @ _averaging(other_offsets, right.which, other_shares)
        nearest = np.maximum.reduceat(C.T.copy(), other_offsets[right.which] - right.rows.start, axis=0)
        P[places] = (nearest @ _averaging(offsets, left.which, shares)).T

    _each(block, offsets, other_offsets)
    return P, R


class Sets(NamedTuple):
    """Some sets, and the rows that they own."""

    which: np.ndarray
    rows: slice


def _each(block: Callable[[Sets, Sets], None], left: np.ndarray, right: np.ndarray) -> None:
    """Let a function fill in every block of pairs of sets, whose rows begin at offsets."""
    for _ in in_threads(lambda both: block(*both), product(_blocks(left), list(_blocks(right)))):
        pass


def _blocks(offsets: np.ndarray) -> Iterator[Sets]:
    """Yield the filled sets in groups of about BLOCK rows, with the rows they own; empty sets own none."""
    filled = np.flatnonzero(np.diff(offsets))
    at = 0
    while at < len(filled):
        first = int(offsets[filled[at]])
        stop = max(at + 1, int(np.searchsorted(offsets[filled + 1], first + BLOCK, side="right")))
        yield Sets(filled[at:stop], slice(first, int(offsets[filled[stop - 1] + 1])))
        at = stop


def _averaging(offsets: np.ndarray, sets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return (rows, sets): what each row of these sets gives to the weighted mean of its own set."""
    counts = np.diff(offsets)[sets]
    start = int(offsets[sets[0]])
    W = np.zeros((int(counts.sum()), len(sets)), dtype=shares.dtype)
    W[np.arange(len(W)), np.repeat(np.arange(len(sets)), counts)] = shares[start : start + len(W)]
    return W
