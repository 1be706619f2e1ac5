"""Folders that say what they hold: meta.json names the kind and version, and each file's size and SHA-256.

meta.json is written last, so a folder without it is unfinished; sizes are checked on opening, contents on request.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softset.errors import FileError
from softset.io.atomic import sync

__all__ = ["Seal", "sha256"]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Seal:
    """One kind of folder: the name it bears in meta.json, what people call it, and what helps when it is broken.

    >>> import tempfile
    >>> seal = Seal("Notes", 1, "a folder of notes", "write them again")
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "a.txt").write_text("hello")
    ...     seal.close(folder, {"author": "A"})
    ...     seal.read(folder)["author"], seal.verify(folder)
    ('A', None)
    """

    kind: str
    version: int
    noun: str
    remedy: str

    def close(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Write meta.json, with facts that are asked for later, and see that everything is on the disk."""
        files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())}
        meta = {"softset": self.kind, "version": self.version, **facts, "files": files}
        (folder / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in [*folder.iterdir(), folder]:
            sync(path)

    def read(self, folder: Path) -> dict[str, Any]:
        """Return the facts of a folder whose files are all there with the right sizes."""
        facts = self._parse(folder)
        if not isinstance(facts, dict) or facts.get("softset") != self.kind or facts.get("version") != self.version:
            raise FileError(f"{folder} is not {self.noun} of version {self.version}: {self.remedy}")
        try:
            sizes = {Path(name).name: int(file["bytes"]) for name, file in facts["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FileError(f"{folder / 'meta.json'} lacks a fact ({error}): {self.remedy}") from error
        for name, size in sizes.items():
            if not (folder / name).is_file() or (folder / name).stat().st_size != size:
                raise FileError(f"{folder / name} is missing or has the wrong size: {self.remedy}")
        return facts

    def _parse(self, folder: Path) -> Any:
        try:
            return json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            if not folder.exists():
                raise
            raise FileError(f"{folder} is not {self.noun}: it has no meta.json") from None
        except NotADirectoryError:
            raise FileError(f"{folder} is a file, not {self.noun}: {self.remedy}") from None
        except (ValueError, RecursionError) as error:
            raise FileError(f"{folder / 'meta.json'} cannot be read ({error}): {self.remedy}") from error

    def verify(self, folder: Path) -> None:
        """Read every file and compare its SHA-256 with the one noted when it was written."""
        for name, file in self.read(folder)["files"].items():
            path = folder / Path(name).name
            if sha256(path) != file.get("sha256"):
                raise FileError(f"{path} was changed since it was written: {self.remedy}")
