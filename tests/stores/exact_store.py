"""An exact store in memory, for tests of searches in stores; it counts its calls."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from softset.query.field_types import FieldType
from softset.query.filter_parser import Condition
from softset.query.filters import select
from softset.stores import Neighbours, Record

RANDOM = np.random.default_rng(5)
N, D = 2_000, 12
ROWS = (RANDOM.standard_normal((N, D)) + 2 * RANDOM.standard_normal((12, D))[RANDOM.integers(0, 12, N)]).astype("f4")


class ExactStore:
    """A store that compares a vector with all rows; the items are called i0, i1 and so on, with the field n."""

    name, encoder = "exact", "none"

    def __init__(self, rows: np.ndarray = ROWS) -> None:
        self.records = {f"i{row}": Record(f"i{row}", "", {"n": row}, vector) for row, vector in enumerate(rows)}
        self.dimensions = rows.shape[1]
        self.fields = {"n": "integer"}
        self.max_neighbours = 100_000
        self.fetched: list[str] = []
        self.searches: list[int] = []
        self.finished = 0
        self.beside: ExactStore | None = None

    def __len__(self) -> int:
        return len(self.records)

    def nearest(self, probes: np.ndarray, count: int, condition: Condition | None) -> list[Neighbours]:
        self.searches.append(count)
        ids = np.array(list(self.records))
        if condition is not None:
            ids = ids[select(condition, lambda name: [record.metadata.get(name) for record in self.records.values()])]
        rows = np.stack([self.records[name].vector for name in ids])
        cosines = probes @ (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-30)).T
        return [self.neighbours(ids, row, count) for row in cosines]

    def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
        order = np.argsort(-cosines, kind="stable")[: min(count, self.max_neighbours)]
        return Neighbours(ids[order].tolist(), cosines[order])

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        known = [name for name in ids if name in self.records]
        self.fetched += known
        return [self.records[name] for name in known]

    def declare(self, fields: Mapping[str, FieldType]) -> None:
        self.fields = dict(fields)

    def add(self, records: Sequence[Record]) -> None:
        self.records |= {record.id: record for record in records}

    def remove(self, ids: Sequence[str]) -> None:
        for name in ids:
            self.records.pop(name, None)

    def ids(self) -> list[str]:
        return list(self.records)

    def companion(self, *, create: bool = False) -> "ExactStore | None":
        if create and self.beside is None:
            self.beside = ExactStore(np.zeros((0, self.dimensions), "f4"))
        return self.beside

    def finish(self) -> None:
        self.finished += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)
