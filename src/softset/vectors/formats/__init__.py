"""Readers of word-vector files: text, binary word2vec, arrays with their words, model2vec folders, and wink's JSON."""

import os
from collections.abc import Callable
from pathlib import Path

from softset.errors import FileError, InputError
from softset.vectors.formats.arrays import from_gensim, read_npy, read_safetensors
from softset.vectors.formats.binary import read_binary
from softset.vectors.formats.model2vec import read_model2vec
from softset.vectors.formats.opening import open_stream
from softset.vectors.formats.recognise import HEAD_BYTES, recognised, refuse_pickle
from softset.vectors.formats.source import Source
from softset.vectors.formats.stream import Stream
from softset.vectors.formats.text import read_text
from softset.vectors.formats.wink import read_wink

__all__ = ["FORMATS", "Source", "from_gensim", "read_vectors"]

ARRAYS: dict[str, Callable[..., Source]] = {"npy": read_npy, "safetensors": read_safetensors}
STREAMS: dict[str, Callable[..., Source]] = {
    "text": read_text,
    "wink-json": read_wink,
    "word2vec-binary": read_binary,
}
FORMATS = tuple(sorted([*ARRAYS, *STREAMS, "model2vec"]))


def read_vectors(
    path: str | os.PathLike[str],
    *,
    words: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 (the word that users know)
    member: str | None = None,
    skip_bad: bool = False,
) -> Source:
    """Read a file of words and vectors in any known format, plain or in a .gz, .zip or .tgz, block by block.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "glove.txt")
    ...     _ = path.write_text("red 1 0.5\\nnew york 0 2\\n")
    ...     source = read_vectors(path)
    ...     source.format, source.dimensions, [(words, rows.tolist()) for words, rows in source.blocks]
    ('text', 2, [(['red', 'new york'], [[1.0, 0.5], [0.0, 2.0]])])

    Args:
        path: the file, or a model2vec folder.
        words: the file of the words, one a line, of a .npy or .safetensors file; without it, a file of the same name
            that ends in .txt, .words or .vocab.
        format: one of `FORMATS`, where the content does not tell.
        member: which file of an archive to read, where it holds several.
        skip_bad: leave out rows that are bad in themselves, and count them in `Source.skipped`.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    if Path(path).is_dir():
        _check_fit(path, format or "model2vec", ["model2vec"], "a folder")
        _check_words("model2vec", words)
        return read_model2vec(Path(path), skip_bad=skip_bad)
    stream = open_stream(path, member)
    try:
        return _read(stream, path, words, format, skip_bad=skip_bad)
    except BaseException:
        stream.close()
        raise


def _read(
    stream: Stream,
    path: str | os.PathLike[str],
    words: str | os.PathLike[str] | None,
    given: str | None,
    *,
    skip_bad: bool,
) -> Source:
    head = stream.peek(HEAD_BYTES)
    refuse_pickle(stream.name, head)
    kind = given or recognised(stream.name, head)
    _check_words(kind, words)
    if kind in STREAMS:
        return STREAMS[kind](stream, skip_bad=skip_bad)
    _check_fit(path, kind, list(ARRAYS), "a file")
    if stream.packed is not None:
        raise FileError(f"{stream.name} is an archive with a {kind} file, which is only read in place; unpack it")
    stream.close()
    return ARRAYS[kind](Path(path), words, skip_bad=skip_bad)


def _check_fit(path: str | os.PathLike[str], kind: str, fitting: list[str], what: str) -> None:
    if kind not in fitting:
        raise FileError(f"{os.fspath(path)} is {what}, which {kind} vectors are not; leave out format (--format)")


def _check_words(kind: str, words: str | os.PathLike[str] | None) -> None:
    if words is not None and kind not in ARRAYS:
        raise InputError(
            f"a file of words was given ({os.fspath(words)}), but {kind} vectors have their words with them; "
            "leave out words (--words)"
        )
