"""Which layer of a model: a number, a number from the end, a fraction of the depth, or "last"."""

import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from softset.errors import InputError

__all__ = ["Layer", "check_layer", "resolve_layer"]

Layer = int | float | str


def resolve_layer(layer: Layer, last: int) -> int:
    """Return the number of a layer, from 0 (the embeddings that go into the first) to `last`.

    >>> [resolve_layer(layer, 12) for layer in (4, -1, -2, 0.5, "last", "0.75", "-3")]
    [4, 12, 11, 6, 12, 9, 10]
    """
    value = -1 if (given := check_layer(layer)) == "last" else given
    assert not isinstance(value, str)  # noqa: S101 (for the type checker: "last" is the only one)
    if isinstance(value, float):
        if not 0 <= value <= 1:
            raise InputError(f"layer {layer} is a fraction, which goes from 0.0 to 1.0; whole numbers go to {last}")
        return round(value * last)
    if not -last - 1 <= value <= last:
        raise InputError(f"the model has layers 0 to {last} (or -1 to {-last - 1} from the end), but {layer} was given")
    return value if value >= 0 else last + 1 + value


def check_layer(layer: Any) -> int | float | str:
    """Return a layer as a plain number or as "last"; what is neither is refused before a model is opened."""
    if isinstance(layer, str) and layer == "last":
        return layer
    with suppress(ValueError, TypeError, OverflowError):
        if isinstance(layer, str):
            return float(layer) if "." in layer else int(layer)
        if not isinstance(layer, bool | Sequence) and getattr(layer, "ndim", 0) == 0:
            return operator.index(layer) if hasattr(layer, "__index__") else float(layer)
    shown = repr(layer)[:60] if isinstance(layer, str | list | bool | None) else f"of type {type(layer).__name__}"
    raise InputError(f'layer {shown} is not known: give a number, a fraction from 0.0 to 1.0, or "last"')
