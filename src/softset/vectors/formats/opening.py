"""A file's bytes, whether it lies plain or as the one file of vectors inside a .gz, .zip, .tar or .tgz."""

import errno
import gzip
import os
import struct
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from softset.errors import FileError
from softset.vectors.formats import source as limits
from softset.vectors.formats.stream import Readable, Stream, broken_archive
from softset.vectors.formats.tar import Member, Part, is_tar, members

__all__ = ["GZIP_MAGIC", "ZIP_MAGICS", "open_stream"]

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
MAX_CANDIDATES = 1_000
PAPERS = {"acknowledgement", "changelog", "contributing", "copying", "license", "notice", "package", "readme"}
PAPER_SUFFIXES = {".css", ".htm", ".html", ".js", ".md", ".pdf", ".rst", ".ts"}


def open_stream(path: str | os.PathLike[str], member: str | None = None) -> Stream:
    """Open a file; of an archive, the member of this name, or the one that is neither hidden nor documentation."""
    with ExitStack() as opened:
        stream = _unpacked(path, member)
        opened.callback(stream.close)
        if is_tar(stream):
            wanted, _ = _only(stream.name, _files(stream), member)
            stream.close()
            stream = _tar_member(_unpacked(path, member), wanted)
        opened.pop_all()
    return stream


def _unpacked(path: str | os.PathLike[str], member: str | None) -> Stream:
    """Open a file as it lies, or through its compression."""
    name = os.fspath(path)
    with ExitStack() as opened:
        file = opened.enter_context(Path(path).open("rb"))
        magic = file.peek(4)[:4]
        inner: Readable = file
        packed: int | None = None
        if magic.startswith(GZIP_MAGIC):
            inner = opened.enter_context(gzip.GzipFile(fileobj=file))
            packed = os.fstat(file.fileno()).st_size
        elif magic in ZIP_MAGICS:
            inner, packed = _zip_member(name, file, member, opened)
        resources = opened.pop_all()
    return Stream(name, inner, packed=packed, resources=resources)


def _files(stream: Stream) -> Iterable[tuple[int, str]]:
    return ((i, member.name) for i, member in enumerate(members(stream)) if member.regular)


def _tar_member(stream: Stream, wanted: int) -> Stream:
    """Go forward to the member that a first walk has chosen."""
    with ExitStack() as opened:
        opened.callback(stream.close)
        member: Member = next(islice(members(stream), wanted, None))
        part = Part(stream, member.size)
        resources = opened.pop_all()
    return Stream(stream.name, part, packed=stream.packed or member.size, resources=resources)


def _zip_member(name: str, file: BinaryIO, member: str | None, opened: ExitStack) -> tuple[Readable, int]:
    """Return the one file of vectors in a zip archive, and its compressed size."""
    try:
        archive = opened.enter_context(zipfile.ZipFile(file))
        files = ((i, info.filename) for i, info in enumerate(archive.infolist()) if not info.filename.endswith("/"))
        wanted, title = _only(name, files, member)
        info = archive.infolist()[wanted]
        _check_zip_member(name, title, info)
        return opened.enter_context(archive.open(info)), info.compress_size
    except FileError:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise broken_archive(name, error) from error  # a directory that points to before the file
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, ValueError, struct.error) as error:
        raise broken_archive(name, error) from error


def _check_zip_member(name: str, title: str, info: zipfile.ZipInfo) -> None:
    # bz2 and lzma members are unpacked without a bound on what one read may give.
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(
            f"{name} holds {title[:100]!r} encrypted or in a compression other than deflate; unpack it yourself"
        )
    most = limits.MAX_CONTENT_BYTES
    if info.file_size > most:
        raise FileError(f"{name} holds {title[:100]!r} of {info.file_size:,} bytes, but at most {most:,} can be read")


def _only(name: str, files: Iterable[tuple[int, str]], member: str | None) -> tuple[int, str]:
    """Return the place and name of the file that is asked for, or of the one that may hold vectors."""
    candidates = list(islice(((i, title) for i, title in files if not _is_paper(title)), MAX_CANDIDATES))
    chosen = [one for one in candidates if member is None or member in (one[1], PurePosixPath(one[1]).name)]
    if len(chosen) == 1:
        return chosen[0]
    titles = ", ".join(repr(title[:100]) for _, title in candidates[:5]) + (", ..." if len(candidates) > 5 else "")
    found = f"{len(candidates)} files ({titles})" if candidates else "no file"
    asked = f"none or several of them called {member!r}" if member else "one file of vectors was wanted"
    raise FileError(f"{name} holds {found}, but {asked}; name the one to read with member (--member)")


def _is_paper(title: str) -> bool:
    """Tell whether a member is hidden or documentation, as are all but one in an npm package."""
    path = PurePosixPath(title)
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return hidden or path.stem.lower() in PAPERS or path.suffix.lower() in PAPER_SUFFIXES
