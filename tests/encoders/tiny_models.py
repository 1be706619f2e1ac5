"""Tiny models for tests; the ONNX files are written as protocol buffers, without the onnx package."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

WORDS = ["[UNK]", "a", "red", "blue", "book", "pen", "."]
TEXTS = ["A red book.", "blue pen", "red red zebra", ""]
INT64, FLOAT = 7, 1


def table(d: int = 4, seed: int = 0, words: int = len(WORDS)) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((words, d)).astype(np.float32)


def save_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    backend.save(str(folder / "tokenizer.json"))


def config(folder: Path, **facts) -> None:
    (folder / "config.json").write_text(json.dumps(facts))


def onnx_model(folder: Path, rows: np.ndarray | None = None, *, place: str = "", data: str | None = None) -> Path:
    """Fill a folder with a model of one layer, its ONNX file in `place`, and its weights in the file `data`."""
    (folder / place).mkdir(parents=True)
    save_tokenizer(folder)
    config(folder, model_type="bert", max_position_embeddings=8)
    rows = table() if rows is None else rows
    (folder / place / "model.onnx").write_bytes(onnx_bytes(rows, data))
    if data:
        (folder / place / data).write_bytes(rows.tobytes())
    return folder


def model2vec(folder: Path, rows: np.ndarray | None = None) -> Path:
    folder.mkdir(parents=True)
    save_tokenizer(folder)
    config(folder, model_type="model2vec", normalize=True)
    save_file({"embeddings": table() if rows is None else rows}, folder / "model.safetensors")
    return folder


def transformers_like(folder: Path) -> Path:
    """Fill a folder like that of a transformers model, with meaningless weights."""
    folder.mkdir(parents=True)
    save_tokenizer(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config(folder, model_type="bert", architectures=["BertModel"], max_position_embeddings=32, vocab_size=16, **sizes)
    save_file({"embeddings": table()}, folder / "model.safetensors")
    return folder


# Protocol buffers


def onnx_bytes(rows: np.ndarray, data: str | None) -> bytes:
    """Return a model that looks up rows, hidden_0, and computes their hyperbolic tangents, hidden_1."""
    n, d = rows.shape
    weights = number(1, n) + number(1, d) + number(2, FLOAT) + text(8, "table")
    if data:
        weights += field(13, text(1, "location") + text(2, data)) + number(14, 1)
    else:
        weights += field(9, rows.tobytes())
    graph = field(1, text(1, "table") + text(1, "input_ids") + text(2, "hidden_0") + text(4, "Gather"))
    graph += field(1, text(1, "hidden_0") + text(2, "hidden_1") + text(4, "Tanh")) + text(2, "tiny")
    graph += field(5, weights) + field(11, value("input_ids", INT64, "b", "n"))
    graph += field(12, value("hidden_0", FLOAT, "b", "n", d)) + field(12, value("hidden_1", FLOAT, "b", "n", d))
    return number(1, 8) + field(7, graph) + field(8, text(1, "") + number(2, 17))


def value(name: str, kind: int, *shape: str | int) -> bytes:
    axes = b"".join(field(1, number(1, size) if isinstance(size, int) else text(2, size)) for size in shape)
    return text(1, name) + field(2, field(1, number(1, kind) + field(2, axes)))


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def text(field_number: int, content: str) -> bytes:
    return field(field_number, content.encode())


def number(field_number: int, content: int) -> bytes:
    return varint(field_number << 3) + varint(content)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
