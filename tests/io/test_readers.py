"""Readers of JSON files and arrays: limits, and files that change while they are read."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reliability.checks.sample_files import SampleFile, write_samples

from softset.errors import FileError, SoftsetError
from softset.io import arrays, json_files


def test_large_json_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}')
    assert json_files.read_json(path) == {"a": 1}
    monkeypatch.setattr(json_files, "MAX_BYTES", 7)
    with pytest.raises(FileError, match=r"^[^\n]*a\.json is larger than 7 bytes, the limit for such a file$"):
        json_files.read_json(path)


@pytest.mark.parametrize("mapped", [True, False])
def test_a_header_cannot_claim_more_numbers_than_the_file_has(mapped: bool, tmp_path: Path) -> None:
    """NumPy would allocate the array before it reads it."""
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 64)
    with pytest.raises(FileError, match="is not a complete NumPy file"):
        arrays.read_array(path, mapped=mapped)


def test_a_safetensors_file_that_is_replaced_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.safetensors"
    arrays.write_tensors(path, "Notes", {"a": np.zeros((3, 2))}, {})
    map_file = np.memmap

    def replace_and_map(file: Path, **options: str) -> np.memmap:
        file.write_bytes(b"\x08" + b"\0" * 7 + b'{"a": 1}')
        return map_file(file, **options)

    monkeypatch.setattr(np, "memmap", replace_and_map)
    with pytest.raises(FileError, match=r"^[^\n]*is not a complete safetensors file[^\n]*$"):
        arrays.read_tensors(path, "Notes")


class Growth:
    """A replacement of `open` that appends bytes to a file just before it is opened for the nth time."""

    def __init__(self) -> None:
        self.open, self.file, self.count = io.open, None, 0

    def start(self, file: Path, opening: int, addition: bytes) -> None:
        self.file, self.opening, self.addition, self.count = file, opening, addition, 0

    def __call__(self, file: Any, *arguments: Any, **options: Any) -> Any:
        if self.file is not None and str(file) == str(self.file):
            self.count += 1
            if self.count == self.opening:
                with self.open(file, "ab") as stream:
                    stream.write(self.addition)
        return self.open(file, *arguments, **options)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[SampleFile]:
    return write_samples(tmp_path_factory.mktemp("samples"))


def growths(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield what a file has at first, and what is appended."""
    half = len(content) // 2
    yield from [(content, b"\0" * 999), (content, content), (content[:half], content[half:]), (b"", content)]


def test_files_that_grow_while_they_are_read(samples: list[SampleFile], monkeypatch: pytest.MonkeyPatch) -> None:
    growth, messages = Growth(), []
    monkeypatch.setattr("builtins.open", growth)
    monkeypatch.setattr("io.open", growth)
    for sample in samples:
        for file in sample.files:
            content = file.read_bytes()
            for beginning, addition in growths(content):
                opening = 0
                while opening < 1 or opening < growth.count:
                    opening += 1
                    file.write_bytes(beginning)
                    growth.start(file, opening, addition)
                    try:
                        sample.read()
                    except SoftsetError as error:
                        messages.append(str(error))
                    finally:
                        growth.file = None
                        for extra in file.parent.glob("cache.sqlite*"):
                            extra.unlink()
                        file.write_bytes(content)
    assert messages and not any("\n" in message for message in messages)
