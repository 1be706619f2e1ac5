"""The door of the algebra: whatever array the caller has comes in here, checked and promoted, once.

Two precisions are at work. A set remembers the *caller's* floating type and answers in it. Its directions are
kept in the *wide* type, float64, because orthonormalising float32 rows in float32 would lose 1/sine of the digits
that the rows have (two tokens at an angle of .001: errors of 1e-4 instead of 1e-7).
"""

from typing import Any

import array_api_compat
import numpy as np

from softset.errors import AmbientError, LibraryError, NotFiniteError, ShapeError

__all__ = [
    "Array",
    "Namespace",
    "as_array",
    "as_rows",
    "as_stack",
    "attach",
    "check_finite",
    "coarser",
    "detach",
    "generic",
    "identity",
    "namespace",
    "row_norms",
    "to_numpy",
    "traces_gradient",
    "transpose",
    "unit_rows",
    "widen",
]

# Arrays belong to the caller's library, which is known only at run time.
Array = Any
Namespace = Any


def namespace(*arrays: Array) -> Namespace:
    """Return the array-API namespace that all these arrays share."""
    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError:
        names = " and ".join(sorted({type(array).__module__.split(".")[0] for array in arrays}))
        raise LibraryError(
            f"arrays of {names} cannot meet in one call: convert one of them, for a set with .like(array)"
        ) from None


def as_rows(
    vectors: Array, *, ambient: int | None = None, like: Array = None, finite: bool = True
) -> tuple[Array, bool]:
    """Return vectors as floating rows (n, d), checked to be finite, and whether a single (d,) vector was given."""
    array = as_array(vectors, like)
    if array.ndim not in (1, 2):
        raise ShapeError(
            f"vectors must be one (d,) vector or (n, d) rows, but an array of shape {_shape(array)} was given"
        )
    _check_ambient(array, ambient)
    single = array.ndim == 1
    rows = array[None, :] if single else array
    if finite:
        check_finite(rows)
    return rows, single


def as_stack(vectors: Array) -> Array:
    """Return a (b, k, d) stack of sets of equal size, finite and floating."""
    stack = as_array(vectors)
    if stack.ndim != 3:
        raise ShapeError(f"a stack of sets must have shape (sets, vectors, d), but {_shape(stack)} was given")
    _check_ambient(stack, None)
    xp = namespace(stack)
    for at in range(stack.shape[0]) if not bool(xp.all(xp.isfinite(stack))) else ():
        check_finite(stack[at, ...], where=f"set {at}, ")
    return stack


def as_array(vectors: Array, like: Array = None) -> Array:
    """Return numbers as an array of float32 or float64; plain lists become arrays of the library of `like`."""
    if not array_api_compat.is_array_api_obj(vectors):
        vectors = _from_nested(vectors)
        if like is not None and isinstance(vectors, np.ndarray):
            # Numbers without an array of their own follow the set they are asked about.
            vectors = namespace(like).asarray(vectors, device=array_api_compat.device(like))
    xp = namespace(vectors) if like is None else namespace(vectors, like)
    if isinstance(vectors, np.ndarray):
        vectors = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    dtype = vectors.dtype
    if dtype in (xp.float32, xp.float64):
        return vectors
    if _is_half(dtype):
        return xp.astype(vectors, xp.float32)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":  # long double
        return vectors.astype(np.float64)
    if xp.isdtype(dtype, ("integral", "bool")):
        return xp.astype(vectors, _wide_type(vectors))
    raise LibraryError(f"vectors must be real numbers, but their type is {dtype}")


def _is_half(dtype: Any) -> bool:
    """Tell float16 and bfloat16, which few libraries list among their floating types."""
    return str(dtype).removeprefix("torch.") in ("float16", "bfloat16")


def _from_nested(vectors: Any) -> Array:
    """Turn nested sequences of numbers into an array; ragged ones are refused with the first odd row."""
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
        raise LibraryError(f"vectors must be numbers, but {_first_non_number(array)} was given")
    return array


def _ragged(rows: list[Any]) -> Any:
    """Refuse rows of different lengths, naming the first that differs."""
    sizes = [len(row) if hasattr(row, "__len__") else 0 for row in rows]
    odd = next((at for at, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        raise ShapeError("the rows are nested unevenly: vectors must be equally long rows of numbers")
    raise ShapeError(f"row {odd} has {sizes[odd]} numbers where row 0 has {sizes[0]}: vectors must be equally long")


def _first_non_number(array: np.ndarray) -> str:
    return repr(next((one for one in array.reshape(-1).tolist() if not isinstance(one, int | float)), array.dtype))


def _check_ambient(array: Array, ambient: int | None) -> None:
    d = int(array.shape[-1])
    if d == 0:
        raise ShapeError(
            f"vectors need at least 1 dimension, but an array of shape {_shape(array)} was given; "
            "the set of no vectors is Subspace.empty(d)"
        )
    if ambient is not None and d != ambient:
        raise AmbientError(f"the vectors have {d} dimensions, but the set lives in {ambient}")


def check_finite(rows: Array, where: str = "") -> None:
    """Refuse NaN and infinity, naming the first one's place."""
    xp = namespace(rows)
    finite = xp.isfinite(rows)
    if bool(xp.all(finite)):
        return
    bad = np.argwhere(~to_numpy(finite))[0]
    row, column = int(bad[0]), int(bad[1])
    raise NotFiniteError(
        f"{where}row {row}, column {column} is {float(rows[row, column])}: every number must be finite"
    )


def _shape(array: Array) -> tuple[int, ...]:
    return tuple(int(size) for size in array.shape)


def unit_rows(rows: Array, dtype: Any = None) -> Array:
    """Return rows (..., d) scaled to length 1; zero rows stay zero.

    The largest entry is divided out first, so that rows of 1e-300 and of 1e300 neither vanish nor overflow.
    The computation is in float64; the result is in float64 too, or in `dtype`.

    >>> unit_rows(np.array([[3e300, 4e300], [0.0, 0.0]]), np.float32).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    xp = namespace(rows)
    rows = xp.astype(rows, _wide_type(rows), copy=False)
    largest = xp.max(xp.abs(rows), axis=-1, keepdims=True)
    rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
    norms = xp.linalg.vector_norm(rows, axis=-1, keepdims=True)
    units = rows / xp.where(norms > 0, norms, xp.ones_like(norms))
    return units if dtype is None else xp.astype(units, dtype, copy=False)


def row_norms(rows: Array) -> Array:
    """Return the lengths (n,) of (n, d) rows; the derivative at a zero row is 0."""
    xp = namespace(rows)
    if traces_gradient(rows):
        return xp.linalg.vector_norm(rows, axis=-1)
    return xp.sqrt(xp.vecdot(rows, rows))  # no (n, d) temporary of squares


def transpose(matrix: Array) -> Array:
    """Return the matrix with its last two axes exchanged."""
    return namespace(matrix).matrix_transpose(matrix)


def generic(like: Array) -> Array:
    """Return a fixed, generic vector (d,): rows (n, d) ordered by it are ordered by their values alone."""
    xp = namespace(like)
    places = xp.arange(like.shape[-1], dtype=like.dtype, device=array_api_compat.device(like))
    return xp.cos(places**1.5)


def identity(like: Array) -> Array:
    """Return the identity matrix of the size, type and place of a square one."""
    return namespace(like).eye(like.shape[0], dtype=like.dtype, device=array_api_compat.device(like))


def _wide_type(array: Array) -> Any:
    """Return float64, or float32 on the one kind of device that has no float64."""
    xp = namespace(array)
    return xp.float32 if str(array_api_compat.device(array)).startswith("mps") else xp.float64


def widen(array: Array) -> Array:
    """Return the array in the wide type, without its gradient."""
    return namespace(array).astype(detach(array), _wide_type(array), copy=False)


def coarser(xp: Namespace, *dtypes: Any) -> Any:
    """Return float32 if any of the types is: a set is no more exact than its least exact part."""
    return next((dtype for dtype in dtypes if dtype == xp.float32), dtypes[0])


def to_numpy(array: Array) -> np.ndarray:
    """Return a NumPy copy or view of any array, wherever it lives."""
    array = detach(array)
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


# What the standard lacks: gradients. torch is the only library here that has them on its arrays.


def traces_gradient(array: Array) -> bool:
    """Tell whether a derivative of this array may be asked for later."""
    return bool(getattr(array, "requires_grad", False))


def detach(array: Array) -> Array:
    """Return the array's values alone."""
    return array.detach() if traces_gradient(array) else array


def attach(values: Array, source: Array) -> Array:
    """Return these exact values with the derivative of `source`, whose values are nearly the same."""
    return values + (source - detach(source)) if traces_gradient(source) else values
