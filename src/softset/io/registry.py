"""A registry of imported folders, such as word vectors or models, in the user's cache.

NAME.json names the folder that holds the content of an import. A new import is written to a new folder, and then the
JSON file is replaced atomically, so a crash leaves the old content in place. Folders that no JSON file names are
deleted by a later import, after one day.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FOLDER = re.compile(NAME.pattern + "@[A-Za-z0-9_]+")
SECONDS_TO_KEEP_UNNAMED = 24 * 3600  # an import that is still being written has no name yet


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache, or in the folder that the variable SOFTSET_CACHE names."""
    root = os.environ.get("SOFTSET_CACHE") or platformdirs.user_cache_dir("softset", appauthor=False)
    return Path(root, name)


@dataclass(frozen=True)
class ImportRegistry:
    """The imports of one kind.

    Attributes:
        command: the subcommand of `softset` that manages the imports; also the name of the folder in the cache.
        noun: the plural noun for error messages.
        bundled: names that imports cannot have.
    """

    command: str
    noun: str
    bundled: tuple[str, ...]

    @property
    def root(self) -> Path:
        """The folder that holds all imports of this kind."""
        return cache_folder(self.command)

    def folder(self, name: str) -> Path | None:
        """Return the folder of an import, or None if there is no import of this name."""
        entry = self.root / f"{name}.json"
        return self._read_entry(entry) if NAME.fullmatch(name) and entry.is_file() else None

    def items(self) -> Iterator[tuple[str, Path | None]]:
        """Yield the name and the folder of each import, sorted by name; the folder is None if its entry is broken."""
        for entry in sorted(self.root.glob("*.json")):
            folder = None
            with suppress(FileError, OSError):
                folder = self._read_entry(entry)
            yield entry.stem, folder

    def check_name(self, name: str, *, replace: bool) -> None:
        """Raise InputError if a new import cannot have this name."""
        if not NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be used as a name: use letters, digits, dots, dashes and underscores")
        if name in self.bundled:
            raise InputError(f"{name} is the name of bundled {self.noun}: choose another name")
        if (self.root / f"{name}.json").exists() and not replace:
            raise InputError(f"there are already {self.noun} named {name!r}: choose another name, or use --replace")

    @contextmanager
    def create(self, name: str, *, replace: bool = False) -> Iterator[Path]:
        """Yield a new folder to fill, and register it under the name on success; an error deletes the folder."""
        self.check_name(name, replace=replace)
        self.root.mkdir(parents=True, exist_ok=True)
        previous = dict(self.items()).get(name)
        folder = Path(tempfile.mkdtemp(dir=self.root, prefix=f"{name}@"))
        try:
            yield folder
            write_atomically(self.root / f"{name}.json", json.dumps({"folder": folder.name}).encode())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._delete_unused(previous)

    def remove(self, name: str) -> None:
        """Delete an import."""
        imports = dict(self.items())
        if name not in imports:
            names = ", ".join(imports) or "none"
            raise InputError(f"there are no imported {self.noun} named {name!r}; imported names: {names}")
        (self.root / f"{name}.json").unlink()
        self._delete_unused(imports[name])

    def _read_entry(self, entry: Path) -> Path:
        """Return the folder that an entry names; only folders next to the entry are accepted."""
        remedy = f"run softset {self.command} remove {entry.stem}, then import it again"
        name = str(read_json(entry, remedy=remedy).get("folder"))
        if not FOLDER.fullmatch(name):
            raise FileError(f"{entry} refers to {name!r}, which is not an imported folder: {remedy}")
        return entry.parent / name

    def _delete_unused(self, replaced: Path | None) -> None:
        """Delete the folder that was replaced, and old folders that no entry names."""
        used = {folder for _, folder in self.items()}
        for folder in self.root.iterdir():
            if FOLDER.fullmatch(folder.name) and folder not in used:
                with suppress(OSError):
                    if folder == replaced or time.time() - folder.stat().st_mtime > SECONDS_TO_KEEP_UNNAMED:
                        shutil.rmtree(folder)
