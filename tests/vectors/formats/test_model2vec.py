"""model2vec folders."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softset.errors import FileError
from softset.vectors.formats.model2vec import embedding_table
from tests.vectors.formats.files import added_token, model2vec, read

VOCAB = {"[PAD]": 0, "[UNK]": 1, "red": 2, "##d": 3, "blue": 4, "<x>": 5, "[unused1]": 6, "Ġ": 7}
ROWS = np.arange(16, dtype="<f4").reshape(8, 2)
TABLE = {"embeddings": ("F32", [8, 2], ROWS.tobytes())}
ADDED = [added_token(5, "<x>", special=True), added_token(4, "blue", special=False)]


def test_wordpiece_vocabulary(tmp_path: Path) -> None:
    words, rows, stream = read(model2vec(tmp_path / "model", VOCAB, TABLE, added_tokens=ADDED))
    assert (stream.format, stream.dimensions, stream.rows) == ("model2vec", 2, 3)
    assert words == ["red", "blue", "Ġ"] and np.array_equal(rows, ROWS[[2, 4, 7]])


@pytest.mark.parametrize("mark", ["▁", "Ġ"])
def test_word_start_marks_are_removed(mark: str, tmp_path: Path) -> None:
    vocab = [
        [f"{mark}red", -1.0],
        ["<s>", 0],
        ["red", -2.0],
        [mark, -3.0],
        ["ed", -4.0],
        [f"{mark}ed", 0],
        ["!", 1],
        ["</s>", 0],
    ]
    folder = model2vec(tmp_path / "model", vocab, TABLE, model={"type": "Unigram"})
    words, rows, _ = read(folder)
    assert words == ["red", "ed", "!"] and np.array_equal(rows, ROWS[[0, 5, 6]])


def test_byte_level_tokens_are_decoded(tmp_path: Path) -> None:
    vocab = {"ĠcafÃ©": 0, "Ã": 1, "<|endoftext|>": 2, "Ġ": 3, "Ċ": 4, "東": 5}
    decoder = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    folder = model2vec(tmp_path / "model", vocab, TABLE, model={"type": "BPE", "merges": []}, decoder=decoder)
    assert read(folder)[0] == ["café", "東"]


def test_weights_and_mapping(tmp_path: Path) -> None:
    weights = struct.pack("<8d", *range(8))
    mapping = struct.pack("<8q", *reversed(range(8)))
    tensors = TABLE | {"weights": ("F64", [8], weights), "mapping": ("I64", [8], mapping), "other": ("U8", [1], b"x")}
    words, rows, _ = read(model2vec(tmp_path / "model", VOCAB, tensors))
    assert words == ["red", "blue", "<x>", "Ġ"]
    assert np.array_equal(rows, [ROWS[5] * 2, ROWS[3] * 4, ROWS[2] * 5, ROWS[0] * 7])


def test_many_tokens_are_read_in_blocks(tmp_path: Path) -> None:
    table = np.arange(10_000, dtype="<f4")[:, None]
    vocab = {f"w{i}": 9_999 - i for i in range(10_000)}
    words, rows, _ = read(model2vec(tmp_path / "model", vocab, {"embeddings": ("F32", [10_000, 1], table.tobytes())}))
    assert words[0] == "w9999" and words[-1] == "w0" and np.array_equal(rows, table)


@pytest.mark.parametrize(
    ("vocab", "tensors", "sentence"),
    [
        (VOCAB, {"embedding": TABLE["embeddings"]}, "has no tensor 'embeddings' of real numbers with two axes"),
        (VOCAB, {"embeddings": ("F32", [16], ROWS.tobytes())}, "has no tensor 'embeddings'"),
        (VOCAB | {"x": 8}, TABLE, "has 8 rows, but its tokenizer needs row 8"),
        (
            VOCAB,
            TABLE | {"weights": ("F32", [1], b"\0" * 4)},
            r"'weights' of shape \(1,\), but one number for each of 8",
        ),
        (VOCAB, TABLE | {"mapping": ("F32", [8], b"\0" * 32)}, "a tensor 'mapping'"),
        (VOCAB, TABLE | {"mapping": ("I8", [8], b"\xff" * 8)}, "but its tokenizer needs row -1"),
        ({"[PAD]": 0}, TABLE, "has no token that is a word"),
        ({"a": 1.5}, TABLE, "is not a valid tokenizer"),
        ([[]], TABLE, "is not a valid tokenizer"),
        (None, TABLE, "is not a valid tokenizer"),
    ],
)
def test_invalid_models(vocab: Any, tensors: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=sentence) as caught:
        read(model2vec(tmp_path / "model", vocab, tensors))
    assert str(tmp_path / "model") in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"model": []}', b"\xff", b"[" * 100_000])
def test_invalid_tokenizers(content: bytes, tmp_path: Path) -> None:
    folder = model2vec(tmp_path / "model", VOCAB, TABLE)
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(FileError, match=r"tokenizer\.json is not a valid tokenizer"):
        read(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_folder_without_a_required_file(name: str, tmp_path: Path) -> None:
    folder = model2vec(tmp_path / "model", VOCAB, TABLE)
    (folder / name).unlink()
    with pytest.raises(FileError, match=f"has no {name}, so it is not a model2vec folder"):
        read(folder)


def test_invalid_rows_are_reported_or_skipped(tmp_path: Path) -> None:
    table = ROWS.copy()
    table[4, 1] = np.inf
    tensors = {"embeddings": ("F32", [8, 2], table.tobytes()), "weights": ("F32", [8], b"\0" * 32)}
    folder = model2vec(tmp_path / "model", VOCAB, tensors, added_tokens=ADDED)
    with pytest.raises(FileError, match="token 4 has a number that is not finite in float32, for the word 'blue'"):
        read(folder)
    words, _, stream = read(folder, skip_bad=True)
    assert words == ["red", "Ġ"] and stream.skipped == {"not finite": 1}


def test_size_limit_of_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softset.io.json_files.MAX_BYTES", 10)
    with pytest.raises(FileError, match="is larger than 10 bytes, the limit for such a file"):
        read(model2vec(tmp_path / "model", VOCAB, TABLE))


def test_tokens_that_share_a_row_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A table with one row of 60,000 numbers would become a table of 120 GB."""
    tensors = {
        "embeddings": ("F16", [1, 60_000], b"\0" * 120_000),
        "mapping": ("U8", [500_000], b"\0" * 500_000),
    }
    folder = model2vec(tmp_path / "model", VOCAB | {"last": 499_999}, tensors)
    with pytest.raises(FileError, match=r"bytes but expands to 120,000,000,000 or more"):
        embedding_table(folder, 500_000)
    assert read(folder)[0][-1] == "last"  # only the rows of words


def test_a_large_token_id_does_not_fill_the_memory(tmp_path: Path) -> None:
    """The tokenizer is small, but its size, the largest id plus 1, is not."""
    model2vec(tmp_path / "model", VOCAB, TABLE)
    with pytest.raises(FileError, match="has 8 rows, but its tokenizer needs row 999,999,999,999"):
        embedding_table(tmp_path / "model", 10**12)
