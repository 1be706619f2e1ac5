"""What retrieval and similarity ask of a set, crisp or graded, and an outsider's set must offer."""

from typing import Any, Protocol, Self, runtime_checkable

__all__ = ["SoftSet"]


@runtime_checkable
class SoftSet(Protocol):
    """A set of vectors that things belong to by degrees.

    >>> from softset import GradedSubspace, Subspace
    >>> isinstance(Subspace.whole(2), SoftSet), isinstance(GradedSubspace.of([[1, 0]]), SoftSet)
    (True, True)
    """

    @property
    def ambient(self) -> int:
        """The dimension of the space that the set lives in."""

    @property
    def dim(self) -> int:
        """The number of directions that belong to the set at all."""

    @property
    def chance(self) -> float:
        """The membership of an unrelated vector, if all directions are alike."""

    def membership(self, v: Any) -> Any:
        """Return how much one (d,) vector, or each of (n, d) vectors, belongs: numbers from 0 to 1."""

    def factor(self) -> Any:
        """Return rows S with membership |S v| / |v|, or None if the set has no such rows."""

    def project(self, v: Any) -> Any:
        """Return the part of each vector that belongs to the set."""

    def without(self, other: Any) -> Self:
        """Return this set with the other taken out."""

    def similarity(self, other: Any) -> float:
        """Return how alike two sets are: 1 for equal ones, 0 for orthogonal ones."""

    def like(self, array: Any) -> Self:
        """Return this set in the library, type and device of an array."""

    def __and__(self, other: Any) -> Self: ...
    def __or__(self, other: Any) -> Self: ...
    def __sub__(self, other: Any) -> Self: ...
    def __invert__(self) -> Self: ...
    def __le__(self, other: Any) -> bool: ...
    def __bool__(self) -> bool: ...
