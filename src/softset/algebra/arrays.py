"""Input arrays of the algebra: NumPy or torch, checked and converted to floating point once.

A set remembers the floating type of its input and returns results in it. Its directions are stored in float64, called
the wide type here. Orthonormalising float32 rows in float32 would multiply their rounding errors by 1/sine: two tokens
at an angle of .001 would have errors of 1e-4 instead of 1e-7.
"""

from math import inf
from typing import Any

import array_api_compat
import numpy as np

from softset.errors import AmbientError, InputError, LibraryError, NotFiniteError, ShapeError

# The array library is known only at run time.
Array = Any
Namespace = Any


def namespace(*arrays: Array) -> Namespace:
    """Return the array-API namespace that all these arrays share."""
    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError:
        names = " and ".join(sorted({type(array).__module__.split(".")[0] for array in arrays}))
        raise LibraryError(
            f"arrays of {names} cannot be combined: convert one of them (a set with A.like(array))"
        ) from None


def as_rows(
    vectors: Array, *, ambient: int | None = None, like: Array = None, finite: bool = True
) -> tuple[Array, bool]:
    """Return vectors as floating-point rows (n, d), and whether a single (d,) vector was given."""
    array = as_array(vectors, like)
    if array.ndim not in (1, 2):
        shape = tuple(array.shape)
        raise ShapeError(f"vectors must be one (d,) vector or (n, d) rows, but an array of shape {shape} was given")
    _check_ambient(array, ambient)
    single = array.ndim == 1
    rows = array[None, :] if single else array
    if finite:
        check_finite(rows)
    return rows, single


def as_stack(vectors: Array) -> Array:
    """Return a (b, k, d) stack of sets of equal size, checked to be finite."""
    stack = as_array(vectors)
    if stack.ndim != 3:
        raise ShapeError(f"a stack of sets must have shape (sets, vectors, d), but {tuple(stack.shape)} was given")
    _check_ambient(stack, None)
    check_finite(stack)
    return stack


def as_array(vectors: Array, like: Array = None) -> Array:
    """Return numbers as an array of float32 or float64; plain lists become arrays of the library of `like`."""
    if not array_api_compat.is_array_api_obj(vectors):
        vectors = _from_nested(vectors)
        if like is not None and isinstance(vectors, np.ndarray):
            # Plain lists take the library and device of the set.
            vectors = namespace(like).asarray(vectors, device=array_api_compat.device(like))
    xp = namespace(vectors) if like is None else namespace(vectors, like)
    if isinstance(vectors, np.ndarray):
        vectors = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    dtype = vectors.dtype
    if dtype in (xp.float32, xp.float64):
        return vectors
    if str(dtype).removeprefix("torch.") in ("float16", "bfloat16"):  # few libraries list them as floating types
        return xp.astype(vectors, xp.float32)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":  # long double
        return vectors.astype(np.float64)
    if xp.isdtype(dtype, ("integral", "bool")):
        return xp.astype(vectors, _wide_type(vectors))
    raise LibraryError(f"vectors must be real numbers, but their type is {dtype}")


def _from_nested(vectors: Any) -> Array:
    """Convert nested sequences of numbers to an array; ragged rows raise ShapeError."""
    try:
        rows = list(vectors) if not hasattr(vectors, "__array__") else vectors
    except TypeError:
        raise ShapeError(f"vectors must be an array or a sequence of rows, but {vectors!r} was given") from None
    if isinstance(rows, list) and rows and all(array_api_compat.is_array_api_obj(row) for row in rows):
        return namespace(*rows).stack(rows) if len({row.shape for row in rows}) == 1 else _ragged(rows)
    try:
        array = np.asarray(rows)
    except ValueError:
        array = _ragged(rows)
    if array.dtype.kind in "OUS":
        values = array.reshape(-1).tolist()
        culprit = next((value for value in values if not isinstance(value, int | float)), array.dtype)
        raise LibraryError(f"vectors must be numbers, but {culprit!r} was given")
    return array


def _ragged(rows: list[Any]) -> Any:
    """Raise ShapeError for rows of different lengths, naming the first that differs."""
    sizes = [len(row) if hasattr(row, "__len__") else 0 for row in rows]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        raise ShapeError("the rows have different shapes: give rows of numbers of the same length")
    raise ShapeError(f"row {odd} has {sizes[odd]} numbers, but row 0 has {sizes[0]}: all vectors need the same length")


def _check_ambient(array: Array, ambient: int | None) -> None:
    d = int(array.shape[-1])
    if d == 0:
        raise ShapeError(
            f"vectors need at least 1 dimension, but an array of shape {tuple(array.shape)} was given; "
            "use Subspace.empty(d) for a set without vectors"
        )
    if ambient is not None and d != ambient:
        raise AmbientError(f"the vectors have {d} dimensions, but the set has {ambient}")


def check_finite(array: Array) -> None:
    """Raise NotFiniteError for NaN and infinity in rows or in a stack of sets, naming the first one's position."""
    finite = namespace(array).isfinite(array)
    if not bool(namespace(array).all(finite)):
        index = np.argwhere(~to_numpy(finite))[0].tolist()
        axes = ("set", "row", "column")[-len(index) :]
        position = ", ".join(f"{axis} {number}" for axis, number in zip(axes, index, strict=True))
        raise NotFiniteError(f"{position} is {float(array[tuple(index)])}: every number must be finite")


def unit_rows(rows: Array, dtype: Any = None) -> Array:
    """Return rows (..., d) scaled to length 1; zero rows stay zero.

    The largest entry is divided out first, so that rows of 1e-300 and of 1e300 neither vanish nor overflow.
    The computation is in float64; the result is in float64 too, or in `dtype`.
    """
    xp = namespace(rows)
    rows = xp.astype(rows, _wide_type(rows), copy=False)
    largest = xp.max(xp.abs(rows), axis=-1, keepdims=True)
    rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
    norms = xp.linalg.vector_norm(rows, axis=-1, keepdims=True)
    units = rows / xp.where(norms > 0, norms, xp.ones_like(norms))
    return units if dtype is None else xp.astype(units, dtype, copy=False)


def as_weights(weights: Array, units: Array) -> Array:
    """Return the weights (k,) of unit rows (k, d), scaled to the sum 1, as constants; zero rows have weight 0."""
    xp = namespace(units)
    w = xp.astype(xp.any(detach(units) != 0, axis=-1), units.dtype)
    if weights is not None:
        w = w * _checked_weights(widen(as_array(weights, units)), units.shape[0])
    largest = float(xp.max(w)) if w.shape[0] else 0.0
    w = w / largest if largest else w  # before the sum, which might overflow
    return w / xp.sum(w) if largest else w


def _checked_weights(weights: Array, k: int) -> Array:
    shape = tuple(weights.shape)
    if shape != (k,):
        raise ShapeError(f"weights of shape {shape} were given for {k} vectors: give one number for each")
    for index, weight in enumerate(to_numpy(weights).tolist()):
        if not 0 <= weight < inf:
            raise InputError(f"weight {index} is {weight}: weights must be finite and not negative")
    return weights


def row_norms(rows: Array) -> Array:
    """Return the norms (n,) of (n, d) rows; the derivative at a zero row is 0."""
    xp = namespace(rows)
    if traces_gradient(rows):
        return xp.linalg.vector_norm(rows, axis=-1)
    return xp.sqrt(xp.vecdot(rows, rows))  # no (n, d) temporary of squares


def transpose(matrix: Array) -> Array:
    """Return the matrix with its last two axes exchanged."""
    return namespace(matrix).matrix_transpose(matrix)


def generic_vector(like: Array) -> Array:
    """Return a fixed vector (d,) without special structure, used to sort rows by their values alone."""
    xp = namespace(like)
    indices = xp.arange(like.shape[-1], dtype=like.dtype, device=array_api_compat.device(like))
    return xp.cos(indices**1.5)


def identity(like: Array) -> Array:
    """Return the identity matrix of the size, type and device of a square matrix."""
    return namespace(like).eye(like.shape[0], dtype=like.dtype, device=array_api_compat.device(like))


def _wide_type(array: Array) -> Any:
    """Return float64, or float32 on MPS devices, which have no float64."""
    xp = namespace(array)
    return xp.float32 if str(array_api_compat.device(array)).startswith("mps") else xp.float64


def widen(array: Array) -> Array:
    """Return the array in the wide type, without its gradient."""
    return namespace(array).astype(detach(array), _wide_type(array), copy=False)


def coarser_type(xp: Namespace, *dtypes: Any) -> Any:
    """Return float32 if any of the types is float32: a result is no more precise than its least precise input."""
    return next((dtype for dtype in dtypes if dtype == xp.float32), dtypes[0])


def to_numpy(array: Array) -> np.ndarray:
    """Return a NumPy copy or view of an array of any library and device."""
    array = detach(array)
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def moved_to(rows: Array, array: Array) -> Array:
    """Return an array of a set in the wide type, in the library and on the device of `rows`.

    It keeps its gradient from torch to torch.
    """
    xp, wide, device = namespace(rows), _wide_type(rows), array_api_compat.device(rows)
    if array_api_compat.is_torch_array(array) and array_api_compat.is_torch_array(rows):
        return xp.astype(array_api_compat.to_device(array, device), wide, copy=False)
    return xp.asarray(to_numpy(array), dtype=wide, device=device)


# Gradients are not part of the array API standard; among the supported libraries only torch has them.


def traces_gradient(array: Array) -> bool:
    """Return whether the array takes part in automatic differentiation."""
    return bool(getattr(array, "requires_grad", False))


def detach(array: Array) -> Array:
    """Return the array without its gradient."""
    return array.detach() if traces_gradient(array) else array


def attach(values: Array, source: Array) -> Array:
    """Return the values with the derivative of `source`, whose values differ only by rounding."""
    return values + (source - detach(source)) if traces_gradient(source) else values
