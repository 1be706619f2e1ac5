"""What a set is. Arrays in, arrays out: no text, no models."""

from softset.algebra.connectives import and_min, and_product, not_, or_max, or_product
from softset.algebra.graded import GradedSubspace
from softset.algebra.protocol import SoftSet
from softset.algebra.subspace import Subspace

__all__ = ["GradedSubspace", "SoftSet", "Subspace", "and_min", "and_product", "not_", "or_max", "or_product"]
