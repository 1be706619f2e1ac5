"""Products of matrices of bytes, by onnxruntime: processors multiply four times as many bytes at once as floats.

NumPy has no such product. The graph of one node is written out here, as onnx.proto numbers its fields.
"""

from functools import cache
from typing import Any

import numpy as np

from softset.encoders.onnx_graph import BYTES, VARINT, varint

__all__ = ["LARGEST", "ZERO", "integer_products"]

ZERO = 128  # what stands for none among bytes without a sign: onnxruntime is quick where only the other side has one
LARGEST = 63  # of the other side: processors without a better way add two products of bytes in 16 bits

UINT8, INT8, INT32 = 2, 3, 6


def integer_products(codes: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the products (n, k) in int32 of codes (n, d) in uint8, less ZERO, and directions (d, k) in int8.

    >>> integer_products(np.array([[129, 126]], dtype=np.uint8), np.array([[3], [5]], dtype=np.int8)).tolist()
    [[-7]]
    """
    found: np.ndarray = _session().run(None, {"A": codes, "B": directions})[0]
    return found


@cache
def _session() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # blocks come from threads of our own
    options.enable_cpu_mem_arena, options.log_severity_level = False, 4  # as for models
    return onnxruntime.InferenceSession(_model(), options, providers=["CPUExecutionProvider"])


def _model() -> bytes:
    node = _message((1, "A"), (1, "B"), (1, "zero"), (2, "C"), (4, "MatMulInteger"))
    zero = _message((2, UINT8), (8, "zero"), (9, bytes([ZERO])))
    inputs = [(11, _matrix("A", UINT8, "n", "d")), (11, _matrix("B", INT8, "d", "k"))]
    graph = _message((1, node), (2, "products"), (5, zero), *inputs, (12, _matrix("C", INT32, "n", "k")))
    return _message((1, 8), (7, graph), (8, _message((2, 13))))


def _matrix(name: str, kind: int, *sizes: str) -> bytes:
    shape = _message(*((1, _message((2, size))) for size in sizes))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, shape))))))


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Return a message of fields: their numbers, and a number, a text or another message each."""
    return b"".join(_field(number, content) for number, content in fields)


def _field(number: int, content: int | str | bytes) -> bytes:
    if isinstance(content, int):
        return varint(number << 3 | VARINT) + varint(content)
    inner = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | BYTES) + varint(len(inner)) + inner
