"""The registry of models: the bundled model, imported models, and the files in the folder of a model."""

import hashlib
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from softset.encoders.onnx import external_weights, leaves_folder, onnx_file
from softset.errors import FileError
from softset.io.assets import bundled_folder
from softset.io.json_files import read_json
from softset.io.manifest import Manifest, sha256
from softset.io.registry import ImportRegistry

__all__ = [
    "BUNDLED",
    "KINDS",
    "MANIFEST",
    "ONNX_DATA",
    "REGISTRY",
    "TEXT_FILES",
    "checksum",
    "choose_kind",
    "is_text_file",
    "model_files",
    "model_folder",
    "model_kind",
    "read_licence",
]

BUNDLED = "minilm"
KINDS = ("onnx", "transformers", "model2vec")
REGISTRY = ImportRegistry("models", "models", (BUNDLED, "words"))
MANIFEST = Manifest("Model", 1, "a model folder of softset", "import the model again with softset models import")
MOMENTS = "moments.safetensors"  # second moments of token vectors; not weights
# External weights of an ONNX file have these names by convention.
ONNX_DATA = ("model.onnx_data", "model.onnx.data", "model.onnx_data_[0-9]", "model.onnx_data_[0-9][0-9]")
# Configuration and tokenizer. Other names that end in .model may be pickles.
TEXT_FILES = (
    "*.json", "*.txt", "*.spm", "*.tiktoken", "bpe.codes", "spiece.model", "spm.model", "tokenizer.model",
    "sentencepiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
# The text files that decide a vector: they are part of the checksum.
CHECKED_FILES = re.compile(
    r"config\.json|tokeni[sz]er.*\.json|(special|added)_tokens.*\.json|vocab.*|merges\.txt|.*\.model"
)
PICKLES = re.compile(r".*\.(bin|pt|pth|pkl|ckpt)")


def model_folder(name: str) -> Path | None:
    """Return the folder of a bundled or imported model, or None if no model has that name."""
    return bundled_folder(BUNDLED, MANIFEST.kind) if name == BUNDLED else REGISTRY.folder(name)


def model_kind(folder: Path, kind: str | None = None) -> str:
    """Return the kind of the model in a folder: "onnx", "model2vec" or "transformers"; `kind` chooses among several."""
    names = {path.name for path in folder.iterdir()}
    file = onnx_file(folder)
    if file is not None:
        names.add(file.relative_to(folder).as_posix())
    return choose_kind(names, read_json(folder / "config.json", missing_ok=True), folder, kind)


def choose_kind(names: Collection[str], config: Mapping[str, Any], folder: Path, kind: str | None = None) -> str:
    """Return the kind of a model with these files; `kind` chooses among several.

    Without `kind`, safetensors whose config names an architecture are preferred to an ONNX file, which is an export of
    them.
    """
    kinds = _possible_kinds(names, config)
    if kind is not None and kinds and kind not in kinds:
        raise FileError(f"{folder} holds no {kind} model, but {' and '.join(kinds)}: leave the kind out")
    if kinds:
        return kind or kinds[0]
    pickles = [name for name in sorted(names) if "/" not in name and PICKLES.fullmatch(name)]
    if pickles:
        raise FileError(
            f"{folder} has its weights in {pickles[0]}, a pickle, which is never loaded because it can run code: save "
            "the model with save_pretrained(…, safe_serialization=True)"
        )
    raise FileError(
        f"{folder} is not a model: config.json with *.safetensors (transformers, model2vec), or model.onnx with "
        "tokenizer.json was wanted"
    )


def _possible_kinds(names: Collection[str], config: Mapping[str, Any]) -> list[str]:
    """Return all kinds that the files can be opened as, the preferred one first."""
    if config.get("model_type") == "model2vec" or {"normalize", "apply_pca"} & config.keys():
        return ["model2vec"]
    weights = any("/" not in name and name.endswith(".safetensors") and name != MOMENTS for name in names)
    kinds = ["onnx"] if {"model.onnx", "onnx/model.onnx"} & set(names) else []
    if weights and config.get("model_type"):
        kinds.insert(0 if config.get("architectures") else len(kinds), "transformers")
    return kinds


def model_files(folder: Path, kind: str) -> dict[str, Path]:
    """Return the files of a model by name: configuration, tokenizer and weights, but no pickles and no code.

    The ONNX file and its weights may be in the subfolder `onnx`.
    """
    inside = {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    files = {name: path for name, path in inside.items() if is_text_file(name) and name != "meta.json"}
    if kind != "onnx":
        return files | {name: path for name, path in inside.items() if name.endswith(".safetensors")}
    files |= {path.name: path for path in _weights(folder, kind) if path.name != "meta.json"}
    return files | ({MOMENTS: inside[MOMENTS]} if MOMENTS in inside else {})


def is_text_file(name: str) -> bool:
    """Return whether a file belongs to the configuration or the tokenizer of a model."""
    return any(fnmatchcase(name, pattern) for pattern in TEXT_FILES)


def checksum(folder: Path) -> str:
    """Return eight hexadecimal digits over everything that decides a vector: weights, tokenizer and config.

    Checksums in the manifest of an imported model are not computed again.
    """
    recorded = read_json(folder / "meta.json", missing_ok=True).get("files", {}) if _is_managed(folder) else {}
    texts = (path for path in sorted(folder.iterdir()) if CHECKED_FILES.fullmatch(path.name) and path.is_file())
    files = [*_weights(folder, model_kind(folder)), *texts]
    sums = [recorded.get(path.name, {}).get("sha256") or sha256(path) for path in files]
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:8]


def _is_managed(folder: Path) -> bool:
    """Return whether softset manages a folder; the meta.json of any other folder is not trusted."""
    path, bundled = folder.resolve(), model_folder(BUNDLED)
    return path.parent == REGISTRY.root.resolve() or (bundled is not None and path == bundled.resolve())


def _weights(folder: Path, kind: str) -> list[Path]:
    """Return the files that hold the weights of a model."""
    file = onnx_file(folder)
    if file is not None and kind == "onnx":
        conventional = {path for pattern in ONNX_DATA for path in file.parent.glob(pattern)}
        return [file, *sorted({*conventional, *external_weights(file)})]
    file = folder / "model.safetensors"
    return [file] if file.is_file() else sorted({*folder.glob("*.safetensors"), *_shards(folder)})


def _shards(folder: Path) -> list[Path]:
    """Return the files in the index of a sharded model; paths outside of the folder are rejected."""
    index = folder / "model.safetensors.index.json"
    weight_map = read_json(index, missing_ok=True).get("weight_map", {})
    names = sorted({str(name) for name in weight_map.values()}) if isinstance(weight_map, dict) else []
    for name in names:
        if leaves_folder(name):
            raise FileError(f"{index} refers to weights in {name[:100]!r}, outside of its folder: do not use it")
        if not (folder / name).is_file():
            raise FileError(f"{index} refers to weights in {name[:100]!r}, which is missing: get the whole model")
    return [folder / name for name in names]


def read_licence(folder: Path) -> str | None:
    """Return the licence that the front matter of a model's README.md names, or None."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    with card.open(encoding="utf-8", errors="replace") as file:
        front_matter = re.match(r"---\r?\n(.*?\n)---", file.read(1 << 20), re.DOTALL)
    licence = re.search(r"^license: *([\w.+-]{1,100})\s*$", front_matter[1], re.MULTILINE) if front_matter else None
    return licence[1] if licence else None
