"""Which format a file has, told from its first bytes."""

import re
from codecs import getincrementaldecoder

from softset.errors import FileError
from softset.vectors.formats.opening import GZIP_MAGIC, ZIP_MAGICS

__all__ = ["HEAD_BYTES", "recognised", "refuse_pickle"]

HEAD_BYTES = 1 << 16
JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*[\"}]")
HEADER = re.compile(rb"[0-9]{1,18} [0-9]{1,18}\s*?\n")
FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
NUMBER_BYTES = b"0123456789+-.eE \t\r\n"
CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\r\n"))
KNOWN = "text (GloVe, word2vec, fastText .vec), binary word2vec, .npy, .safetensors, a model2vec folder or wink's JSON"


def recognised(name: str, head: bytes) -> str:
    """Return the format of a file that begins with these bytes."""
    refuse_pickle(name, head)
    if not head.strip():
        raise FileError(f"{name} is empty, but a file of words and vectors was wanted")
    if is_safetensors(head):
        return "safetensors"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if JSON.match(head):
        return "wink-json"
    header = HEADER.match(head)
    if header and not _is_text(head[header.end() :]):
        return "word2vec-binary"
    if _is_text(head):
        return "text"
    raise FileError(f"{name} {_advice(head)}")


def refuse_pickle(name: str, head: bytes) -> None:
    """Refuse what Python's pickle wrote; a safetensors file may begin with the same two bytes."""
    if re.match(rb"\x80[\x02-\x05]", head) and not is_safetensors(head):
        raise pickle_error(name)


def pickle_error(name: str) -> FileError:
    """Return the error for a file that only unpickling could read."""
    return FileError(
        f"{name} is a Python pickle, and pickles are never loaded because they can run code; convert it in Python with "
        'KeyedVectors.load(path).save_word2vec_format("vectors.bin", binary=True)'
    )


def is_safetensors(head: bytes) -> bool:
    """Tell whether a file begins with the length of a header and the header's first brace."""
    return head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 100_000_000


def _is_text(sample: bytes) -> bool:
    """Tell text from float32: by half of its bytes, or else by all of them.

    Of the bytes of floats at most a third can be read as parts of numbers, unless somebody has meant them to. Short
    vectors of long words have few numbers, but no control characters either.
    """
    others = len(sample.translate(None, NUMBER_BYTES))
    if 2 * others <= len(sample):
        return True
    return len(sample.translate(None, CONTROL_BYTES)) == len(sample) and _is_utf8(sample)


def _is_utf8(sample: bytes) -> bool:
    try:
        getincrementaldecoder("utf-8")().decode(sample)  # the sample may end inside a character
    except UnicodeDecodeError:
        return False
    return True


def _advice(head: bytes) -> str:
    if head.startswith(FASTTEXT_MAGIC):
        return "is a fastText model, which holds more than words and vectors; use the .vec file that comes with it"
    if head.startswith((GZIP_MAGIC, *ZIP_MAGICS)):
        return "is an archive inside an archive; unpack it, and name the file to read"
    return f"is in no format known here; wanted is {KNOWN} (format= or --format says which it is)"
