"""An ONNX file cut down to what one of its outputs needs: a layer half-way then costs half the time.

onnxruntime computes every node of a graph, asked for or not. The file is a protocol buffer; its messages are copied as
they are or left out, so nothing of their inside needs to be understood but names. Numbers are those of onnx.proto.
"""

from collections.abc import Iterator

__all__ = ["BYTES", "VARINT", "only_output", "output_names", "varint", "weight_locations"]

GRAPH, NODE, INITIALIZER, OUTPUT = 7, 1, 5, 12
NODE_INPUT, NODE_OUTPUT, NODE_ATTRIBUTE, SUBGRAPHS = 1, 2, 5, (6, 11)
TENSOR_NAME, TENSOR_ELSEWHERE, VALUE_NAME = 8, 13, 1
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
# Where tensors can be: which fields of a message hold which other messages.
HOLDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
ENTRY_KEY, ENTRY_VALUE = 1, 2

Field = tuple[int, memoryview, memoryview]  # its number, the whole of it, and its content


def only_output(model: bytes, output: str) -> bytes | None:
    """Return the model with one output and the nodes it needs; None where that cannot be told from outside.

    That is so for graphs within nodes (they may use any name) and for weights that lie in other files.
    """
    fields = list(_fields(memoryview(model)))
    graph = next(content for number, _, content in fields if number == GRAPH)
    parts = list(_fields(graph))
    needed = _needed([content for number, _, content in parts if number == NODE], output)
    if needed is None or any(number == INITIALIZER and _elsewhere(content) for number, _, content in parts):
        return None
    kept = [whole for number, whole, content in parts if _is_kept(number, content, needed, output)]
    body = b"".join(kept)
    head = varint(GRAPH << 3 | BYTES) + varint(len(body))
    return b"".join(head + body if number == GRAPH else bytes(whole) for number, whole, _ in fields)


def output_names(model: bytes) -> list[str]:
    """Return the names of a model's outputs; a ValueError says that it is none."""
    graph = next((content for number, _, content in _fields(memoryview(model)) if number == GRAPH), None)
    if graph is None:
        raise ValueError("there is no graph in it")
    outputs = (content for number, _, content in _fields(graph) if number == OUTPUT)
    return [name for content in outputs for name in _names(list(_fields(content)), VALUE_NAME)]


def weight_locations(model: bytes) -> set[str]:
    """Return the files, as the model names them, that hold weights beside it; a ValueError says that it is none."""
    return set(_locations(memoryview(model), "model"))


def _locations(message: memoryview, kind: str) -> Iterator[str]:
    for number, _, content in _fields(message):
        if kind != "tensor":
            inner = HOLDS[kind].get(number)
            if inner is not None:
                yield from _locations(content, inner)
        elif number == TENSOR_ELSEWHERE:
            entry = list(_fields(content))
            if "location" in _names(entry, ENTRY_KEY):
                yield from _names(entry, ENTRY_VALUE)


def _needed(nodes: list[memoryview], output: str) -> set[str] | None:
    """Return every name that an output depends on; nodes come in an order in which they can be computed."""
    needed = {output}
    for node in reversed(nodes):
        fields = list(_fields(node))
        if any(number == NODE_ATTRIBUTE and _has_graph(content) for number, _, content in fields):
            return None
        if needed & _names(fields, NODE_OUTPUT):
            needed |= _names(fields, NODE_INPUT)
    return needed


def _is_kept(number: int, content: memoryview, needed: set[str], output: str) -> bool:
    if number == NODE:
        return bool(needed & _names(list(_fields(content)), NODE_OUTPUT))
    if number == INITIALIZER:
        return bool(needed & _names(list(_fields(content)), TENSOR_NAME))
    if number == OUTPUT:
        return output in _names(list(_fields(content)), VALUE_NAME)
    return True


def _names(fields: list[Field], number: int) -> set[str]:
    return {bytes(content).decode() for found, _, content in fields if found == number}


def _has_graph(attribute: memoryview) -> bool:
    return any(number in SUBGRAPHS for number, _, _ in _fields(attribute))


def _elsewhere(tensor: memoryview) -> bool:
    return any(number == TENSOR_ELSEWHERE for number, _, _ in _fields(tensor))


def _fields(message: memoryview) -> Iterator[Field]:
    """Yield the fields of a message; a ValueError says that it is none."""
    at = 0
    while at < len(message):
        begin = at
        tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == BYTES:
            length, at = _read_varint(message, at)
        elif kind == VARINT:
            length = _read_varint(message, at)[1] - at
        elif kind in (EIGHT, FOUR):
            length = 8 if kind == EIGHT else 4
        else:
            raise ValueError(f"a field of unknown kind {kind}")
        if at + length > len(message):
            raise ValueError("a field that is longer than its message")
        yield number, message[begin : at + length], message[at : at + length]
        at += length


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("a number that does not end")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def varint(value: int) -> bytes:
    """Return a number as protocol buffers write it: seven bits in each byte, the lowest first.

    >>> varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
