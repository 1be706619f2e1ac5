"""JSON files, and other files that are read at once: size limits and clear errors."""

import json
import os
from pathlib import Path
from typing import Any

from softset.errors import FileError

MAX_BYTES = 1 << 28  # a tokenizer of 250,000 words has 35 MB; Python objects take 20 times the size of their JSON


def read_limited(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a file of more than 256 MB, or one that grows beyond it, raises FileError."""
    with Path(path).open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FileError(f"{path} is larger than {MAX_BYTES:,} bytes, the limit for such a file")
    return content


def read_json(
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    remedy: str = "save it again",
    missing_ok: bool = False,
) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Args:
        path: the file.
        kind: the value that the key "softset" must have; None accepts any JSON object.
        remedy: what to do about a damaged file; the end of the error message.
        missing_ok: return an empty object if the file does not exist, instead of raising FileNotFoundError.

    Raises:
        FileError: the file is too large, is not JSON, or holds another kind of object.
    """
    try:
        content = json.loads(read_limited(path))
    except FileError:
        raise
    except FileNotFoundError:
        if missing_ok:
            return {}
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a complete JSON file ({error}): {remedy}") from error
    if not isinstance(content, dict):
        raise FileError(f"{path} is not a JSON object: {remedy}")
    if kind is not None and content.get("softset") != kind:
        raise FileError(f"{path} is not a softset {kind}: {remedy}")
    return content
