"""Word vectors by name: the bundled ones, and those that the user imported."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from softset.errors import InputError
from softset.io.assets import bundled_folder
from softset.io.registry import ImportRegistry
from softset.vectors.formats import Source, read_vectors
from softset.vectors.store import open_store, write_store

__all__ = ["BUNDLED", "REGISTRY", "import_vectors", "vectors_folder"]

BUNDLED = "glove-840b-300d"
REGISTRY = ImportRegistry("vectors", "word vectors", (BUNDLED,))
Progress = Callable[[int, int | None], None]


def vectors_folder(name: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of word vectors by name: the bundled ones, an import's, or a folder's own path."""
    if name is None or name == BUNDLED:
        return bundled_folder(BUNDLED, "WordVectors")
    found = REGISTRY.folder(name) if isinstance(name, str) else None
    if found is not None:
        return found
    path = Path(name)
    if path.exists():
        return path
    known = ", ".join([BUNDLED, *(one for one, _ in REGISTRY.imported())])
    raise InputError(f"there are no word vectors named {str(name)!r} and no such folder; known are {known}")


def import_vectors(
    path: str | os.PathLike[str], name: str, *, replace: bool = False, progress: Progress | None = None, **options: Any
) -> dict[str, Any]:
    """Convert a file of word vectors once, so that it opens in milliseconds by its name; return what was stored."""
    REGISTRY.check_name(name, replace=replace)
    source = read_vectors(path, **options)

    def fill(folder: Path) -> dict[str, Any]:
        facts = {"name": name, "source": Path(path).name, "format": source.format}
        write_store(folder, _watched(source, progress), facts, whitened=True)
        return dict(open_store(folder).facts)

    return {**REGISTRY.add(name, fill, replace=replace), "skipped": dict(source.skipped)}


def _watched(source: Source, progress: Progress | None) -> Iterator[tuple[list[str], Any]]:
    done = 0
    for words, rows in source.blocks:
        yield words, rows
        done += len(words)
        if progress is not None:
            progress(done, source.rows)
