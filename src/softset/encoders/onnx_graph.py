"""Cutting an ONNX graph down to one output, so that a middle layer costs only the layers before it.

onnxruntime computes every node of a graph, even if its result is not requested. An ONNX file is a protocol buffer;
its messages are copied or left out, so only names must be understood. The numbers of fields are those of onnx.proto.
"""

from collections.abc import Iterator

GRAPH, NODE, INITIALIZER, OUTPUT = 7, 1, 5, 12
NODE_INPUT, NODE_OUTPUT, NODE_ATTRIBUTE, SUBGRAPHS = 1, 2, 5, (6, 11)
TENSOR_NAME, EXTERNAL_DATA, VALUE_NAME = 8, 13, 1
ENTRY_KEY, ENTRY_VALUE = 1, 2
VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
# The fields of each kind of message that contain other messages, down to the tensors.
SUBMESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
}

Field = tuple[int, memoryview, memoryview]  # the number, all bytes of the field, and its content


def only_output(model: bytes, output: str) -> bytes | None:
    """Return the model with one output and the nodes that it needs, or None if that cannot be decided.

    Subgraphs inside nodes may use any name, and weights in other files need the path of the model.
    """
    fields = list(_fields(memoryview(model)))
    graph = next(content for number, _, content in fields if number == GRAPH)
    parts = list(_fields(graph))
    needed = _needed_names([content for number, _, content in parts if number == NODE], output)
    external = any(number == INITIALIZER and _has_field(content, EXTERNAL_DATA) for number, _, content in parts)
    if needed is None or external:
        return None
    body = b"".join(whole for number, whole, content in parts if _is_needed(number, content, needed, output))
    head = _varint(GRAPH << 3 | BYTES) + _varint(len(body))
    return b"".join(head + body if number == GRAPH else bytes(whole) for number, whole, _ in fields)


def output_names(model: bytes) -> list[str]:
    """Return the names of a model's outputs; raise ValueError if it is not an ONNX model."""
    graph = next((content for number, _, content in _fields(memoryview(model)) if number == GRAPH), None)
    if graph is None:
        raise ValueError("it has no graph")
    outputs = (content for number, _, content in _fields(graph) if number == OUTPUT)
    return [name for content in outputs for name in _names(content, VALUE_NAME)]


def weight_locations(message: memoryview, kind: str = "model") -> Iterator[str]:
    """Yield the external files that a model names for its weights; raise ValueError if it is not an ONNX model."""
    for number, _, content in _fields(message):
        if kind != "tensor":
            submessage = SUBMESSAGES[kind].get(number)
            if submessage == "sparse":  # a few bytes can stand for gigabytes of zeros
                raise ValueError("it has a sparse tensor, which is not supported")
            if submessage is not None:
                yield from weight_locations(content, submessage)
        elif number == EXTERNAL_DATA and "location" in _names(content, ENTRY_KEY):
            yield from _names(content, ENTRY_VALUE)


def _needed_names(nodes: list[memoryview], output: str) -> set[str] | None:
    """Return all names that an output depends on, or None if a node has a subgraph; nodes are sorted topologically."""
    needed = {output}
    for node in reversed(nodes):
        attributes = (content for number, _, content in _fields(node) if number == NODE_ATTRIBUTE)
        if any(_has_field(attribute, *SUBGRAPHS) for attribute in attributes):
            return None
        if needed & _names(node, NODE_OUTPUT):
            needed |= _names(node, NODE_INPUT)
    return needed


def _is_needed(number: int, content: memoryview, needed: set[str], output: str) -> bool:
    if number == OUTPUT:
        return output in _names(content, VALUE_NAME)
    name_fields = {NODE: NODE_OUTPUT, INITIALIZER: TENSOR_NAME}
    return number not in name_fields or bool(needed & _names(content, name_fields[number]))


def _names(message: memoryview, field: int) -> set[str]:
    return {bytes(content).decode() for number, _, content in _fields(message) if number == field}


def _has_field(message: memoryview, *fields: int) -> bool:
    return any(number in fields for number, _, _ in _fields(message))


def _fields(message: memoryview) -> Iterator[Field]:
    """Yield the fields of a message; raise ValueError if it is not a protocol buffer."""
    position = 0
    while position < len(message):
        begin = position
        tag, position = _read_varint(message, position)
        number, kind = tag >> 3, tag & 7
        if kind == BYTES:
            length, position = _read_varint(message, position)
        elif kind == VARINT:
            length = _read_varint(message, position)[1] - position
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field has the unknown type {kind}")
        end = position + length
        if end > len(message):
            raise ValueError("a field is longer than its message")
        yield number, message[begin:end], message[position:end]
        position = end


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise ValueError("a number does not end")
        byte = message[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position


def _varint(value: int) -> bytes:
    """Return a number in the encoding of protocol buffers: seven bits per byte, the lowest first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
