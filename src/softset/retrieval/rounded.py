"""Which of many unit vectors are near a direction, told by a byte a number, and then exactly.

A sample of 32,768 vectors of 100 dimensions is 13 MB in float32: more than stays in a processor's cache while an index
is looked at, so that a product with it waits for the memory (.4 ms). Its codes are 3 MB, and onnxruntime multiplies
whole numbers of eight bits at once (.1 ms).
"""

from typing import Any

import numpy as np

from softset.embed.protobuf import field
from softset.retrieval.borders import largest, least_of_largest

__all__ = ["Rounded"]

# Where a processor adds the products of two pairs in 16 bits, 2 * 255 * 64 is the most that fits.
MOST_CODE, MOST_ASKED, MIDDLE = 63, 127, 128
FLOAT32 = 1e-5  # what rounding in float32 may change of a cosine, with room
UINT8, INT8, INT32 = 2, 3, 6  # as onnx.proto numbers them


class Rounded:
    """Finite unit vectors (m, d) in float32, and beside them codes: whole numbers from -63 to 63, times one step.

    >>> Rounded(np.eye(4, dtype=np.float32)).largest(np.array([0.0, 0.6, 0.8, 0.0]), 2)
    0.6000000238418579
    """

    def __init__(self, units: np.ndarray) -> None:
        self._units = units
        self._step = max(float(np.abs(units).max(initial=0.0)) / MOST_CODE, 1e-30)
        codes = np.rint(units / self._step).astype(np.int8)
        self._error = max(
            float(np.linalg.norm(units[at : at + 4096] - self._step * codes[at : at + 4096], axis=1).max())
            for at in range(0, len(units), 4096)
        )
        self._session = _session(np.ascontiguousarray(codes.T))

    def largest(self, direction: np.ndarray, rank: int) -> float:
        """Return the rank-th largest cosine with a direction (d,) of length 1.

        By the inequality of Cauchy and Schwarz, a product of codes differs from that of the vectors by at most the
        length of what is rounded off: what is twice that below the rank-th largest product of codes cannot count.
        """
        step = max(float(np.abs(direction).max()) / MOST_ASKED, 1e-30)
        asked = np.rint(direction / step)
        off = self._error + (1 + self._error) * float(np.linalg.norm(direction - step * asked)) + FLOAT32
        products = self._session.run(None, {"asked": (asked + MIDDLE).astype(np.uint8)[None]})[0][0]
        least = least_of_largest(products, rank)
        if least is None:
            return largest(self._units @ direction.astype(np.float32), rank)
        near = np.flatnonzero(products >= np.int32(least - 2 * off / (step * self._step) - 1))
        return largest(self._units[near] @ direction.astype(np.float32), rank)


def _session(codes: np.ndarray) -> Any:
    """Return onnxruntime's session of one product: asked (1, d), 128 of which is zero, by the codes (d, m)."""
    import onnxruntime

    d, m = codes.shape
    shape = field(1, d) + field(1, m)
    node = b"".join(field(1, name) for name in ("asked", "codes", "middle")) + field(2, "products")
    graph = b"".join(
        [
            field(1, node + field(4, "MatMulInteger")),
            field(2, "products"),
            field(5, field(2, UINT8) + field(8, "middle") + field(9, bytes([MIDDLE]))),
            field(5, shape + field(2, INT8) + field(8, "codes") + field(9, codes.tobytes())),
            field(11, _tensor("asked", UINT8, 1, d)),
            field(12, _tensor("products", INT32, 1, m)),
        ]
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # for a tenth of a millisecond it is not worth to wake another
    options.log_severity_level = 4
    model = field(1, 8) + field(7, graph) + field(8, field(2, 13))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tensor(name: str, kind: int, *shape: int) -> bytes:
    dimensions = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dimensions)))
