"""The items and vectors of several segments, as one sequence without the deleted items."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.collections.background import MAX_VECTORS, MIN_ITEMS, Sample, by_hash
from softset.collections.items import Item
from softset.collections.segment import Segment
from softset.query import background
from softset.query.centroid import LexicalSet
from softset.query.lexical import LexicalIndex, analyzer
from softset.search.source import Coordinates, Projector, divide_by_norms, multiply, rounding_errors

__all__ = ["SegmentedItems"]


class SegmentedItems:
    """The items of segments, in their order; an index counts only items that are not deleted."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = list(segments)
        self._rows = [_remaining_rows(segment) for segment in segments]
        self._starts = [0, *accumulate(len(segment) - len(segment.deleted) for segment in segments)]

    @classmethod
    def open(cls, folder: Path, segments: Mapping[str, Iterable[int]]) -> "SegmentedItems":
        """Open segments, given the deleted rows of each."""
        return cls([Segment(folder / name, rows) for name, rows in segments.items()])

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return int(self.segments[0].stored.vectors.shape[1])

    def _parts(self) -> Iterator[tuple[Segment, np.ndarray | None, int, int]]:
        """Yield the segments with their remaining rows (None if all) and the indices of the first and the next item."""
        return zip(self.segments, self._rows, self._starts[:-1], self._starts[1:], strict=True)

    def deleted_rows(self) -> dict[str, set[int]]:
        """Return the deleted rows of each segment, for a change."""
        return {segment.name: set(segment.deleted) for segment in self.segments}

    def norms(self) -> np.ndarray:
        """Return the norms (n,) of all vectors."""
        norms = [part.stored.norms if rows is None else part.stored.norms[rows] for part, rows, _, _ in self._parts()]
        return np.concatenate(norms)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        blocks = []
        for segment, rows, first, _ in self._parts():
            span = slice(max(start - first, 0), max(stop - first, 0))
            blocks.append(segment.stored.vectors[span if rows is None else rows[span]])
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of the items at the given indices."""
        indices = np.asarray(indices, dtype=np.int64)
        vectors = np.empty((len(indices), self.dimensions), dtype=np.float32)
        for segment, rows, first, last in self._parts():
            inside = (indices >= first) & (indices < last)
            positions = indices[inside] - first
            vectors[inside] = segment.stored.vectors[positions if rows is None else rows[positions]]
        return vectors

    def sample(self, language: str | None) -> Sample:
        """Return the items with a vector whose ids have the smallest hashes, about `background.SIZE` vectors."""
        indices, ids = np.flatnonzero(self.norms()), list(self.ids())
        indices = indices[by_hash(ids[index] for index in indices.tolist())[: background.SIZE]]
        if self.has_chunks:
            total = np.cumsum(1 + self.chunk_counts()[indices])
            enough, most = np.searchsorted(total, [2 * background.SIZE, MAX_VECTORS], side="right").tolist()
            indices = indices[: min(max(MIN_ITEMS, enough), max(most, 1))]
        rows, owners = self.all_vectors(indices)
        if language is None:
            return Sample(rows, owners)
        texts = (self.item(index).text for index in indices.tolist())
        return Sample(rows, owners, LexicalIndex.of(map(analyzer(language), texts)))

    # Chunks

    @property
    def has_chunks(self) -> bool:
        """Whether any item has vectors of chunks."""
        return any(segment.chunks is not None for segment in self.segments)

    def chunk_counts(self) -> np.ndarray:
        """Return the number of chunks (n,) of each item."""
        counts = []
        for segment, rows, first, last in self._parts():
            if segment.chunks is None:
                counts.append(np.zeros(last - first, dtype=np.int64))
            else:
                of_rows = np.diff(segment.chunks.starts)
                counts.append(of_rows if rows is None else of_rows[rows])
        return np.concatenate(counts)

    def all_vectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the vectors (n, d) of items, then those of their chunks, and the owners (m,) of the latter."""
        own = self.take(indices)
        if not self.has_chunks:
            return own, None
        parts = self.chunks_of(np.asarray(indices).tolist())
        owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.concatenate([own, *parts]), owners

    def projector(self, directions: np.ndarray, norms: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates of items and their chunks along directions (k, d)."""
        errors = rounding_errors(directions)

        def project(start: int, stop: int) -> Coordinates:
            own = divide_by_norms(multiply(self.rows(start, stop), directions), norms[start:stop])
            values, owners = [own], list[np.ndarray]()
            for segment, rows, first, last in self._parts():
                begin, end = max(start, first) - first, min(stop, last) - first
                if segment.chunks is None or begin >= end:
                    continue
                vectors, chunk_norms, _, starts = segment.chunks
                part: Any = slice(starts[begin], starts[end])
                counts = np.diff(starts[begin : end + 1])
                if rows is not None:
                    part, counts = _chunk_rows(starts, rows[begin:end])
                values.append(divide_by_norms(multiply(vectors[part], directions), chunk_norms[part]))
                owners.append(np.repeat(np.arange(begin, end) + first - start, counts))
            if not owners:
                return Coordinates(own, errors)
            return Coordinates(np.concatenate(values, axis=1), errors, np.concatenate(owners))

        return project

    def chunks_of(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Return the vectors (c, d) of the chunks of each item."""
        return [segment.chunks_of(row)[0] for segment, row in map(self.locate, indices)]

    def passages(self, indices: np.ndarray, directions: Sequence[np.ndarray]) -> list[list[str]]:
        """Return, for each item, the chunk of its text that is nearest to each direction; "" if there is none."""
        if not self.has_chunks:
            return []
        Q, passages = np.array(directions), []
        for segment, row in map(self.locate, indices.tolist()):
            vectors, spans = segment.chunks_of(row)
            best = spans[(unit_rows(vectors) @ Q.T).argmax(axis=0)] if len(vectors) else [(0, 0)] * len(Q)
            text = segment.item(row).text
            passages.append([text[start:stop] for start, stop in best])
        return passages

    # Words

    def lexical_scores(self, lexical: LexicalSet) -> np.ndarray:
        """Return the BM25 scores (n,) of the items for the words of a set."""
        scores = []
        for segment, rows, first, last in self._parts():
            if segment.lexical is None:
                scores.append(np.zeros(last - first))
            else:
                of_rows = segment.lexical.scores(lexical.weights, lexical.average_length)
                scores.append(of_rows if rows is None else of_rows[rows])
        return np.concatenate(scores)

    def get_index(self, item_id: str) -> int | None:
        """Return the index of the item with an id, or None."""
        for segment, rows, first, _ in self._parts():
            row = segment.stored.words.get_index(item_id)
            if row is not None and row not in segment.deleted:
                return first + (row if rows is None else int(np.searchsorted(rows, row)))
        return None

    def locate(self, index: int) -> tuple[Segment, int]:
        """Return the segment and the row of an item."""
        number = bisect_right(self._starts, index) - 1
        position, rows = index - self._starts[number], self._rows[number]
        return self.segments[number], position if rows is None else int(rows[position])

    def item(self, index: int) -> Item:
        """Return the item at an index."""
        segment, row = self.locate(index)
        return segment.item(row)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all items."""
        for segment, rows, _, _ in self._parts():
            words = segment.stored.words
            yield from words if rows is None else (words[int(row)] for row in rows)

    def __iter__(self) -> Iterator[Item]:
        return (self.item(index) for index in range(len(self)))


def _chunk_rows(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the chunks of items, and how many each item has."""
    counts = starts[rows + 1] - starts[rows]
    offsets = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(starts[rows] - offsets, counts), counts


def _remaining_rows(segment: Segment) -> np.ndarray | None:
    """Return the rows that are not deleted, or None if all remain."""
    if not segment.deleted:
        return None
    return np.setdiff1d(np.arange(len(segment)), list(segment.deleted))
