"""Folders with a manifest: meta.json holds the kind, the version, and each file's size and SHA-256.

meta.json is written last, so a folder without it is incomplete. Opening checks the sizes; `verify` reads everything.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softset.errors import FileError
from softset.io.atomic import sync
from softset.io.json_files import read_json


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Manifest:
    """The format of one kind of folder.

    Attributes:
        kind: the value of the key "softset" in meta.json.
        version: the version of the format.
        noun: what error messages call such a folder.
        remedy: what error messages advise about a damaged folder.
    """

    kind: str
    version: int
    noun: str
    remedy: str

    def write(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Write meta.json with additional facts, and flush the folder to the disk."""
        files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())}
        meta = {"softset": self.kind, "version": self.version, **facts, "files": files}
        (folder / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in [*folder.iterdir(), folder]:
            sync(path)

    def read(self, folder: Path) -> dict[str, Any]:
        """Return the content of meta.json after checking that each file exists and has the right size."""
        if folder.is_file():
            raise FileError(f"{folder} is a file, not {self.noun}: {self.remedy}")
        if folder.exists() and not (folder / "meta.json").exists():
            raise FileError(f"{folder} is not {self.noun}: it has no meta.json")
        meta = read_json(folder / "meta.json", remedy=self.remedy)
        if meta.get("softset") != self.kind or meta.get("version") != self.version:
            raise FileError(f"{folder} is not {self.noun} of version {self.version}: {self.remedy}")
        try:
            sizes = {Path(name).name: int(file["bytes"]) for name, file in meta["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FileError(f"{folder / 'meta.json'} lacks an entry ({error}): {self.remedy}") from error
        for name, size in sizes.items():
            if not (folder / name).is_file() or (folder / name).stat().st_size != size:
                raise FileError(f"{folder / name} is missing or has the wrong size: {self.remedy}")
        return meta

    def verify(self, folder: Path) -> None:
        """Compare the SHA-256 of every file with the one in meta.json."""
        for name, file in self.read(folder)["files"].items():
            path = folder / Path(name).name
            if sha256(path) != file.get("sha256"):
                raise FileError(f"{path} was changed after it was written: {self.remedy}")
