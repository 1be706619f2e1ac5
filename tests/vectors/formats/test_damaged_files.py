"""Damaged files: the reader returns finite rows or raises a deliberate error."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.errors import FileError, InputError
from tests.vectors.formats.files import (
    ROWS,
    WORDS,
    added_token,
    binary,
    gz,
    model2vec,
    npy_of,
    read,
    safetensors_of,
    text,
    zipped,
)

GOOD = {
    "text": text(),
    "header": text(header="10 3\n"),
    "binary": binary(),
    "npy": npy_of(),
    "safetensors": safetensors_of(),
    "gz": gz(text()),
    "zip": zipped({"a": text()}),
}

Damage = Callable[[bytes], bytes]


def _cut(place: float) -> Damage:
    return lambda content: content[: int(place * len(content))]


def _flip(place: float, byte: int) -> Damage:
    return lambda content: (
        content[: int(place * len(content))] + bytes([byte]) + content[int(place * len(content)) + 1 :]
    )


def _insert(place: float, more: bytes) -> Damage:
    return lambda content: content[: int(place * len(content))] + more + content[int(place * len(content)) :]


def _repeat(start: float, size: float) -> Damage:
    def damage(content: bytes) -> bytes:
        a, b = int(start * len(content)), int(min(start + size, 1) * len(content))
        return content[:b] + content[a:b] + content[b:]

    return damage


PLACE = st.floats(0, 1, exclude_max=True) | st.floats(0, 0.1) | st.floats(0.9, 1, exclude_max=True)
MARKS = st.sampled_from([b"\0", b" ", b"\n", b'"', b"\\", b"[", b"]", b"}", b",", b"-", b"_", b"9", b"nan", b"\xff"])
DAMAGE = st.lists(
    st.builds(_cut, PLACE)
    | st.builds(_flip, PLACE, st.integers(0, 255))
    | st.builds(_insert, PLACE, st.binary(max_size=20) | MARKS)
    | st.builds(_repeat, PLACE, st.floats(0, 0.5)),
    min_size=1,
    max_size=3,
)


def damaged(content: bytes, damages: list[Damage]) -> bytes:
    for damage in damages:
        content = damage(content)
    return content


def check(path: Path, *, skip_bad: bool) -> None:
    """Read to the end: `read` itself checks shapes and finiteness."""
    sentence, words, rows = "", [], np.zeros((0, 1))
    try:
        words, rows, _ = read(path, skip_bad=skip_bad)
    except (FileError, InputError) as error:
        sentence = str(error)
    assert "\n" not in sentence and len(sentence) < 700
    assert len(set(words)) == len(words) == len(rows) and all(words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "vectors.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", GOOD)
@given(damages=DAMAGE, skip_bad=st.booleans())
def test_damaged_files(kind: str, folder: Path, damages: list[Damage], skip_bad: bool) -> None:
    path = folder / "vectors.dat"
    path.write_bytes(damaged(GOOD[kind], damages))
    check(path, skip_bad=skip_bad)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
@given(damages=DAMAGE, skip_bad=st.booleans())
def test_damaged_folders(name: str, folder: Path, damages: list[Damage], skip_bad: bool) -> None:
    vocab = {"[PAD]": 0, **{word: i + 1 for i, word in enumerate(WORDS[1:])}}
    tensors = {
        "embeddings": ("F32", [10, 3], ROWS.tobytes()),
        "mapping": ("I64", [10], np.arange(10, dtype="<i8").tobytes()),
        "weights": ("F32", [10], np.ones(10, dtype="<f4").tobytes()),
    }
    path = model2vec(folder / "model", vocab, tensors, added_tokens=[added_token(0, "[PAD]", special=True)])
    (path / name).write_bytes(damaged((path / name).read_bytes(), damages))
    check(path, skip_bad=skip_bad)


@given(
    content=st.binary(max_size=300),
    head=st.sampled_from([b"", b"2 2\n", b'{"', b"\x93NUMPY\x01\x00", b"a 1\n", b"PK\x03\x04"]),
)
def test_any_bytes(folder: Path, head: bytes, content: bytes) -> None:
    path = folder / "vectors.dat"
    path.write_bytes(head + content)
    check(path, skip_bad=False)


@pytest.mark.parametrize("byte", b' \n"\\[{,1\0a')
@pytest.mark.parametrize("head", [b"", b"1 2\n", b"a 1\n"])
def test_long_runs_of_one_byte(head: bytes, byte: int, folder: Path) -> None:
    """Two megabytes of one byte, longer than any line may be, are read in linear time."""
    path = folder / "vectors.dat"
    path.write_bytes(head + bytes([byte]) * 2_100_000)
    check(path, skip_bad=True)


def test_long_words_do_not_accumulate_in_memory(folder: Path) -> None:
    """A small archive with many lines just under the limit: no block holds many of them."""
    path = folder / "vectors.dat"
    member = gz(b"a 1 0.5\n" + b"0" * 2**20)
    path.write_bytes(member * 400)
    tracemalloc.start()
    check(path, skip_bad=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
