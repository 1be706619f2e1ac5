"""Vectors in .gz and .zip files."""

import io
import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from softset.io import compressed
from softset.io.compressed import FileStream
from softset.vectors.formats import read_vectors
from tests.vectors.formats.files import ROWS, WORDS, binary, gz, read, text, zipped

DOCUMENTATION = {"a/README.md": b"# 1 2", "a/LICENSE": b"MIT", "a/.x": b"", "__MACOSX/._b.txt": b"", "a/": b""}
CONTENTS = {"text": text(), "word2vec-binary": binary()}


def archives(content: bytes) -> dict[str, bytes]:
    return {
        "gz": gz(content),
        "gz in two parts": gz(content[:50]) + gz(content[50:]),
        "zip": zipped({"a/b.txt": content}),
        "stored zip": zipped({"b.txt": content, **DOCUMENTATION}, zipfile.ZIP_STORED),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("packing", archives(b"x" * 60))
def test_vectors_in_archives(kind: str, packing: str, path: Path) -> None:
    path.write_bytes(archives(CONTENTS[kind])[packing])
    words, rows, stream = read(path)
    assert stream.format == kind and words == WORDS and np.array_equal(rows, ROWS)


@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "C:\\evil.txt", "a\nb"])
def test_member_names_are_never_used_as_paths(name: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "vectors"
    path.parent.mkdir(parents=True)
    path.write_bytes(zipped({name: text()}))
    assert read(path)[0] == WORDS
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_disk_errors_are_not_reported_as_damaged_files() -> None:
    class Disk(io.BytesIO):
        def read(self, _: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        FileStream("vectors", Disk(), None, ExitStack()).read(1)


def test_member_option_selects_a_file(path: Path) -> None:
    path.write_bytes(zipped({"glove/a.txt": b"red 1 2\n", "glove/b.txt": b"blue 3 4\n"}))
    for name in ("b.txt", "glove/b.txt"):
        (words, rows), *_ = read_vectors(path, member=name).blocks
        assert words == ["blue"] and rows.tolist() == [[3, 4]]
    with pytest.raises(FileError, match=r"but exactly one file named '\.\./b\.txt' was expected: .*--member"):
        read_vectors(path, member="../b.txt")


def test_archive_with_several_files_or_none(path: Path) -> None:
    path.write_bytes(zipped({"glove.50d.txt": text(), "glove.100d.txt": text()}))
    with pytest.raises(FileError, match=r"2 files \('glove.50d.txt', 'glove.100d.txt'\), but exactly one file of vect"):
        read(path)
    path.write_bytes(zipped({f"{i}.txt": text() for i in range(7)}))
    with pytest.raises(FileError, match=r"holds 7 files \('0.txt', .*, '4.txt', \.\.\.\)"):
        read(path)
    path.write_bytes(zipped(DOCUMENTATION))
    with pytest.raises(FileError, match=r"holds 0 files \(none\), but exactly one file of vectors was expected"):
        read(path)


@pytest.mark.parametrize("packing", ["gz", "zip", "stored zip"])
def test_every_truncation_is_noticed(packing: str, path: Path) -> None:
    whole = archives(text())[packing]
    for size in range(2, len(whole), 17):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError):
            read(path)


def test_messages_about_damaged_archives(path: Path) -> None:
    for content in (gz(text())[:-4], gz(text())[:40], zipped({"a": text()})[:-30], gz(text()) + b"more"):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"vectors is a truncated or damaged archive \(.*\): download it again"):
            read(path)


def test_a_flipped_byte_fails_the_checksum(path: Path) -> None:
    whole = bytearray(zipped({"a": text()}, zipfile.ZIP_STORED))
    whole[whole.index(b"0.5")] = ord("1")
    path.write_bytes(whole)
    with pytest.raises(FileError, match="CRC"):
        read(path)


@pytest.mark.parametrize("position", [-6, -5, -4])
def test_zip_directory_with_a_wrong_offset(position: int, path: Path) -> None:
    """The last bytes of a zip archive hold the offset of its directory."""
    whole = bytearray(zipped({"a": text()}))
    whole[position] ^= 0x7F
    path.write_bytes(whole)
    with pytest.raises(FileError, match="is a truncated or damaged archive"):
        read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(method: int, path: Path) -> None:
    path.write_bytes(zipped({"a": text()}, method))
    with pytest.raises(FileError, match="one not compressed by deflate: extract it first"):
        read(path)


def test_archives_that_must_be_extracted_first(path: Path) -> None:
    path.write_bytes(zipped({"a.gz": gz(text())}))
    with pytest.raises(FileError, match="has an unknown format"):
        read(path)
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("vectors.txt")
        info.size = len(text())
        archive.addfile(info, io.BytesIO(text()))
    with pytest.raises(FileError, match="is a tar archive: extract it first"):
        read(path)


def test_a_small_archive_does_not_expand_to_gigabytes(path: Path) -> None:
    """One megabyte of gzip can hold a gigabyte."""
    path.write_bytes(gz(b"a 1 2\n") + gz((b" " * 99_999 + b"\n") * 160) * 64)
    with pytest.raises(FileError, match=r"expands to 2\d\d,\d{3},\d{3} or more"):
        list(read_vectors(path, skip_bad=True).blocks)


@pytest.mark.parametrize("pack", [gz, lambda content: zipped({"a": content})])
def test_decompression_bombs(pack, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(pack(b"a 1 2\n" + (b" " * 99 + b"\n") * 30_000))
    assert read(path)[0] == ["a"]
    monkeypatch.setattr(compressed, "RATIO_FREE_BYTES", 2_500_000)
    monkeypatch.setattr(compressed, "MAX_RATIO", 100)
    with pytest.raises(FileError, match=r"expands to .* or more, which no file of texts or vectors does"):
        read(path)
    monkeypatch.setattr(compressed, "MAX_RATIO", 1_000_000)
    assert read(path)[0] == ["a"]
    monkeypatch.setattr(compressed, "MAX_CONTENT_BYTES", 2_000_000)
    with pytest.raises(FileError, match="expands to"):
        read(path)


def test_plain_files_have_no_size_limit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "MAX_CONTENT_BYTES", 10)
    path.write_bytes(text())
    assert read(path)[0] == WORDS


def test_files_are_closed_when_a_stream_is_deleted(path: Path) -> None:
    """An unclosed file causes a ResourceWarning, which pytest turns into an error."""
    for content in (text(), *archives(text()).values()):
        path.write_bytes(content)
        unread = read_vectors(path)
        del unread
        started = read_vectors(path)
        next(started.blocks)
        del started
