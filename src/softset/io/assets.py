"""Data files that are part of the package; each is checked against its SHA-256 when it is first used."""

from functools import cache
from pathlib import Path

from softset.errors import FileError
from softset.io.manifest import Manifest, sha256

ASSETS = Path(__file__).parent.parent / "assets"
# The checksum of a folder is that of its meta.json, which contains the checksums of its files.
CHECKSUMS = {
    "baselines/bert_score_layers.csv": "408102387c706220bf6c0b9617d42ff3e1fcac311a248e8f45be1cc0d0609fbb",
    "baselines/levels.csv": "ce9e65fa41a9aca205951d7bd900c096877ba9764d9ae3deba7ebdd5e4673fbd",
    "baselines/minilm.csv": "d3d52d7cc181b82661af8e747444e9cd474e7d034f57cf19da3a86878dc70006",
    "baselines/sentences.txt": "cca26291c8e8dc098ed887608f61174fa72b6533110eb6dcecf9d6c793dc3c5d",
    "glove-840b-300d/meta.json": "fc19010542ce874a1c0e3b7ec5cfdee8e7adebf94bcc7a37a5c73397057256d6",
    "minilm/meta.json": "03074ccf50d85eb0e1aaf93e1a827b612669cb8febb2be9f53c13caea6eeeb18",
}


@cache
def bundled_file(name: str) -> Path:
    """Return the path of a bundled file, after checking its SHA-256."""
    path = ASSETS / name
    if not path.is_file() or sha256(path) != CHECKSUMS[name]:
        raise FileError(f"{path} is missing or was changed since softset was published: install softset again")
    return path


@cache
def bundled_folder(name: str, kind: str) -> Path:
    """Return the path of a bundled folder, after checking all its files."""
    folder = bundled_file(f"{name}/meta.json").parent
    Manifest(kind, 1, "a bundled folder of softset", "install softset again").verify(folder)
    return folder
