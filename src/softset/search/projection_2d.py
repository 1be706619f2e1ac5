"""A projection of a result to two dimensions: the sets of the query, their examples and the hits as points.

The axes are the first two principal components of the unit vectors of examples and hits. Points that are close in
the projection may still be far apart in the other dimensions; `explained_variance` tells how much is shown.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.search.results import SearchResult


@dataclass(frozen=True)
class Point:
    """A named point."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class ProjectedSet:
    """The centre of a set of the query, and its examples."""

    centre: Point
    examples: tuple[Point, ...]


@dataclass(frozen=True)
class Projection2D:
    """The sets and the hits of a result as points, and the share of the variance that the two axes explain."""

    sets: tuple[ProjectedSet, ...]
    items: tuple[Point, ...]
    explained_variance: float

    def to_dict(self) -> dict[str, Any]:
        """Return the projection as plain values for JSON."""
        sets = [{**asdict(part.centre), "examples": [asdict(point) for point in part.examples]} for part in self.sets]
        items = [asdict(point) for point in self.items]
        return {"sets": sets, "items": items, "explained_variance": self.explained_variance}


def project(result: SearchResult, vectors: np.ndarray) -> Projection2D:
    """Return the projection of a result whose hits have the vectors (n, d).

    >>> import softset
    >>> projection = softset.load_words().map("{red, blue} & {apple, peach}", top=3)
    >>> [part.centre.name for part in projection.sets], [point.name for point in projection.items]
    (['{red, blue}', '{apple, peach}'], ['orange', 'pink', 'plum'])
    """
    examples = [unit_rows(leaf.vectors) for leaf in result.plan.leaves]
    points = np.concatenate([*examples, unit_rows(vectors).reshape(-1, examples[0].shape[1])])
    centres = np.stack([rows.mean(axis=0) for rows in examples])
    mean = points.mean(axis=0)
    axes, explained_variance = _principal_axes(points - mean, centres[0] - mean)
    ends = np.cumsum([len(rows) for rows in examples])
    *placed, hits = np.split((points - mean) @ axes.T, ends)
    sets = tuple(
        ProjectedSet(_points([str(leaf.tree)], [centre])[0], _points((example.text for example in leaf.examples), rows))
        for leaf, centre, rows in zip(result.plan.leaves, (centres - mean) @ axes.T, placed, strict=True)
    )
    return Projection2D(sets, _points((hit.id for hit in result), hits), explained_variance)


def _principal_axes(centred: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, float]:
    """Return two axes (2, d) and the share of the variance along them.

    The sign of a principal axis is arbitrary. It is chosen so that the centre of the first set (d,) is at the left and
    at the top, which keeps the projection stable when hits change.
    """
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.concatenate([axes, np.zeros((2, centred.shape[1]))])[:2]
    signs = np.where(axes @ first < 0, -1.0, 1.0) * [-1.0, 1.0]
    total = float((sizes**2).sum())
    return axes * signs[:, None], float((sizes[:2] ** 2).sum()) / total if total else 1.0


def _points(names: Iterable[str], coordinates: Iterable[np.ndarray]) -> tuple[Point, ...]:
    return tuple(Point(name, float(x), float(y)) for name, (x, y) in zip(names, coordinates, strict=True))
