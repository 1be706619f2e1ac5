"""The registry of models: the bundled model, imported models, and the files in the folder of a model."""

import hashlib
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import numpy as np

from softset.encoders.onnx import check_weights, onnx_file
from softset.errors import FileError
from softset.io.arrays import read_tensors
from softset.io.assets import bundled_folder
from softset.io.json_files import read_json
from softset.io.manifest import Manifest, sha256
from softset.io.registry import ImportRegistry

BUNDLED = "minilm"
KINDS = ("onnx", "transformers", "model2vec")
REGISTRY = ImportRegistry("models", "models", (BUNDLED, "words"))
MANIFEST = Manifest("Model", 1, "a model folder of softset", "import the model again with softset models import")
MOMENTS, MOMENTS_KIND = "moments.safetensors", "SecondMoments"  # second moments of token vectors; not weights
# Configuration and tokenizer. Other names that end in .model may be pickles.
TEXT_FILES = (
    "*.json", "*.txt", "*.spm", "*.tiktoken", "bpe.codes", "spiece.model", "spm.model", "tokenizer.model",
    "sentencepiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
# The text files that vectors depend on: they are part of the checksum.
CHECKED_FILES = re.compile(
    r"config\.json|tokeni[sz]er.*\.json|(special|added)_tokens.*\.json|vocab.*|merges\.txt|.*\.model"
)
PICKLES = re.compile(r".*\.(bin|pt|pth|pkl|ckpt)")


def model_folder(name: str) -> Path | None:
    """Return the folder of a bundled or imported model, or None if no model has that name."""
    return bundled_folder(BUNDLED, MANIFEST.kind) if name == BUNDLED else REGISTRY.folder(name)


def model_kind(folder: Path, kind: str | None = None) -> str:
    """Return the kind of the model in a folder: "onnx", "model2vec" or "transformers"; `kind` chooses among several."""
    names = sorted(path.name for path in folder.iterdir())
    kinds = _possible_kinds(folder, names)
    if kind is not None and kinds and kind not in kinds:
        raise FileError(f"{folder} has no {kind} model, only {' and '.join(kinds)}: leave out --kind")
    if kinds:
        return kind or kinds[0]
    if pickles := [name for name in names if PICKLES.fullmatch(name)]:
        raise FileError(
            f"{folder} has its weights in {pickles[0]}, a pickle, which is never loaded because it can run code: save "
            "the model with save_pretrained(…, safe_serialization=True)"
        )
    raise FileError(
        f"{folder} is not a model: config.json with *.safetensors (transformers, model2vec), or model.onnx with "
        "tokenizer.json was expected"
    )


def _possible_kinds(folder: Path, names: list[str]) -> list[str]:
    """Return the kinds of a folder, the preferred one first: an ONNX file is an export of complete safetensors."""
    config = read_json(folder / "config.json", missing_ok=True)
    if config.get("model_type") == "model2vec" or {"normalize", "apply_pca"} & config.keys():
        return ["model2vec"]
    kinds = [] if onnx_file(folder) is None else ["onnx"]
    if config.get("model_type") and any(name.endswith(".safetensors") and name != MOMENTS for name in names):
        kinds.insert(0 if config.get("architectures") else len(kinds), "transformers")
    return kinds


def model_files(folder: Path, kind: str) -> dict[str, Path]:
    """Return the files of a model by name: configuration, tokenizer and weights, but no pickles and no code.

    The ONNX file and its weights may be in the subfolder `onnx`.
    """
    patterns = (*TEXT_FILES, MOMENTS) if kind == "onnx" else (*TEXT_FILES, "*.safetensors")
    inside = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != "meta.json"]
    files = {path.name: path for path in inside if any(fnmatchcase(path.name, pattern) for pattern in patterns)}
    return files | ({path.name: path for path in _weights(folder, kind)} if kind == "onnx" else {})


def checksum(folder: Path) -> str:
    """Return eight hexadecimal digits over everything that vectors depend on: weights, tokenizer and config.

    Checksums in the manifest of an imported model are not computed again.
    """
    path, bundled = folder.resolve(), bundled_folder(BUNDLED, MANIFEST.kind)
    # Other folders may have a meta.json of another program.
    is_managed = path.parent == REGISTRY.root.resolve() or path == bundled.resolve()
    recorded = read_json(folder / "meta.json", missing_ok=True).get("files", {}) if is_managed else {}
    texts = (path for path in sorted(folder.iterdir()) if CHECKED_FILES.fullmatch(path.name) and path.is_file())
    files = [*_weights(folder, model_kind(folder)), *texts]
    sums = [recorded.get(path.name, {}).get("sha256") or sha256(path) for path in files]
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:8]


def _weights(folder: Path, kind: str) -> list[Path]:
    """Return the files that hold the weights of a model."""
    file = onnx_file(folder)
    if file is not None and kind == "onnx":
        check_weights(file)
        return [file, *sorted(file.parent.glob("model.onnx[._]data*"))]
    file = folder / "model.safetensors"
    return [file] if file.is_file() else sorted({*folder.glob("*.safetensors"), *_shards(folder)})


def _shards(folder: Path) -> list[Path]:
    """Return the files in the index of a sharded model; paths outside of the folder are rejected."""
    index = folder / "model.safetensors.index.json"
    weight_map = read_json(index, missing_ok=True).get("weight_map", {})
    names = {str(name) for name in weight_map.values()} if isinstance(weight_map, dict) else set()
    for name in sorted(names):
        path = PurePosixPath(name.replace("\\", "/"))
        if ".." in path.parts or path.is_absolute() or ":" in name or not (folder / path).is_file():
            raise FileError(f"{index} refers to weights in {name[:100]!r}, which is missing or outside of the folder")
    return [folder / name for name in names]


def find_moments(folder: Path) -> Path | None:
    """Return the file of second moments in a model's folder, or None; a file that disappears later is an error."""
    path = folder / MOMENTS
    return path if path.is_file() else None


def read_moment(path: Path | None, name: str) -> np.ndarray | None:
    """Return the second moment S (d, d) of one layer in float64, or None if there is no file or no such layer.

    S is the mean of v v^T over unit token vectors v, so its trace is 1. The expected squared membership of an unrelated
    token in a subspace with projector P is tr(P S). The file holds upper triangles.
    """
    triangle = None if path is None else read_tensors(path, MOMENTS_KIND)[0].get(name)
    if triangle is None:
        return None
    d = round((np.sqrt(8 * triangle.size + 1) - 1) / 2)
    if triangle.ndim != 1 or d * (d + 1) // 2 != triangle.size:
        raise FileError(f"{path} has {triangle.size} numbers for {name}, not a triangular matrix: create it again")
    S = np.zeros((d, d))
    S[np.triu_indices(d)] = triangle
    return S + np.triu(S, 1).T


def read_licence(folder: Path) -> str | None:
    """Return the licence that the front matter of a model's README.md names, or None."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    with card.open(encoding="utf-8", errors="replace") as file:
        text = file.read(1 << 20)
    front_matter = re.match(r"---\n(.*?\n)---", text, re.DOTALL)
    licence = re.search(r"^license: *([\w.+-]{1,100})\s*$", front_matter[1], re.MULTILINE) if front_matter else None
    return licence[1] if licence else None
