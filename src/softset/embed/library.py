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
from pathlib import Path
from typing import Any

import platformdirs

from softset.embed.readers import Source, read_vectors
from softset.embed.store import open_store, write_store
from softset.errors import FileError, InputError
from softset.files import write_atomically

__all__ = ["BUNDLED", "import_vectors", "imported", "remove_vectors", "vectors_folder"]

BUNDLED = "glove-840b-300d"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Progress = Callable[[int, int | None], None]


def _home() -> Path:
    """Return the folder of all imports; the variable SOFTSET_CACHE puts it elsewhere."""
    given = os.environ.get("SOFTSET_CACHE")
    return (Path(given) if given else Path(platformdirs.user_cache_dir("softset", appauthor=False))) / "vectors"


def vectors_folder(name: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of word vectors by name: the bundled ones, an import's, or a folder's own path."""
    if name is None or name == BUNDLED:
        return Path(__file__).parent.parent / "assets" / BUNDLED
    if isinstance(name, str) and NAME.fullmatch(name):
        pointer = _home() / f"{name}.json"
        if pointer.is_file():
            return _home() / _pointed(pointer)
    path = Path(name)
    if path.exists():
        return path
    known = ", ".join([BUNDLED, *(one for one, _ in imported())])
    raise InputError(f"there are no word vectors named {str(name)!r} and no such folder; known are {known}")


def _pointed(pointer: Path) -> str:
    try:
        folder = json.loads(pointer.read_text(encoding="utf-8"))["folder"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{pointer} cannot be read ({error}): import the vectors again") from error
    return Path(str(folder)).name


def imported() -> Iterator[tuple[str, Path]]:
    """Return the names and folders of all imports, sorted."""
    home = _home()
    for pointer in sorted(home.glob("*.json")) if home.is_dir() else ():
        yield pointer.stem, home / _pointed(pointer)


def import_vectors(
    path: str | os.PathLike[str], name: str, *, replace: bool = False, progress: Progress | None = None, **options: Any
) -> dict[str, Any]:
    """Convert a file of word vectors once, so that it opens in milliseconds by its name; return what was stored."""
    if not NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a name: use letters, digits, dots, dashes and underscores")
    home = _home()
    if name == BUNDLED or ((home / f"{name}.json").exists() and not replace):
        raise InputError(
            f"there are word vectors named {name!r} already: choose another name, or replace them (--replace)"
        )
    source = read_vectors(path, **options)
    home.mkdir(parents=True, exist_ok=True)
    before = {home / _pointed(pointer) for pointer in [home / f"{name}.json"] if pointer.exists()}
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
    folder = _home() / _pointed(pointer)
    pointer.unlink()
    _sweep(_home(), {folder})


def _sweep(home: Path, replaced: set[Path]) -> None:
    """Delete replaced folders, and those that no pointer names and nobody can be writing any more."""
    used = {folder for _, folder in imported()}
    yesterday = time.time() - 24 * 3600
    left = {folder for folder in home.glob("*@*") if folder.is_dir() and folder.stat().st_mtime < yesterday}
    for folder in (left | replaced) - used:
        shutil.rmtree(folder, ignore_errors=True)
