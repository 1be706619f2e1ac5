"""How much words belong to a set that is known by a few of them: what the sets of a query are made of.

======================  ==============================================================================================
random                  a random number: what chance reaches
near                    the largest cosine with a word of the query
mean                    the mean cosine with the words of the query
centroid                the cosine with the mean of their unit vectors
fuzzy                   the cosine with their elementwise maximum (Zhelezniak et al. 2019)
crisp                   the membership in their span (the paper)
graded(aperture=2)      the membership in their graded set
======================  ==============================================================================================

Queries are lists of unit rows (k, d), and words are unit rows V (v, d); scores are (q, v).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softset.algebra import GradedSubspace, SoftSet, Subspace

__all__ = ["FUZZY", "Leaf", "crisp", "graded", "memberships", "plain"]

Rows = npt.NDArray[np.float32]
BLOCK = 64  # queries at once: 64 sets of 10 directions over 17,016 words are 44 MB


@dataclass(frozen=True)
class Leaf:
    """A way to score all words by the examples of a set, and to make the set itself where there is one."""

    name: str
    scores: Callable[[Sequence[Rows], Rows], Rows]
    make: Callable[[Rows], SoftSet] | None = None


def plain() -> tuple[Leaf, ...]:
    """Return the leaves that are no sets: near, mean, centroid and fuzzy.

    >>> [leaf.name for leaf in plain()]
    ['near', 'mean', 'centroid', 'fuzzy']
    """
    return (Leaf("near", _near), Leaf("mean", _mean), Leaf("centroid", _centroid), FUZZY)


def crisp() -> Leaf:
    """Return the leaf that is a span.

    >>> crisp().scores([np.eye(3, dtype=np.float32)[:2]], np.eye(3, dtype=np.float32)).tolist()
    [[1.0, 1.0, 0.0]]
    """
    return _sets("crisp", Subspace.span)


def graded(aperture: float) -> Leaf:
    """Return the leaf that is a graded set.

    >>> graded(2).name
    'graded(aperture=2)'
    """
    return _sets(f"graded(aperture={aperture:g})", lambda rows: GradedSubspace.of(rows, aperture=aperture))


def _sets(name: str, make: Callable[[Rows], SoftSet]) -> Leaf:
    return Leaf(name, lambda queries, V: memberships([make(rows) for rows in queries], V), make)


def memberships(sets: Sequence[SoftSet], V: Rows) -> Rows:
    """Return how much unit vectors V (v, d) belong to each of some sets, (q, v), by one product for many sets.

    >>> V = np.array([[0.6, 0.8], [0, 0]], dtype=np.float32)
    >>> memberships([Subspace.span([[1.0, 0.0]]), Subspace.empty(2), GradedSubspace.whole(2)], V).round(3).tolist()
    [[0.6..., 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    blocks = [_block(sets[at : at + BLOCK], V) for at in range(0, len(sets), BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(V)), dtype=np.float32)


def _block(sets: Sequence[SoftSet], V: Rows) -> Rows:
    """Return sqrt(rest + sum of (grade - rest) (q v)^2 over the directions q of each set), for one block of sets."""
    forms = [_form(one) for one in sets]
    most = max(len(grades) for _, grades, _ in forms) or 1
    Q, g = np.zeros((len(sets), most, V.shape[1]), dtype=np.float32), np.zeros((len(sets), most), dtype=np.float32)
    rest = np.array([[one] for _, _, one in forms], dtype=np.float32)
    for at, (directions, grades, other) in enumerate(forms):
        Q[at, : len(grades)], g[at, : len(grades)] = directions, grades - other
    c = (Q.reshape(-1, V.shape[1]) @ V.T).reshape(len(sets), most, len(V))
    squares = rest + np.einsum("qr,qrv->qv", g, np.square(c, out=c))
    found: Rows = np.sqrt(np.clip(squares, 0, 1))
    return found


def _form(one: SoftSet) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating], float]:
    """Return directions (r, d), their grades (r,), and the grade of all that is orthogonal to them."""
    if isinstance(one, GradedSubspace):
        return one.directions, one.grades, one.rest
    basis = one.basis if isinstance(one, Subspace) else np.zeros((0, one.ambient))
    return basis, np.ones(len(basis)), 0.0


def _near(queries: Sequence[Rows], V: Rows) -> Rows:
    return _by_query(queries, V, np.maximum)


def _mean(queries: Sequence[Rows], V: Rows) -> Rows:
    return _directions([rows.mean(axis=0) for rows in queries]) @ V.T


def _centroid(queries: Sequence[Rows], V: Rows) -> Rows:
    return cosines([rows.mean(axis=0) for rows in queries], V)


def _by_query(queries: Sequence[Rows], V: Rows, joined: np.ufunc) -> Rows:
    """Return what cosines with the rows of each query join to."""
    starts = np.cumsum([0, *(len(rows) for rows in queries[:-1])])
    found: Rows = joined.reduceat(np.concatenate(queries) @ V.T, starts, axis=0)
    return found


def pooled(rows: Rows) -> Rows:
    """Return the elementwise maximum (d,) of rows (k, d).

    >>> pooled(np.array([[1, 0], [0, 2]], dtype=np.float32)).tolist()
    [1.0, 2.0]
    """
    found: Rows = rows.max(axis=0)
    return found


def cosines(vectors: Sequence[Rows], V: Rows) -> Rows:
    """Return the cosine (q, v) of each of some vectors (d,) with unit rows V (v, d).

    >>> cosines([np.array([3, 4], dtype=np.float32)], np.eye(2, dtype=np.float32)).round(3).tolist()
    [[0.6..., 0.8...]]
    """
    Q = _directions(vectors)
    lengths = np.linalg.norm(Q, axis=1, keepdims=True)
    units: Rows = (Q / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return units @ V.T


def _directions(vectors: Sequence[Rows]) -> Rows:
    return np.stack(vectors).astype(np.float32)


FUZZY = Leaf("fuzzy", lambda queries, V: cosines([pooled(rows) for rows in queries], V))
