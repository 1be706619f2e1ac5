"""Readers of word-vector files: text, binary word2vec, arrays with a file of words, and model2vec folders."""

import os
import re
from codecs import getincrementaldecoder
from pathlib import Path

from softset.errors import FileError, InputError
from softset.io.compressed import open_stream
from softset.vectors.formats.arrays import is_safetensors, read_npy, read_safetensors
from softset.vectors.formats.binary import read_binary
from softset.vectors.formats.checks import VectorStream
from softset.vectors.formats.model2vec import read_model2vec
from softset.vectors.formats.text import parse_header, read_text

__all__ = ["FORMATS", "VectorStream", "read_vectors"]

ARRAY_READERS = {"npy": read_npy, "safetensors": read_safetensors}
STREAM_READERS = {"text": read_text, "word2vec-binary": read_binary}
FORMATS = tuple(sorted([*ARRAY_READERS, *STREAM_READERS, "model2vec"]))
HEAD_BYTES = 1 << 16  # the beginning of a file, from which its format is detected
NUMBER_BYTES = b"0123456789+-.eE \t\r\n"
CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\r\n"))


def read_vectors(
    path: str | os.PathLike[str],
    *,
    words: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 (the conventional name)
    member: str | None = None,
    skip_bad: bool = False,
) -> VectorStream:
    """Read words and vectors block by block from a file in any known format, plain or in a .gz or .zip archive.

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
    if format == "model2vec" or (format is None and Path(path).is_dir()):
        _check_words_option("model2vec", words)
        return read_model2vec(Path(path), skip_bad=skip_bad)
    stream = open_stream(path, member)
    try:
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        _check_not_pickle(stream.name, head)
        kind = format or _detect_format(stream.name, head)
        if kind in STREAM_READERS:
            _check_words_option(kind, words)
            return STREAM_READERS[kind](stream, skip_bad=skip_bad)
    except BaseException:
        stream.close()
        raise
    stream.close()
    if stream.compressed_size is not None:
        raise FileError(f"{stream.name} is an archive with a {kind} file: extract it first, and read that file")
    return ARRAY_READERS[kind](Path(path), words, skip_bad=skip_bad)


def _check_words_option(kind: str, words: str | os.PathLike[str] | None) -> None:
    if words is not None:
        raise InputError(f"words (--words) was given, but {kind} vectors contain their words: omit it")


def _check_not_pickle(name: str, head: bytes) -> None:
    """Raise FileError for a Python pickle; a safetensors file may begin with the same two bytes."""
    if re.match(rb"\x80[\x02-\x05]", head) and not is_safetensors(head):
        raise FileError(
            f"{name} is a Python pickle, and softset never loads pickles because they can run code: convert it in "
            'Python with KeyedVectors.load(path).save_word2vec_format("vectors.bin", binary=True)'
        )


def _detect_format(name: str, head: bytes) -> str:
    """Return the format of a file that begins with the given bytes."""
    if not head.strip():
        raise FileError(f"{name} is empty, but a file of words and vectors was expected")
    if is_safetensors(head):
        return "safetensors"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head[257:262] == b"ustar":
        raise FileError(f"{name} is a tar archive: extract it first, and read the file of vectors")
    line, _, rows = head.partition(b"\n")
    if parse_header(line) and not _is_text(rows):
        return "word2vec-binary"
    if _is_text(head):
        return "text"
    if head.startswith(b"\xba\x16\x4f\x2f"):
        raise FileError(f"{name} is a fastText model, which cannot be read: use the .vec file that comes with it")
    raise FileError(
        f"{name} has an unknown format; supported are text (GloVe, word2vec, fastText .vec), binary word2vec, .npy, "
        ".safetensors and model2vec folders (set the format with format= or --format)"
    )


def _is_text(sample: bytes) -> bool:
    """Return whether a sample is text and not float32 data.

    At least half of the bytes of a text file belong to numbers; of random float32 data, at most a third look like it.
    Short vectors of long words have fewer digits, so valid UTF-8 without control characters is text as well.
    """
    if 2 * len(sample.translate(None, NUMBER_BYTES)) <= len(sample):
        return True
    try:
        getincrementaldecoder("utf-8")().decode(sample)  # the sample may end inside a character
    except UnicodeDecodeError:
        return False
    return len(sample.translate(None, CONTROL_BYTES)) == len(sample)
