"""A map of a result: the examples of its sets and the items that were found, as points of a plane.

The plane is the one that keeps most of what tells the points apart, the first two principal axes of their unit vectors:
what is near on the map may still be far apart in the other dimensions (see `explained_variance`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.search.results import SearchResult

__all__ = ["Point", "ProjectedSet", "Projection2D", "project"]


class Point(NamedTuple):
    """Where something is on the map."""

    name: str
    x: float
    y: float


class ProjectedSet(NamedTuple):
    """A set of the query: where its middle is, and its examples."""

    centre: Point
    examples: tuple[Point, ...]


@dataclass(frozen=True)
class Projection2D:
    """The sets and the items of a result, and the share of the points' variance that the plane explains."""

    sets: tuple[ProjectedSet, ...]
    items: tuple[Point, ...]
    explained_variance: float

    def to_dict(self) -> dict[str, Any]:
        """Return what programs read."""
        sets = [
            {**one.centre._asdict(), "examples": [example._asdict() for example in one.examples]} for one in self.sets
        ]
        return {
            "sets": sets,
            "items": [one._asdict() for one in self.items],
            "explained_variance": self.explained_variance,
        }


def project(result: SearchResult, vectors: np.ndarray) -> Projection2D:
    """Return the map of a result, whose hits have these vectors (n, d), as its search looked at them.

    >>> import softset
    >>> words = softset.load_words()
    >>> shown = words.map("{red, blue} & {apple, peach}", top=3)
    >>> [one.centre.name for one in shown.sets], [one.name for one in shown.items]
    (['{red, blue}', '{apple, peach}'], ['orange', 'pink', 'plum'])
    """
    leaves = [_units(leaf.vectors) for leaf in result.plan.leaves]
    points = np.concatenate([*leaves, _units(vectors)])
    middles = np.stack([rows.mean(axis=0) for rows in leaves])
    mean = points.mean(axis=0)
    axes, kept = _axes(points - mean, middles[0] - mean)
    ends = np.cumsum([len(rows) for rows in leaves])
    places, centres = ((rows - mean) @ axes.T for rows in (points, middles))
    sets = tuple(
        ProjectedSet(_spots([str(leaf.tree)], [centre])[0], _spots([one.text for one in leaf.examples], of_leaf))
        for leaf, centre, of_leaf in zip(result.plan.leaves, centres, np.split(places, ends)[:-1], strict=True)
    )
    return Projection2D(sets, _spots([hit.id for hit in result], places[ends[-1] :]), kept)


def _units(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    units: np.ndarray = rows / np.where(lengths > 0, lengths, 1)
    return units


def _axes(centred: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, float]:
    """Return two axes (2, d) and the share of the variance along them.

    An axis has no direction of its own, and without a rule the map would flip as items come and go: the middle of the
    first set (d,) is on the left, and above.
    """
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.concatenate([axes, np.zeros((2, centred.shape[1]))])[:2]
    turned = np.where(axes @ first < 0, -1.0, 1.0) * [-1.0, 1.0]
    total = float((sizes**2).sum())
    return axes * turned[:, None], float((sizes[:2] ** 2).sum()) / total if total else 1.0


def _spots(names: Sequence[str], places: Sequence[np.ndarray] | np.ndarray) -> tuple[Point, ...]:
    return tuple(Point(name, float(x), float(y)) for name, (x, y) in zip(names, places, strict=True))
