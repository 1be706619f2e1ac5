"""Sets of vectors and their operators. Arrays in, arrays out; no text and no models."""

from softset.algebra.base import SoftSet
from softset.algebra.connectives import and_min, and_product, not_, or_max, or_product
from softset.algebra.graded import GradedSubspace
from softset.algebra.subspace import Subspace

__all__ = ["GradedSubspace", "SoftSet", "Subspace", "and_min", "and_product", "not_", "or_max", "or_product"]
