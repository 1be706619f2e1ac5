"""Distances between subspaces from their canonical angles t_1 <= ... <= t_m, with t_m the largest.

==================  ============================  =======================
kind                formula                       largest possible value
==================  ============================  =======================
geodesic            sqrt(sum t_i^2)               sqrt(m) pi/2
chordal             sqrt(sum sin^2 t_i)           sqrt(m)
projection          sin t_m                       1
binet-cauchy        sqrt(1 - prod cos^2 t_i)      1
squared-angles      sum t_i^2                     m pi^2/4
==================  ============================  =======================

For dimensions k and l there are min(k, l) angles. Ye and Lim (2016) give two readings for k != l, and both are here:
with |k - l| right angles added, which makes a metric on subspaces of all dimensions; and without them ("containment"),
the distance to the nearest subspace that contains, or lies in, the other one. `squared-angles`, from the code of the
paper, is the square of the geodesic distance, and so no metric.
"""

from math import hypot, pi, sqrt

import numpy as np

from softset.errors import InputError

__all__ = ["KINDS", "distance"]

KINDS = ("geodesic", "chordal", "projection", "binet-cauchy", "squared-angles")


def distance(cosines: np.ndarray, sines: np.ndarray, right_angles: int, kind: str) -> float:
    """Return a distance from canonical angles, given by cosine and sine, and a number of further right angles."""
    if kind not in KINDS:
        raise InputError(f"the distance {kind!r} is not known: use one of {', '.join(KINDS)}")
    s = np.concatenate([sines, np.ones(right_angles)])
    t = np.concatenate([np.arctan2(sines, cosines), np.full(right_angles, pi / 2)])
    match kind:
        case "geodesic":
            return hypot(*t.tolist())
        case "chordal":
            return hypot(*s.tolist())
        case "projection":
            return float(s.max(initial=0.0))
        case "squared-angles":
            return float(t @ t)
    return sqrt(_one_minus_product(s.tolist()))


def _one_minus_product(sines: list[float]) -> float:
    """Return 1 - prod (1 - s^2) without cancellation: each step adds a part of what is left."""
    value = 0.0
    for s in sines:
        value += s * s * (1.0 - value)
    return value
