"""Items along directions, as products of matrices: what scores are made of, or what tells which items are worth one."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from softset.runtime.jit import can_compile

__all__ = ["Along", "Beyond", "Products", "multiplied", "products_of"]

FEW_COLUMNS = 32
COMPILED = (np.float32, np.float64)  # in the machine's own order of bytes: numbers that numba's loops take
ROUNDING = 1e-5  # of a coordinate in float32, with room


class Beyond(NamedTuple):
    """Coordinates that are larger than asked for: along which direction, of which item, and the coordinate."""

    which: np.ndarray
    places: np.ndarray
    scores: np.ndarray


class Products(NamedTuple):
    """Coordinates (k, n) of n items along k directions, as products that are computed when they are asked for.

    Attributes:
        rows: (n, d) what stands for the items.
        directions: (k, d) what they are multiplied by.
        scales: (n,) what the products of an item are multiplied by.
        shifts: (n,) what is then taken off, times the direction's offset.
        offsets: (k,) of directions.
    """

    rows: np.ndarray
    directions: np.ndarray
    scales: np.ndarray
    shifts: np.ndarray
    offsets: np.ndarray

    def coordinates(self) -> np.ndarray:
        """Return the coordinates (k, n).

        >>> products_of(np.array([[3.0, 4.0]]), np.array([5.0]), np.eye(2)).coordinates().tolist()
        [[0.6...], [0.8...]]
        """
        return self._scaled(multiplied(self.rows, self.directions))

    def _scaled(self, found: np.ndarray) -> np.ndarray:
        found *= self.scales
        if self.offsets.any():
            found -= self.offsets[:, None] * self.shifts
        return found

    def beyond(self, least: np.ndarray) -> Beyond:
        """Return the coordinates above the least (k,) that is asked for along each direction, item by item.

        >>> items = products_of(np.array([[3.0, 4.0], [4.0, 3.0]]), np.array([5.0, 5.0]), np.eye(2))
        >>> items.beyond(np.array([0.7, 0.7])).places.tolist()
        [0, 1]
        """
        values = multiplied(self.rows, self.directions, by_item=True)
        if can_compile() and len(least) >= FEW_COLUMNS and values.dtype in COMPILED:
            from softset.search.beyond import beyond

            given = (self.scales, self.shifts, self.offsets, least)
            kind = values.dtype  # one for all, for each mixture would be compiled anew
            return Beyond(*beyond(values.T, *(one.astype(kind, copy=False) for one in given)))
        by_item = self._scaled(values).T
        places, which = divmod(np.flatnonzero(by_item > least), len(least))
        return Beyond(which, places, by_item[places, which])


class Along(NamedTuple):
    """The directions (k, d) that items are multiplied by, and what gives the products of those from start to stop."""

    directions: np.ndarray
    block: Callable[[int, int], Products]


def products_of(rows: np.ndarray, norms: np.ndarray, directions: np.ndarray) -> Products:
    """Return the products of rows (n, d) of known lengths, which are scaled to length 1, and k directions (k, d)."""
    rows, norms = _tamed(rows, norms)
    scales = 1 / np.where(norms > 0, norms, 1)  # one division an item, not one for each direction
    return Products(rows, directions, scales, np.zeros_like(scales), np.zeros(len(directions), dtype=rows.dtype))


def multiplied(rows: np.ndarray, directions: np.ndarray, *, by_item: bool = False) -> np.ndarray:
    """Return the products (k, n) of rows (n, d) and directions (k, d), in the rows' own type.

    One with a slim matrix is quicker with the items first, and with one direction as a vector. `by_item` lays what an
    item has beside each other in memory, however many directions there are.
    """
    Q = directions.astype(rows.dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # a file that was changed may hold NaN, which is never best
        if len(Q) == 1:
            return np.asarray(rows @ Q[0])[None, :]
        products: np.ndarray = (rows @ Q.T).T if by_item or len(Q) < FEW_COLUMNS else Q @ rows.T
    return products


def _tamed(rows: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and lengths with those rows scaled to length 1 whose squares would overflow or vanish."""
    odd = ~((norms > 1e-15) & (norms < 1e15))
    if not odd.any():
        return rows, norms
    some = rows[odd].astype(np.float64)
    largest = np.abs(some).max(axis=1, keepdims=True)
    some = some / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(some, axis=1)
    rows, norms = rows.copy(), norms.copy()
    rows[odd], norms[odd] = some / np.where(lengths > 0, lengths, 1)[:, None], lengths > 0
    return rows, norms
