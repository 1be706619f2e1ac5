"""Vectors in a byte a number: which of many items can lie far along which of many directions, in a quarter of the time.

A vector is x = s c + e with whole numbers c from -127 to 127, a direction t b + f with b from -63 to 63. Their product
differs from s t (c b), which bytes give, by e (t b) + x f, which is at most |e| |t b| + |x| |f|: whatever lies far
enough along is among those whose product of bytes comes out beyond with this slack. Their coordinates are then computed
from the vectors themselves, so that the same are found as without codes. Of 64 sets over 341,479 vectors of 100
dimensions, 60,000 coordinates out of 22 million are computed, and 40,000 of them lie beyond.
"""

from typing import NamedTuple, Protocol

import numpy as np

from softset.runtime.jit import can_compile
from softset.runtime.threads import in_threads
from softset.search.integers import LARGEST, integer_products
from softset.search.products import COMPILED, ROUNDING, Beyond, Products

__all__ = ["Codes", "Coding", "Screen"]

MOST_BYTES = 256 * 2**20  # of memory for codes, which is a quarter of what vectors take in float32
MOST_COMPUTED = 0.02  # of all coordinates: one by one, they take so much longer than in a product of matrices
BLOCK = 8_192


class Coded(Protocol):
    """Items whose vectors can be coded."""

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""

    def __len__(self) -> int: ...


class Codes(NamedTuple):
    """The codes (n, d) of all vectors; and (n,) each, what a step of them is, how far off they are, and the lengths."""

    codes: np.ndarray
    steps: np.ndarray
    errors: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, items: Coded) -> "Codes":
        """Return the codes of items.

        >>> import softset
        >>> Codes.of(softset.WordVectors.of(["red"], [[1, -2]])).codes.tolist()
        [[192, 1]]
        """
        from softset.search.codes import encode

        n, d = len(items), items.dimensions
        made = cls(np.empty((n, d), np.uint8), np.empty(n, np.float32), np.empty(n, np.float32), items.norms)

        def block(start: int) -> None:
            some = slice(start, min(start + BLOCK, n))
            encode(items.rows(some.start, some.stop), made.codes[some], made.steps[some], made.errors[some])

        for _ in in_threads(block, range(0, n, BLOCK)):
            pass
        return made


class Screen:
    """Tells which items lie far along some directions (k, d), by their codes."""

    def __init__(self, codes: Codes, directions: np.ndarray) -> None:
        self._codes, self._directions = codes, directions.astype(np.float32)
        step = float(np.abs(self._directions).max()) / LARGEST
        coded = np.rint(self._directions / step).astype(np.int8)
        self._bytes, self._step = np.ascontiguousarray(coded.T), np.float32(step)
        near = coded * np.float64(step)
        self._length = np.float32(np.linalg.norm(near, axis=1).max())
        self._error = np.float32(np.linalg.norm(directions - near, axis=1).max())

    def pays(self, products: Products, start: int, least: np.ndarray) -> bool:
        """Tell whether few of the products with the items from `start` on are worth computing.

        Where all vectors lie about one way, or a few numbers of each are far larger than the others, bytes tell little.
        """
        widths, slacks = self._widths_and_slacks(products, start)
        shifted = products.offsets.astype(np.float32) * products.shifts[:, None]
        upper = self._sums(products, start) * widths[:, None] - shifted + slacks[:, None]
        return bool((upper > least).mean() <= MOST_COMPUTED)

    def beyond(self, products: Products, start: int, least: np.ndarray) -> Beyond:
        """Return what `products.beyond` does, of the items from `start` on."""
        from softset.search.codes import screened

        widths, slacks = self._widths_and_slacks(products, start)
        given = (widths, slacks, products.scales, products.shifts, products.offsets.astype(np.float32), least)
        return Beyond(*screened(self._sums(products, start), products.rows, self._directions, *given))

    def _sums(self, products: Products, start: int) -> np.ndarray:
        return integer_products(self._codes.codes[start : start + len(products.rows)], self._bytes)

    def _widths_and_slacks(self, products: Products, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what the sums of each item are multiplied by, and how far its coordinates may then be off."""
        some = slice(start, start + len(products.rows))
        _, steps, errors, lengths = (one[some] for one in self._codes)
        off = errors * self._length + lengths * self._error
        return products.scales * steps * self._step, products.scales * off + np.float32(ROUNDING)


class Coding:
    """The codes of items, which are made when they are asked for a second time: who asks twice will ask again.

    The first time, what computes with them would take longer to load than it saves.
    """

    def __init__(self, items: Coded) -> None:
        self._items = items
        self._asked = False
        self._codes: Codes | None = None

    def codes(self) -> Codes | None:
        """Return the codes; None the first time, and where they do not help."""
        if not self._asked or not can_compile():
            self._asked = True
            return None
        if self._codes is None and self._can_be_coded():
            self._codes = Codes.of(self._items)
        return self._codes

    def _can_be_coded(self) -> bool:
        items, norms = self._items, self._items.norms
        fit = len(items) * items.dimensions <= MOST_BYTES
        plain = norms.max(initial=1.0) < 1e15 and norms[norms > 0].min(initial=1.0) > 1e-15  # else codes are of no use
        return bool(fit and plain and items.rows(0, 1).dtype in COMPILED)
