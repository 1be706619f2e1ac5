"""An exact store in memory, for tests of searches in stores; it counts its calls."""

from collections.abc import Iterator, Sequence

import numpy as np

from softset.stores import Neighbours, Record

RANDOM = np.random.default_rng(5)
N, D = 2_000, 12
ROWS = (RANDOM.standard_normal((N, D)) + 2 * RANDOM.standard_normal((12, D))[RANDOM.integers(0, 12, N)]).astype("f4")


class ExactStore:
    """A store that compares a vector with all rows; the items are called i0, i1 and so on.

    A filter is the number of items that it lets through.
    """

    name, encoder = "exact", "none"

    def __init__(self, rows: np.ndarray = ROWS) -> None:
        self.records = {f"i{row}": Record(f"i{row}", "", {}, vector) for row, vector in enumerate(rows)}
        self.dimensions = rows.shape[1]
        self.max_neighbours = 100_000
        self.fetched: list[str] = []
        self.searches: list[int] = []
        self.finished = 0

    def __len__(self) -> int:
        return len(self.records)

    def nearest(self, probes: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        self.searches.append(count)
        ids = np.array(list(self.records)[: None if where is None else int(where)])
        rows = np.stack([self.records[name].vector for name in ids])
        cosines = probes @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
        return [self.neighbours(ids, row, count) for row in cosines]

    def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
        order = np.argsort(-cosines, kind="stable")[: min(count, self.max_neighbours)]
        return Neighbours(ids[order].tolist(), cosines[order])

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        known = [name for name in ids if name in self.records]
        self.fetched += known
        return [self.records[name] for name in known]

    def add(self, records: Sequence[Record]) -> None:
        self.records |= {record.id: record for record in records}

    def remove(self, ids: Sequence[str]) -> None:
        for name in ids:
            self.records.pop(name, None)

    def finish(self) -> None:
        self.finished += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)
