"""Named sets from files: TOML or JSON (name = list of examples), or a folder of NAME.txt with one example per line."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from softset.errors import FileError


def read_sets(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the named sets of a file or folder.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "colour.txt").write_text("red\\nblue\\n")
    ...     read_sets(folder)
    {'colour': ['red', 'blue']}
    """
    source = Path(path)
    if source.is_dir():
        return {file.stem: _read_lines(file) for file in sorted(source.glob("*.txt"))}
    text, is_json = _read_text(source), source.suffix.lower() == ".json"
    try:
        sets: Any = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{source} cannot be read as {'JSON' if is_json else 'TOML'}: {error}") from error
    if not isinstance(sets, dict):
        raise FileError(f"{source} must map names to lists of examples, but holds a {type(sets).__name__}")
    for name, examples in sets.items():
        if not isinstance(examples, list) or not all(isinstance(text, str) and text.strip() for text in examples):
            raise FileError(f"{source}: the set {name!r} must be a list of words or phrases")
    return sets


def _read_text(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{source} is not UTF-8 (byte {error.start}): convert it first") from error


def _read_lines(file: Path) -> list[str]:
    lines = [line.strip() for line in _read_text(file).splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
