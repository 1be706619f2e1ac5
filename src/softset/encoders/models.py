"""Models by name: the bundled one, and those that the user imported; what kind a folder holds."""

import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from softset.encoders.config import read_json
from softset.encoders.onnx import leads_out, onnx_file, weight_files
from softset.errors import FileError
from softset.io.assets import bundled_folder
from softset.io.manifest import Manifest, sha256
from softset.io.registry import ImportRegistry

__all__ = [
    "BUNDLED",
    "KINDS",
    "MANIFEST",
    "MOMENTS",
    "ONNX_DATA",
    "REGISTRY",
    "checksum",
    "kind_of",
    "model_folder",
    "model_kind",
]

BUNDLED = "minilm"
KINDS = ("onnx", "transformers", "model2vec")
MOMENTS = "moments.safetensors"  # what is known of a model's vectors; no weights
REGISTRY = ImportRegistry("models", "models", (BUNDLED, "words"))
MANIFEST = Manifest("Model", 1, "a model folder of softset", "import the model again with softset models import")
# Weights that an ONNX file may keep in files beside it.
ONNX_DATA = ("model.onnx_data", "model.onnx.data", "model.onnx_data_[0-9]", "model.onnx_data_[0-9][0-9]")
READING = re.compile(r"config\.json|tokeni[sz]er.*\.json|(special|added)_tokens.*\.json|vocab.*|merges\.txt|.*\.model")
PICKLED = re.compile(r".*\.(bin|pt|pth|pkl|ckpt)")


def model_folder(name: str) -> Path | None:
    """Return the folder of a bundled or imported model, or None where no model has that name."""
    return bundled_folder(BUNDLED, MANIFEST.kind) if name == BUNDLED else REGISTRY.folder(name)


def model_kind(folder: Path) -> str:
    """Return what a folder holds: "onnx", "model2vec" or "transformers"."""
    names = {path.name for path in folder.iterdir()}
    file = onnx_file(folder)
    if file is not None:
        names.add(file.relative_to(folder).as_posix())
    return kind_of(names, read_json(folder / "config.json"), folder)


def kind_of(names: Collection[str], config: Mapping[str, Any], where: Path, wanted: str | None = None) -> str:
    """Return what kind of model files of these names are, the one `wanted` if they are several kinds at once.

    If they are none, the sentence says so of `where`.
    """
    kinds = _kinds(names, config)
    if wanted is not None and kinds and wanted not in kinds:
        raise FileError(f"{where} holds no model of the kind {wanted}, but one of {' and '.join(kinds)}: leave it out")
    if kinds:
        return wanted or kinds[0]
    pickled = [name for name in sorted(names) if "/" not in name and PICKLED.fullmatch(name)]
    if pickled:
        raise FileError(
            f"{where} has its weights in {pickled[0]}, which only unpickling could read, and pickles are never loaded "
            "because they can run code: save the model with save_pretrained(…, safe_serialization=True)"
        )
    raise FileError(
        f"{where} is not a model: config.json with *.safetensors (transformers, model2vec), or model.onnx with "
        "tokenizer.json was wanted"
    )


def _kinds(names: Collection[str], config: Mapping[str, Any]) -> list[str]:
    """Return all kinds that files can be read as, the one that is taken unless another is wanted first.

    Safetensors that were saved with their architecture go before an ONNX file beside them, which is an export of them.
    """
    if config.get("model_type") == "model2vec" or {"normalize", "apply_pca"} & config.keys():
        return ["model2vec"]
    weights = any("/" not in name and name.endswith(".safetensors") and name != MOMENTS for name in names)
    kinds = ["onnx"] if {"model.onnx", "onnx/model.onnx"} & set(names) else []
    if weights and config.get("model_type"):
        kinds.insert(0 if config.get("architectures") else len(kinds), "transformers")
    return kinds


def checksum(folder: Path) -> str:
    """Return eight digits that change with whatever decides a vector: weights, tokeniser and config.

    Sums that were noted when softset wrote the folder are not computed again.
    """
    noted = read_json(folder / "meta.json").get("files", {}) if _is_ours(folder) else {}
    reading = (path for path in sorted(folder.iterdir()) if READING.fullmatch(path.name) and path.is_file())
    files = [*_weights(folder), *reading]
    sums = [noted.get(path.name, {}).get("sha256") or sha256(path) for path in files]
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:8]


def _is_ours(folder: Path) -> bool:
    """Say whether softset wrote a folder and keeps it; elsewhere a meta.json may say what its author likes."""
    place, bundled = folder.resolve(), model_folder(BUNDLED)
    return place.parent == REGISTRY.root.resolve() or (bundled is not None and place == bundled.resolve())


def _weights(folder: Path) -> list[Path]:
    """Return the files that a model's numbers are in."""
    file = onnx_file(folder)
    if file is not None and model_kind(folder) == "onnx":
        beside = {path for pattern in ONNX_DATA for path in file.parent.glob(pattern)}
        return [file, *sorted(beside.union(weight_files(file)))]
    file = folder / "model.safetensors"
    return [file] if file.is_file() else sorted({*folder.glob("*.safetensors"), *_shards(folder)})


def _shards(folder: Path) -> list[Path]:
    """Return the files that the index of a model in many files names; a place outside of its folder is refused."""
    index = folder / "model.safetensors.index.json"
    places = read_json(index).get("weight_map", {})
    names = sorted({str(name) for name in places.values()}) if isinstance(places, dict) else []
    for name in names:
        if leads_out(name):
            raise FileError(f"{index} wants weights from {name[:100]!r}, outside of its folder: do not use it")
        if not (folder / name).is_file():
            raise FileError(f"{index} wants weights from {name[:100]!r}, which is not there: get the whole model")
    return [folder / name for name in names]
