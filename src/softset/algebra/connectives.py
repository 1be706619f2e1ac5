"""AND, OR and NOT of memberships: two families that satisfy De Morgan's laws with NOT a = sqrt(1 - a^2).

==========  ================================  ================
family      AND                               OR
==========  ================================  ================
product     a b                               sqrt(a^2 + b^2 - a^2 b^2)
minmax      min(a, b)                         max(a, b)
==========  ================================  ================

A membership is a cosine, so its square is a share of the vector's energy. NOT takes the rest of the energy, and the
product family treats shares as independent probabilities. Negative cosines are clipped to 0 first.
"""

from typing import Any

from array_api_compat import is_array_api_obj

from softset.algebra.arrays import Array, as_array, namespace
from softset.errors import NotFiniteError


def and_product(a: Array, b: Array) -> Array:
    """Return a b.

    >>> import numpy as np
    >>> and_product(np.array([0.5, -0.1]), np.array([0.5, 1.0]))
    array([0.25, 0.  ])
    """
    _, a, b = _memberships(a, b)
    return a * b


def and_min(a: Array, b: Array) -> Array:
    """Return the smaller membership.

    >>> import numpy as np
    >>> and_min(np.array([0.5, -0.1]), np.array([0.2, 1.0]))
    array([0.2, 0. ])
    """
    xp, a, b = _memberships(a, b)
    return xp.minimum(a, b)


def or_product(a: Array, b: Array) -> Array:
    """Return sqrt(a^2 + b^2 - a^2 b^2).

    >>> import numpy as np
    >>> or_product(np.array([0.6, 0.0]), np.array([0.0, 1.0]))
    array([0.6, 1. ])
    """
    xp, a, b = _memberships(a, b)
    return _root(xp, a**2 + b**2 * (1 - a) * (1 + a))


def or_max(a: Array, b: Array) -> Array:
    """Return the larger membership.

    >>> import numpy as np
    >>> or_max(np.array([0.5, -0.1]), np.array([0.2, -1.0]))
    array([0.5, 0. ])
    """
    xp, a, b = _memberships(a, b)
    return xp.maximum(a, b)


def not_(a: Array) -> Array:
    """Return sqrt(1 - a^2).

    >>> import numpy as np
    >>> not_(np.array([0.6, 0.0, -0.3]))
    array([0.8, 1. , 1. ])
    """
    xp, a = _memberships(a)
    return _root(xp, (1 - a) * (1 + a))


def _memberships(*operands: Array) -> tuple[Any, ...]:
    """Return the namespace, and each array or number clipped to [0, 1]."""
    like = next((operand for operand in operands if is_array_api_obj(operand)), None)
    arrays = [as_array([operand] if isinstance(operand, int | float) else operand, like) for operand in operands]
    xp = namespace(*arrays)
    for array in arrays:
        if bool(xp.any(xp.isnan(array))):
            raise NotFiniteError("a membership is nan: memberships are numbers from 0 to 1")
    return (xp, *(xp.clip(array, 0.0, 1.0) for array in arrays))


def _root(xp: Any, square: Array) -> Array:
    """Return the square root, with the subgradient 0 at 0 instead of an infinite derivative."""
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, xp.ones_like(square))), xp.zeros_like(square))
