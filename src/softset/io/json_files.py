"""JSON files, and other files that are read at once: size limits and clear errors."""

import json
import os
from typing import Any

from softset.errors import FileError
from softset.io.compressed import open_binary

MAX_BYTES = 1 << 28  # a tokenizer of 250,000 words has 35 MB; Python objects take 20 times the size of their JSON


def read_limited(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, decompressed if it is in gzip format.

    A file of more than 256 MB, or one that grows beyond it, raises FileError.
    """
    with open_binary(path) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FileError(f"{path} is larger than {MAX_BYTES:,} bytes, the limit for such a file")
    return content


def read_json(
    path: str | os.PathLike[str], kind: str | None = None, *, remedy: str = "save it again", missing_ok: bool = False
) -> dict[str, Any]:
    """Return the JSON object that a file holds; raise FileError if it is too large, is not JSON, or is of another kind.

    With a `kind`, the key "softset" must have this value. The error message ends with the `remedy` for a damaged file.
    With `missing_ok`, a file that does not exist is an empty object.
    """
    try:
        data = read_limited(path)
    except FileNotFoundError:
        if missing_ok:
            return {}
        raise
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a complete JSON file ({error}): {remedy}") from error
    if not isinstance(content, dict):
        raise FileError(f"{path} is not a JSON object: {remedy}")
    if kind is not None and content.get("softset") != kind:
        raise FileError(f"{path} is not a softset {kind}: {remedy}")
    return content
