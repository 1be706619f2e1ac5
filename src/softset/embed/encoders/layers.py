"""Which layer of a model: a number, a number from the end, a fraction of the depth, or "last"."""

import operator
from contextlib import suppress

from softset.errors import InputError

__all__ = ["Layer", "resolve_layer"]

Layer = int | float | str


def resolve_layer(layer: Layer, last: int) -> int:
    """Return the number of a layer, from 0 (the embeddings that go into the first) to `last`.

    >>> [resolve_layer(layer, 12) for layer in (4, -1, -2, 0.5, "last", "0.75", "-3")]
    [4, 12, 11, 6, 12, 9, 10]
    """
    value = _number(layer)
    if isinstance(value, float):
        if not 0 <= value <= 1:
            raise InputError(f"layer {layer} is a fraction, which goes from 0.0 to 1.0; whole numbers go to {last}")
        return round(value * last)
    if not -last - 1 <= value <= last:
        raise InputError(f"the model has layers 0 to {last} (or -1 to {-last - 1} from the end), but {layer} was given")
    return value if value >= 0 else last + 1 + value


def _number(layer: Layer) -> int | float:
    if layer == "last":
        return -1
    with suppress(ValueError, TypeError):
        if isinstance(layer, str):
            return float(layer) if "." in layer else int(layer)
        if not isinstance(layer, bool):
            return operator.index(layer) if hasattr(layer, "__index__") else float(layer)
    raise InputError(f'layer {layer!r} is not known: give a number, a fraction from 0.0 to 1.0, or "last"')
