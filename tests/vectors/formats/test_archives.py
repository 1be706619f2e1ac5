"""The one file of vectors inside an archive."""

import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from softset.vectors.formats import read_vectors
from softset.vectors.formats import source as limits
from softset.vectors.formats.opening import open_stream
from softset.vectors.formats.stream import Stream
from softset.vectors.formats.tar import Part
from tests.vectors.formats.files import ROWS, WORDS, binary, gz, read, tarred, text, wink, zipped

PAPERS = {"package/package.json": b"{}", "package/README.md": b"# 1 2", "package/LICENSE": b"MIT", "package/.x": b""}
CONTENTS = {"text": text(), "word2vec-binary": binary(), "wink-json": wink()}


def archives(content: bytes) -> dict[str, bytes]:
    npm = {"package/index.d.ts": b"x", "package/vectors.json": content, **PAPERS}
    return {
        "gz": gz(content),
        "gz in two parts": gz(content[:50]) + gz(content[50:]),
        "zip": zipped({"a/b.txt": content}),
        "stored zip": zipped({"b.txt": content, "__MACOSX/._b.txt": b"", "a/": b""}, zipfile.ZIP_STORED),
        "npm's tgz": tarred(npm),
        "tar": tarred(npm, "w:"),
        "old tar": tarred(npm, "w:", tarfile.GNU_FORMAT),
        "long names": tarred({"x" * 150 + "/" + "y" * 150: content}, "w:gz"),
    }


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("packing", archives(b"x" * 60))
def test_the_content_is_found(kind: str, packing: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(archives(CONTENTS[kind])[packing])
    words, rows, source = read(path)
    assert source.format == kind and words == WORDS and np.array_equal(rows, ROWS)


@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "C:\\evil.txt", "a\nb"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_names_inside_are_only_names(name: str, pack, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "vectors"
    path.parent.mkdir(parents=True)
    path.write_bytes(pack({name: text()}))
    assert read(path)[0] == WORDS
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_a_size_in_binary(tmp_path: Path) -> None:
    """So GNU tar writes the size of a file beyond 8 GiB; the sum of the header's bytes must be right again."""
    path = tmp_path / "vectors"
    whole = bytearray(tarred({"a.txt": text()}, "w:", tarfile.GNU_FORMAT))
    whole[124:136] = b"\x80" + len(text()).to_bytes(11, "big")
    whole[148:156] = b" " * 8
    whole[148:156] = b"%06o\0 " % sum(whole[:512])
    path.write_bytes(whole)
    assert read(path)[0] == WORDS


def test_a_file_that_shrinks_between_two_looks(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(b"abc")
    part = Part(open_stream(path), 5)
    assert part.read(9) == b"abc"
    with pytest.raises(EOFError, match="2 bytes are missing at the end"):
        part.read(9)


def test_the_fault_of_a_disk_is_not_that_of_a_file() -> None:
    class Disk:
        def read(self, _: int, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        Stream("vectors", Disk(), packed=None, resources=ExitStack()).read(1)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_one_of_several_files_by_name(pack, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(pack({"glove/a.txt": b"red 1 2\n", "glove/b.txt": b"blue 3 4\n"}))
    for name in ("b.txt", "glove/b.txt"):
        (words, rows), *_ = read_vectors(path, member=name).blocks
        assert words == ["blue"] and rows.tolist() == [[3, 4]]
    with pytest.raises(FileError, match=r"but none or several of them called '\.\./b\.txt'; name the one.*--member"):
        read_vectors(path, member="../b.txt")


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_two_files_are_one_too_many(pack, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(pack({"glove.50d.txt": text(), "glove.100d.txt": text()}))
    with pytest.raises(
        FileError, match=r"holds 2 files \('glove.50d.txt', 'glove.100d.txt'\), but one file of vectors"
    ):
        read(path)
    path.write_bytes(pack({f"{i}.txt": text() for i in range(7)}))
    with pytest.raises(FileError, match=r"holds 7 files \('0.txt', .*, '4.txt', \.\.\.\)"):
        read(path)
    path.write_bytes(pack(PAPERS))
    with pytest.raises(FileError, match="holds no file, but one file of vectors was wanted"):
        read(path)


def test_links_are_no_files(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    with tarfile.open(path, "w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo("link.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    with pytest.raises(FileError, match="holds no file"):
        read(path)


@pytest.mark.parametrize("packing", ["gz", "zip", "stored zip", "npm's tgz", "tar"])
def test_every_cut_is_noticed(packing: str, tmp_path: Path) -> None:
    whole = archives(text())[packing]
    path = tmp_path / "vectors"
    # A tar archive ends with blocks of zeros that nobody needs.
    end = len(whole.rstrip(b"\0")) if packing == "tar" else len(whole)
    for size in range(2, end, 17):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError):
            read(path)


def test_sentences_of_broken_archives(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    for content in (gz(text())[:-4], gz(text())[:40], zipped({"a": text()})[:-30], gz(text()) + b"more"):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"vectors is a truncated or broken archive \(.*\); fetch it again"):
            read(path)
    whole = tarred({"a.txt": text()}, "w:")
    for content, sentence in ((whole[:600], "archive|ends inside"), (b"x" + whole[1:], "is a broken tar archive")):
        path.write_bytes(content)
        with pytest.raises(FileError, match=sentence):
            read(path)


def test_a_flipped_byte_fails_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    whole = bytearray(zipped({"a": text()}, zipfile.ZIP_STORED))
    at = whole.index(b"0.5")
    whole[at] = ord("1")
    path.write_bytes(whole)
    with pytest.raises(FileError, match="CRC"):
        read(path)


@pytest.mark.parametrize("at", [-6, -5, -4])
def test_a_zip_directory_that_points_astray(at: int, tmp_path: Path) -> None:
    """The last bytes of a zip archive say where its directory begins."""
    path = tmp_path / "vectors"
    whole = bytearray(zipped({"a": text()}))
    whole[at] ^= 0x7F
    path.write_bytes(whole)
    with pytest.raises(FileError, match="is a truncated or broken archive"):
        read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(method: int, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(zipped({"a": text()}, method))
    with pytest.raises(FileError, match="in a compression other than deflate; unpack it yourself"):
        read(path)


def test_an_archive_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    for inner in (gz(text()), zipped({"a": text()})):
        path.write_bytes(zipped({"a.gz": inner}))
        with pytest.raises(FileError, match="is an archive inside an archive"):
            read(path)


@pytest.mark.parametrize("pack", [gz, lambda content: zipped({"a": content}), lambda content: tarred({"a": content})])
def test_bombs(pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(pack(b"a 1 2\n" + (b" " * 99 + b"\n") * 30_000))
    assert read(path)[0] == ["a"]
    monkeypatch.setattr(limits, "RATIO_FREE_BYTES", 2_500_000)
    monkeypatch.setattr(limits, "MAX_RATIO", 100)
    with pytest.raises(FileError, match=r"unpacks to more than .* as no file of vectors does"):
        read(path)
    monkeypatch.setattr(limits, "MAX_RATIO", 1_000_000)
    assert read(path)[0] == ["a"]
    monkeypatch.setattr(limits, "MAX_CONTENT_BYTES", 2_000_000)
    with pytest.raises(FileError, match=r"unpacks to more than|but at most 2,000,000 can be read"):
        read(path)


def test_a_plain_file_has_no_limit_of_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CONTENT_BYTES", 10)
    path = tmp_path / "vectors"
    path.write_bytes(text())
    assert read(path)[0] == WORDS


def test_files_are_closed_when_a_source_is_dropped(tmp_path: Path) -> None:
    """A file left open would be a ResourceWarning, which is an error here."""
    path = tmp_path / "vectors"
    for content in (text(), *archives(text()).values()):
        path.write_bytes(content)
        unread = read_vectors(path)
        del unread
        begun = read_vectors(path)
        next(begun.blocks)
        del begun
