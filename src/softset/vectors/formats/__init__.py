"""Readers of word-vector files: text, binary word2vec, arrays with a file of words, and model2vec folders."""

import os
from collections.abc import Callable
from pathlib import Path

from softset.errors import FileError, InputError
from softset.vectors.formats.arrays import read_npy, read_safetensors
from softset.vectors.formats.binary import read_binary
from softset.vectors.formats.checks import VectorStream
from softset.vectors.formats.detection import HEAD_BYTES, check_not_pickle, detect_format
from softset.vectors.formats.model2vec import read_model2vec
from softset.vectors.formats.streams import FileStream, open_stream
from softset.vectors.formats.text import read_text

__all__ = ["FORMATS", "VectorStream", "read_vectors"]

ARRAY_READERS: dict[str, Callable[..., VectorStream]] = {"npy": read_npy, "safetensors": read_safetensors}
STREAM_READERS: dict[str, Callable[..., VectorStream]] = {"text": read_text, "word2vec-binary": read_binary}
FORMATS = tuple(sorted([*ARRAY_READERS, *STREAM_READERS, "model2vec"]))


def read_vectors(
    path: str | os.PathLike[str],
    *,
    words: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 (the conventional name)
    member: str | None = None,
    skip_bad: bool = False,
) -> VectorStream:
    """Read words and vectors block by block from a file in any known format, plain or in a .gz or .zip archive.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "glove.txt")
    ...     _ = path.write_text("red 1 0.5\\nnew york 0 2\\n")
    ...     stream = read_vectors(path)
    ...     stream.format, stream.dimensions, [(words, rows.tolist()) for words, rows in stream.blocks]
    ('text', 2, [(['red', 'new york'], [[1.0, 0.5], [0.0, 2.0]])])

    Args:
        path: the file, or a model2vec folder.
        words: the file with the words of a .npy or .safetensors file, one per line. The default is a file of the same
            name that ends in .txt, .words or .vocab.
        format: one of `FORMATS`, if the content does not show it.
        member: the file of an archive to read, if the archive holds several.
        skip_bad: skip invalid rows and count them in `VectorStream.skipped`, instead of raising an error.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"the format {format!r} is not known: use {', '.join(FORMATS)}")
    if Path(path).is_dir():
        if format not in (None, "model2vec"):
            raise FileError(f"{os.fspath(path)} is a folder, but the format {format} is a file; omit format (--format)")
        _check_words_option("model2vec", words)
        return read_model2vec(Path(path), skip_bad=skip_bad)
    stream = open_stream(path, member)
    try:
        return _read_file(stream, path, words, format, skip_bad=skip_bad)
    except BaseException:
        stream.close()
        raise


def _read_file(
    stream: FileStream,
    path: str | os.PathLike[str],
    words: str | os.PathLike[str] | None,
    format_option: str | None,
    *,
    skip_bad: bool,
) -> VectorStream:
    head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
    check_not_pickle(stream.name, head)
    kind = format_option or detect_format(stream.name, head)
    if kind == "model2vec":
        raise FileError(f"{stream.name} is a file, but the format model2vec is a folder; omit format (--format)")
    _check_words_option(kind, words)
    if kind in STREAM_READERS:
        return STREAM_READERS[kind](stream, skip_bad=skip_bad)
    if stream.compressed_size is not None:
        raise FileError(f"{stream.name} is an archive with a {kind} file; extract it first, and read the {kind} file")
    stream.close()
    return ARRAY_READERS[kind](Path(path), words, skip_bad=skip_bad)


def _check_words_option(kind: str, words: str | os.PathLike[str] | None) -> None:
    if words is not None and kind not in ARRAY_READERS:
        raise InputError(f"words (--words) was given, but {kind} vectors contain their words: omit it")
