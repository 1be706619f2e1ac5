"""The one reader of JSON files, with clear errors."""

import json
import os
from pathlib import Path
from typing import Any

from softset.errors import FileError


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
        FileError: the file is not JSON, holds no JSON object, or an object of another kind.

    >>> read_json("absent.json", missing_ok=True)
    {}
    """
    try:
        content = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        if missing_ok:
            return {}
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a complete JSON file ({error}): {remedy}") from error
    if not isinstance(content, dict):
        raise FileError(f"{path} holds no JSON object: {remedy}")
    if kind is not None and content.get("softset") != kind:
        raise FileError(f"{path} holds no softset {kind}: {remedy}")
    return content
