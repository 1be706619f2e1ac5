"""Small files of every format, built byte by byte from the format descriptions."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from softset.vectors.formats import VectorStream, read_vectors

WORDS = ["the", "naïve", '"', "[", "vectors", "日本", "]}", "\\", "a,b", "'"]
ROWS = np.array([[i + 0.5, -0.25 * i, 1e-3 * (i + 1)] for i in range(len(WORDS))], dtype=np.float32)


def read(path: Path, **options: Any) -> tuple[list[str], np.ndarray, VectorStream]:
    """Return all words, all rows and the stream."""
    stream = read_vectors(path, **options)
    words: list[str] = []
    rows = [np.zeros((0, stream.dimensions), dtype=np.float32)]
    for block_words, block in stream.blocks:
        assert 0 < len(block_words) <= 4096 and block.shape == (len(block_words), stream.dimensions)
        assert block.dtype == np.float32 and np.isfinite(block).all()
        words += block_words
        rows.append(block)
    return words, np.concatenate(rows), stream


def text(words: Iterable[str] = WORDS, rows: Iterable[Iterable[float]] = ROWS, header: str = "") -> bytes:
    lines = [f"{word} {' '.join(repr(float(x)) for x in row)}\n" for word, row in zip(words, rows, strict=True)]
    return (header + "".join(lines)).encode()


def binary(words: list[str] = WORDS, rows: np.ndarray = ROWS, newline: bytes = b"") -> bytes:
    body = [
        w.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline for w, row in zip(words, rows, strict=True)
    ]
    return f"{len(words)} {len(rows[0])}\n".encode() + b"".join(body)


def npy(data: bytes, shape: str, dtype: str = "<f4", fortran: bool = False) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npy_of(rows: np.ndarray = ROWS) -> bytes:
    return npy(rows.astype("<f4").tobytes(), str(rows.shape))


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"origin": "test"}}
    offset = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + b"".join(data for _, _, data in tensors.values())


def safetensors_of(rows: np.ndarray = ROWS) -> bytes:
    return safetensors({"rows": ("F32", list(rows.shape), rows.astype("<f4").tobytes())})


def added_token(token_id: int, content: str, *, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token_id, "content": content, "special": special, **flags}


def model2vec(folder: Path, vocab: Any, tensors: dict[str, tuple[str, list[int], bytes]], **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    wordpiece = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    model = more.pop("model", {"type": "WordPiece", **wordpiece}) | {"vocab": vocab}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model, **more}), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(tensors))
    return folder


def gz(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
