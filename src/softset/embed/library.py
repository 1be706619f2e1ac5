"""Where imported word vectors live: a folder of the user's, each import under a name.

NAME.json points to the folder that holds the vectors. A new import is written to a folder of its own and the pointer
replaced at once, so that a crash leaves the old vectors in place; what no pointer names is swept away a day later.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from softset.embed.readers import Source, read_vectors
from softset.embed.store import open_store, write_store
from softset.errors import FileError, InputError
from softset.files import write_atomically

__all__ = ["BUNDLED", "cache_folder", "import_vectors", "imported", "remove_vectors", "vectors_folder"]

BUNDLED = "glove-840b-300d"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FOLDER = re.compile(NAME.pattern + "@[A-Za-z0-9_]+")
Progress = Callable[[int, int | None], None]


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache; the variable SOFTSET_CACHE puts the cache elsewhere."""
    given = os.environ.get("SOFTSET_CACHE")
    return (Path(given) if given else Path(platformdirs.user_cache_dir("softset", appauthor=False))) / name


def _home() -> Path:
    return cache_folder("vectors")


def vectors_folder(name: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of word vectors by name: the bundled ones, an import's, or a folder's own path."""
    if name is None or name == BUNDLED:
        return Path(__file__).parent.parent / "assets" / BUNDLED
    if isinstance(name, str) and NAME.fullmatch(name):
        pointer = _home() / f"{name}.json"
        if pointer.is_file():
            return _pointed(pointer)
    path = Path(name)
    if path.exists():
        return path
    known = ", ".join([BUNDLED, *(one for one, _ in imported())])
    raise InputError(f"there are no word vectors named {str(name)!r} and no such folder; known are {known}")


def _pointed(pointer: Path) -> Path:
    """Return the folder beside a pointer that it names; any other place is refused."""
    try:
        name = str(json.loads(pointer.read_text(encoding="utf-8"))["folder"])
        problem = None if FOLDER.fullmatch(name) else f"{name!r} is no folder of an import"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        name, problem = "", str(error)
    if problem:
        advice = f"softset vectors remove {pointer.stem}, then import them again"
        raise FileError(f"{pointer} cannot be used ({problem}): {advice}")
    return pointer.parent / name


def imported() -> Iterator[tuple[str, Path | None]]:
    """Return the names and folders of all imports, sorted; no folder where the pointer is broken."""
    home = _home()
    for pointer in sorted(home.glob("*.json")) if home.is_dir() else ():
        yield pointer.stem, _pointed_or_none(pointer)


def _pointed_or_none(pointer: Path) -> Path | None:
    try:
        return _pointed(pointer)
    except (FileError, OSError):
        return None


def import_vectors(
    path: str | os.PathLike[str], name: str, *, replace: bool = False, progress: Progress | None = None, **options: Any
) -> dict[str, Any]:
    """Convert a file of word vectors once, so that it opens in milliseconds by its name; return what was stored."""
    if not NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a name: use letters, digits, dots, dashes and underscores")
    home = _home()
    if name == BUNDLED:
        raise InputError(f"{name} is the name of the bundled vectors: choose another")
    if (home / f"{name}.json").exists() and not replace:
        raise InputError(
            f"there are word vectors named {name!r} already: choose another name, or replace them (--replace)"
        )
    source = read_vectors(path, **options)
    home.mkdir(parents=True, exist_ok=True)
    before = _pointed_or_none(home / f"{name}.json")
    folder = Path(tempfile.mkdtemp(dir=home, prefix=f"{name}@"))
    try:
        facts = {"name": name, "source": Path(path).name, "format": source.format}
        write_store(folder, _watched(source, progress), facts)
        facts = dict(open_store(folder).facts)
        write_atomically(home / f"{name}.json", json.dumps({"folder": folder.name}).encode())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _sweep(home, before)
    return {**facts, "skipped": dict(source.skipped)}


def _watched(source: Source, progress: Progress | None) -> Iterator[tuple[list[str], Any]]:
    done = 0
    for words, rows in source.blocks:
        yield words, rows
        done += len(words)
        if progress is not None:
            progress(done, source.rows)


def remove_vectors(name: str) -> None:
    """Forget an import and delete its folder."""
    pointer = _home() / f"{name}.json"
    if not NAME.fullmatch(name) or not pointer.is_file():
        known = ", ".join(one for one, _ in imported()) or "none"
        raise InputError(f"there are no imported vectors named {name!r}; imported are: {known}")
    folder = _pointed_or_none(pointer)
    pointer.unlink()
    _sweep(_home(), folder)


def _sweep(home: Path, replaced: Path | None) -> None:
    """Delete a replaced folder, and those that no pointer names and nobody can be writing any more."""
    used = {folder for _, folder in imported()}
    yesterday = time.time() - 24 * 3600
    for folder in home.iterdir():
        if FOLDER.fullmatch(folder.name) and folder not in used:
            with suppress(OSError):
                if folder == replaced or folder.stat().st_mtime < yesterday:
                    shutil.rmtree(folder)
