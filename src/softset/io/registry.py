"""Folders that the user imported, each under a name: word vectors on one shelf, models on another.

NAME.json points to the folder that holds the content. A new import is written to a folder of its own and the pointer
replaced at once, so that a crash leaves the old content in place; what no pointer names is swept away a day later.
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

__all__ = ["Shelf", "cache_folder"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FOLDER = re.compile(NAME.pattern + "@[A-Za-z0-9_]+")
Result = TypeVar("Result")


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache; the variable SOFTSET_CACHE puts the cache elsewhere."""
    given = os.environ.get("SOFTSET_CACHE")
    return (Path(given) if given else Path(platformdirs.user_cache_dir("softset", appauthor=False))) / name


@dataclass(frozen=True)
class Shelf:
    """One kind of imported thing: the verb of the command line that manages it, what to call it, what is bundled."""

    verb: str
    noun: str
    bundled: tuple[str, ...]

    @property
    def home(self) -> Path:
        """The folder where the imports are."""
        return cache_folder(self.verb)

    def folder(self, name: str) -> Path | None:
        """Return the folder of an import, or None where there is none of that name."""
        pointer = self.home / f"{name}.json"
        return self._pointed(pointer) if NAME.fullmatch(name) and pointer.is_file() else None

    def _pointed(self, pointer: Path) -> Path:
        """Return the folder beside a pointer that it names; any other place is refused."""
        try:
            name = str(json.loads(pointer.read_text(encoding="utf-8"))["folder"])
            problem = None if FOLDER.fullmatch(name) else f"{name!r} is no folder of an import"
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            name, problem = "", str(error)
        if problem:
            advice = f"softset {self.verb} remove {pointer.stem}, then import them again"
            raise FileError(f"{pointer} cannot be used ({problem}): {advice}")
        return pointer.parent / name

    def _pointed_or_none(self, pointer: Path) -> Path | None:
        try:
            return self._pointed(pointer)
        except (FileError, OSError):
            return None

    def imported(self) -> Iterator[tuple[str, Path | None]]:
        """Return the names and folders of all imports, sorted; no folder where the pointer is broken."""
        for pointer in sorted(self.home.glob("*.json")) if self.home.is_dir() else ():
            yield pointer.stem, self._pointed_or_none(pointer)

    def check_name(self, name: str, *, replace: bool) -> None:
        """Refuse a name that cannot be one, is bundled, or is taken."""
        if not NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be a name: use letters, digits, dots, dashes and underscores")
        if name in self.bundled:
            raise InputError(f"{name} is the name of {self.noun} that are bundled: choose another")
        if (self.home / f"{name}.json").exists() and not replace:
            raise InputError(
                f"there are {self.noun} named {name!r} already: choose another name, or replace them (--replace)"
            )

    def put(self, name: str, fill: Callable[[Path], Result], *, replace: bool = False) -> Result:
        """Let a function fill a new folder, name it when it is whole, and return what the function did."""
        self.check_name(name, replace=replace)
        self.home.mkdir(parents=True, exist_ok=True)
        before = self._pointed_or_none(self.home / f"{name}.json")
        folder = Path(tempfile.mkdtemp(dir=self.home, prefix=f"{name}@"))
        try:
            result = fill(folder)
            write_atomically(self.home / f"{name}.json", json.dumps({"folder": folder.name}).encode())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._sweep(before)
        return result

    def remove(self, name: str) -> None:
        """Forget an import and delete its folder."""
        pointer = self.home / f"{name}.json"
        if not NAME.fullmatch(name) or not pointer.is_file():
            known = ", ".join(one for one, _ in self.imported()) or "none"
            raise InputError(f"there are no imported {self.noun} named {name!r}; imported are: {known}")
        folder = self._pointed_or_none(pointer)
        pointer.unlink()
        self._sweep(folder)

    def _sweep(self, replaced: Path | None) -> None:
        """Delete a replaced folder, and those that no pointer names and nobody can be writing any more."""
        used = {folder for _, folder in self.imported()}
        yesterday = time.time() - 24 * 3600
        for folder in self.home.iterdir():
            if FOLDER.fullmatch(folder.name) and folder not in used:
                with suppress(OSError):
                    if folder == replaced or folder.stat().st_mtime < yesterday:
                        shutil.rmtree(folder)
