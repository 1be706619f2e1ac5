"""The manifest of a collection: its segments, encoder and schema, replaced atomically by each change."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from softset.collections.background import BackgroundFile
from softset.collections.embedder import Fingerprint, parse_fingerprint
from softset.collections.schema import parse_schema
from softset.collections.settings import IndexSettings
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.query.field_types import FieldType

__all__ = ["VERSION", "CollectionManifest", "read_manifest", "remove_unused_files", "write_manifest"]

VERSION = 1


@dataclass(frozen=True)
class CollectionManifest:
    """The content of manifest.json.

    Attributes:
        encoder: the name of the encoder, or "none".
        segments: the deleted rows of each segment.
        schema: the types of the fields; None in collections of softset 0.6 and earlier.
        fingerprint: numbers by which the encoder is recognized; empty if there are none.
        background: the stored background, if there is one.
        settings: how the texts are indexed.
    """

    encoder: str
    segments: Mapping[str, Iterable[int]]
    schema: Mapping[str, FieldType] | None = None
    fingerprint: Fingerprint = field(default=())
    background: BackgroundFile | None = None
    settings: IndexSettings = field(default_factory=IndexSettings)


def write_manifest(folder: Path, manifest: CollectionManifest) -> None:
    """Replace the manifest of a collection in one step."""
    content: dict[str, Any] = {
        "encoder": manifest.encoder,
        "segments": {name: sorted(rows) for name, rows in manifest.segments.items()},
    }
    if manifest.schema is not None:
        content["schema"] = dict(manifest.schema)
    if manifest.fingerprint:
        content["fingerprint"] = manifest.fingerprint
    if manifest.background is not None:
        content["background"] = asdict(manifest.background)
    if manifest.settings != IndexSettings():
        content["index"] = asdict(manifest.settings)
    content |= {"softset": "Collection", "version": VERSION}
    write_atomically(folder / "manifest.json", json.dumps(content, ensure_ascii=False).encode())


def read_manifest(folder: Path) -> CollectionManifest:
    """Read and check the manifest of a collection."""
    try:
        content = read_json(folder / "manifest.json", "Collection", remedy="index the items again")
        segments = {str(name): [int(row) for row in deleted] for name, deleted in content["segments"].items()}
        encoder, version = str(content["encoder"]), content["version"]
        schema = parse_schema(content["schema"]) if "schema" in content else None
        fingerprint = parse_fingerprint(content.get("fingerprint", ()))
        background = BackgroundFile.parse(content.get("background"))
        settings = IndexSettings.parse(content.get("index", {}))
    except FileNotFoundError:
        raise FileError(f"{folder} is not a collection: it has no manifest.json; make one with softset index") from None
    except NotADirectoryError:
        raise FileError(f"{folder} is a file, not a collection: make a collection from it with softset index") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, InputError) as error:
        raise FileError(f"{folder} is not a complete collection ({error}): index the items again") from error
    names_are_valid = all(name.startswith("segment-") and Path(name).name == name for name in segments)
    if version != VERSION or not segments or not names_are_valid:
        raise FileError(f"{folder} is not a collection of version {VERSION}: index the items again")
    return CollectionManifest(encoder, segments, schema, fingerprint, background, settings)


def remove_unused_files(folder: Path, manifest: CollectionManifest) -> None:
    """Delete files that the manifest does not name: replaced ones, and those of writers that were killed."""
    for path in folder.glob("segment-*"):
        if path.name not in manifest.segments:
            shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob("*background-*"):  # also temporary files, whose names start with a dot
        if manifest.background is None or path.name != manifest.background.name:
            path.unlink(missing_ok=True)
