"""Word vectors by name: the bundled vectors and those that the user imported."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from softset.errors import InputError
from softset.io.assets import bundled_folder
from softset.io.registry import ImportRegistry
from softset.vectors.formats import VectorStream, read_vectors
from softset.vectors.storage import MANIFEST, open_vectors, write_vectors

BUNDLED = "glove-840b-300d"
REGISTRY = ImportRegistry("vectors", "word vectors", (BUNDLED,))
Progress = Callable[[int, int | None], None]


def vectors_folder(name: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of word vectors: the bundled ones, imported ones by name, or a folder by its path."""
    if name is None or name == BUNDLED:
        return bundled_folder(BUNDLED, MANIFEST.kind)
    folder = REGISTRY.folder(name) if isinstance(name, str) else None
    if folder is not None:
        return folder
    path = Path(name)
    if path.exists():
        return path
    names = ", ".join([BUNDLED, *dict(REGISTRY.items())])
    raise InputError(f"there are no word vectors and no folder named {str(name)!r}; available names: {names}")


def import_vectors(
    path: str | os.PathLike[str],
    name: str,
    *,
    replace: bool = False,
    progress: Progress | None = None,
    words: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 (the conventional name)
    member: str | None = None,
    skip_bad: bool = False,
) -> dict[str, Any]:
    """Convert a file of word vectors to a folder that opens in milliseconds, and return its metadata.

    `replace` allows a name that exists; `progress` is called with the number of rows read and the total, if known. The
    other options are those of `softset.vectors.formats.read_vectors`.
    """
    REGISTRY.check_name(name, replace=replace)
    stream = read_vectors(path, words=words, format=format, member=member, skip_bad=skip_bad)
    with REGISTRY.create(name, replace=replace) as folder:
        metadata = {"name": name, "source": Path(path).name, "format": stream.format}
        write_vectors(folder, _report_progress(stream, progress), metadata, whiten=True)
        stored = dict(open_vectors(folder).metadata)
    return {**stored, "skipped": dict(stream.skipped)}


def _report_progress(stream: VectorStream, progress: Progress | None) -> Iterator[tuple[list[str], Any]]:
    done = 0
    for words, rows in stream.blocks:
        yield words, rows
        done += len(words)
        if progress is not None:
            progress(done, stream.rows)
