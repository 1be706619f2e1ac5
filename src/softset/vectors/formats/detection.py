"""Detection of a file's format from its first bytes."""

import re
from codecs import getincrementaldecoder

from softset.errors import FileError
from softset.vectors.formats.streams import GZIP_MAGIC, ZIP_MAGICS

__all__ = ["HEAD_BYTES", "check_not_pickle", "detect_format"]

HEAD_BYTES = 1 << 16
HEADER = re.compile(rb"[0-9]{1,18} [0-9]{1,18}\s*?\n")
FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
NUMBER_BYTES = b"0123456789+-.eE \t\r\n"
CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\r\n"))
MAX_SAFETENSORS_HEADER = 100_000_000  # the limit of the safetensors library


def detect_format(name: str, head: bytes) -> str:
    """Return the format of a file that begins with the given bytes."""
    check_not_pickle(name, head)
    if not head.strip():
        raise FileError(f"{name} is empty, but a file of words and vectors was expected")
    if _is_safetensors(head):
        return "safetensors"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head[257:262] == b"ustar":
        raise FileError(f"{name} is a tar archive; extract it first, and read the file of vectors")
    header = HEADER.match(head)
    if header and not _is_text(head[header.end() :]):
        return "word2vec-binary"
    if _is_text(head):
        return "text"
    raise FileError(f"{name} {_describe_unknown(head)}")


def check_not_pickle(name: str, head: bytes) -> None:
    """Raise FileError for a Python pickle; a safetensors file may begin with the same two bytes."""
    if re.match(rb"\x80[\x02-\x05]", head) and not _is_safetensors(head):
        raise FileError(
            f"{name} is a Python pickle, and softset never loads pickles because they can run code; convert it in "
            'Python with KeyedVectors.load(path).save_word2vec_format("vectors.bin", binary=True)'
        )


def _is_safetensors(head: bytes) -> bool:
    """Return whether a file begins with the length of a JSON header and its first brace."""
    return head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= MAX_SAFETENSORS_HEADER


def _is_text(sample: bytes) -> bool:
    """Return whether a sample is text and not float32 data.

    At least half of the bytes of a text file belong to numbers; of random float32 data, at most a third look like it.
    Short vectors of long words have fewer digits, so valid UTF-8 without control characters is text as well.
    """
    other_bytes = len(sample.translate(None, NUMBER_BYTES))
    if 2 * other_bytes <= len(sample):
        return True
    return len(sample.translate(None, CONTROL_BYTES)) == len(sample) and _is_utf8(sample)


def _is_utf8(sample: bytes) -> bool:
    try:
        getincrementaldecoder("utf-8")().decode(sample)  # the sample may end inside a character
    except UnicodeDecodeError:
        return False
    return True


def _describe_unknown(head: bytes) -> str:
    if head.startswith(FASTTEXT_MAGIC):
        return "is a fastText model, which cannot be read; use the .vec file that comes with it"
    if head.startswith((GZIP_MAGIC, *ZIP_MAGICS)):
        return "is an archive inside an archive; extract it first, and read the file of vectors"
    return (
        "has an unknown format; supported are text (GloVe, word2vec, fastText .vec), binary word2vec, .npy, "
        ".safetensors and model2vec folders (set the format with format= or --format)"
    )
