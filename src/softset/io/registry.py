"""Registry of the data that the user imported under names: word vectors and models.

NAME.json holds the name of the folder with the content. A new import is written to a new folder and NAME.json is
replaced atomically, so that a crash leaves the previous import in place. Folders that no NAME.json refers to are
deleted a day later.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import platformdirs

from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json

__all__ = ["ImportRegistry", "cache_folder"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FOLDER = re.compile(NAME.pattern + "@[A-Za-z0-9_]+")
Result = TypeVar("Result")


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache; the environment variable SOFTSET_CACHE moves the cache."""
    root = os.environ.get("SOFTSET_CACHE")
    return (Path(root) if root else Path(platformdirs.user_cache_dir("softset", appauthor=False))) / name


@dataclass(frozen=True)
class ImportRegistry:
    """The imports of one kind.

    Attributes:
        verb: the command that manages them, and their folder in the cache.
        noun: what error messages call them, in the plural.
        bundled: names that no import can take.
    """

    verb: str
    noun: str
    bundled: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The folder that holds the imports."""
        return cache_folder(self.verb)

    def folder(self, name: str) -> Path | None:
        """Return the folder of an import, or None if there is no import of that name."""
        pointer = self.home / f"{name}.json"
        return self._target(pointer) if NAME.fullmatch(name) and pointer.is_file() else None

    def _target(self, pointer: Path) -> Path:
        """Return the folder that NAME.json refers to; it must be beside that file."""
        remedy = f"softset {self.verb} remove {pointer.stem}, then import them again"
        name = str(read_json(pointer, remedy=remedy).get("folder"))
        if not FOLDER.fullmatch(name):
            raise FileError(f"{pointer} names {name!r}, which is not the folder of an import: {remedy}")
        return pointer.parent / name

    def _target_or_none(self, pointer: Path) -> Path | None:
        try:
            return self._target(pointer)
        except (FileError, OSError):
            return None

    def imported(self) -> Iterator[tuple[str, Path | None]]:
        """Yield the name and folder of every import, sorted; the folder is None if NAME.json is damaged."""
        for pointer in sorted(self.home.glob("*.json")) if self.home.is_dir() else ():
            yield pointer.stem, self._target_or_none(pointer)

    def check_name(self, name: str, *, replace: bool) -> None:
        """Raise InputError if the name is not valid, is bundled, or is used by another import."""
        if not NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be a name: use letters, digits, dots, dashes and underscores")
        if name in self.bundled:
            raise InputError(f"{name} is the name of {self.noun} that are bundled: choose another")
        if (self.home / f"{name}.json").exists() and not replace:
            raise InputError(
                f"there are {self.noun} named {name!r} already: choose another name, or replace them (--replace)"
            )

    def add(self, name: str, fill: Callable[[Path], Result], *, replace: bool = False) -> Result:
        """Call `fill` with a new folder, register the folder under the name, and return the result of `fill`."""
        self.check_name(name, replace=replace)
        self.home.mkdir(parents=True, exist_ok=True)
        previous = self._target_or_none(self.home / f"{name}.json")
        folder = Path(tempfile.mkdtemp(dir=self.home, prefix=f"{name}@"))
        try:
            result = fill(folder)
            write_atomically(self.home / f"{name}.json", json.dumps({"folder": folder.name}).encode())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._delete_unused(previous)
        return result

    def remove(self, name: str) -> None:
        """Delete an import."""
        pointer = self.home / f"{name}.json"
        if not NAME.fullmatch(name) or not pointer.is_file():
            known = ", ".join(imported for imported, _ in self.imported()) or "none"
            raise InputError(f"there are no imported {self.noun} named {name!r}; imported are: {known}")
        folder = self._target_or_none(pointer)
        pointer.unlink()
        self._delete_unused(folder)

    def _delete_unused(self, replaced: Path | None) -> None:
        """Delete a replaced folder, and unused folders older than a day, which no process is still writing."""
        used = {folder for _, folder in self.imported()}
        yesterday = time.time() - 24 * 3600
        for folder in self.home.iterdir():
            if FOLDER.fullmatch(folder.name) and folder not in used:
                with suppress(OSError):
                    if folder == replaced or folder.stat().st_mtime < yesterday:
                        shutil.rmtree(folder)
