"""A projection of a result to two dimensions: the sets of the query, their examples and the hits as points.

The axes are the first two principal components of the unit vectors of examples and hits. Points that are close in
the projection may still be far apart in the other dimensions; `explained_variance` tells how much is shown.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.io.text import counted
from softset.search.results import SearchResult

WIDTH, MARGIN = 640, 60  # of a drawing, in pixels
LABEL = 40  # characters of a name in a drawing


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


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        shown = f"explained_variance={self.explained_variance:.2f}"
        return f"Projection2D({counted(len(self.sets), 'set')}, {counted(len(self.items), 'item')}, {shown})"

    def _repr_svg_(self) -> str:
        """Return a drawing for notebooks: sets as large circles, their examples as small ones, hits as dots."""
        points = [point for part in self.sets for point in (part.centre, *part.examples)] + list(self.items)
        xs, ys = [point.x for point in points], [point.y for point in points]
        scale = (WIDTH - 2 * MARGIN) / max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
        height = round((max(ys) - min(ys)) * scale) + 2 * MARGIN

        def draw(point: Point, radius: int, fill: str) -> str:
            x, y = MARGIN + (point.x - min(xs)) * scale, MARGIN + (max(ys) - point.y) * scale
            circle = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}" fill="{fill}" stroke="#369"/>'
            return f'{circle}<text x="{x + radius + 2:.0f}" y="{y + 4:.0f}">{escape(point.name[:LABEL])}</text>'

        drawn = [draw(point, 3, "#369") for point in self.items]
        for part in self.sets:
            drawn += [draw(part.centre, 8, "none"), *(draw(point, 3, "none") for point in part.examples)]
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-size="11">'
        share = f"<title>These two axes explain {self.explained_variance:.0%} of the variance.</title>"
        return f"{head}{share}{''.join(drawn)}</svg>"


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
