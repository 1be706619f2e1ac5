"""Import of a model from a folder or the hub: its safe files are copied to the user's cache under a name."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.base import Progress
from softset.encoders.library_errors import translate_errors
from softset.encoders.loading import load_encoder
from softset.encoders.model_info import encoder_facts
from softset.encoders.models import (
    KINDS,
    MANIFEST,
    ONNX_DATA,
    REGISTRY,
    TEXT_FILES,
    is_text_file,
    model_files,
    model_kind,
    read_licence,
)
from softset.errors import FileError, InputError, MissingExtraError, SoftsetError
from softset.io.text import printable

__all__ = ["import_model"]

SAMPLE = "A red book."
MAX_TEXT_BYTES = 1 << 28  # a config or tokenizer; tokenizers of 250,000 words take 35 MB
CHUNK_BYTES = 1 << 20
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
ONNX_FILES = ("model.onnx", *ONNX_DATA)
HUB_FILES = [*TEXT_FILES, "*.safetensors", "README.md", *ONNX_FILES, *(f"onnx/{name}" for name in ONNX_FILES)]
# "*" also matches slashes, so files in other subfolders are ignored explicitly.
HUB_IGNORED = ["*/*.json", "*/*.txt", "*/*.spm", "*/*.tiktoken", "*/*.safetensors"]
TOKENIZER_FILES = re.compile(r"tokenizer\.json|vocab\.(json|txt)|dict\.txt|bpe\.codes|.*\.(model|spm|tiktoken)")


def import_model(
    source: str, name: str, *, replace: bool = False, kind: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Copy a model so that `load_encoder(name)` opens it; return its facts.

    The copy is opened and encodes a text before it gets its name, so the libraries that it needs must be installed. If
    anything fails, nothing remains.

    Args:
        source: a folder, or else the name of a model on the Hugging Face hub, which is downloaded.
        name: the name of the copy.
        replace: replace an imported model of the same name.
        kind: "onnx", "transformers" or "model2vec", for a folder with an ONNX file and safetensors.
        progress: called with the number of copied bytes and of all bytes.
    """
    REGISTRY.check_name(name, replace=replace)
    if kind is not None and kind not in KINDS:
        raise InputError(f"the kind {kind!r} is not known: use {', '.join(KINDS)}")
    path = Path(source)
    if path.is_dir():
        return _import(_Source(path, str(path), path.resolve().name), name, replace, kind, progress)
    if path.exists():
        raise FileError(f"{source} is not a folder: unpack an archive and give the folder of the model")
    REGISTRY.root.mkdir(parents=True, exist_ok=True)
    # With the name of an unfinished import, the registry deletes the folder even if this process is killed.
    with tempfile.TemporaryDirectory(dir=REGISTRY.root, prefix=f"{name}@") as folder:
        _download(source, Path(folder))
        return _import(_Source(Path(folder), source, source), name, replace, kind, progress)


@dataclass(frozen=True)
class _Source:
    """The folder of a model, its name in error messages (`label`) and in the facts (`origin`)."""

    folder: Path
    label: str
    origin: str


def _download(name: str, folder: Path) -> None:
    """Download the safe files of a model on the hub."""
    if not HUB_NAME.fullmatch(name) or name.endswith((".whl", ".zip", ".gz")):
        raise InputError(f"there is no folder {name}: give the folder of a model, or its hub name")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError(
            f"there is no folder {name}, and a hub name needs huggingface_hub: pip install 'softset[torch]'"
        ) from error
    with translate_errors(f"there is no folder {name}, and the hub has no such model", "check the name"):
        snapshot_download(name, local_dir=folder, allow_patterns=HUB_FILES, ignore_patterns=HUB_IGNORED)


def _import(source: _Source, name: str, replace: bool, kind: str | None, progress: Progress | None) -> dict[str, Any]:
    """Copy a model, try it, and register it under its name."""
    with REGISTRY.create(name, replace=replace) as folder:
        try:
            chosen = _copy_model(source.folder, folder, kind, progress)
            facts = {
                "name": name,
                "kind": chosen,
                "source": printable(source.origin),
                "licence": read_licence(source.folder),
                **_try_encoder(folder),
            }
        except SoftsetError as error:
            message = str(error)
            for internal in (str(folder), folder.name, str(source.folder)):
                message = message.replace(internal, source.label)
            raise FileError(printable(" ".join(message.split()))) from error
        facts = {key: value for key, value in facts.items() if value is not None}
        MANIFEST.write(folder, facts)
    return facts


def _copy_model(source: Path, folder: Path, kind: str | None, progress: Progress | None) -> str:
    """Copy the files of a model and return its kind."""
    kind = model_kind(source, kind)
    files = model_files(source, kind)
    has_tokenizer = any(map(TOKENIZER_FILES.fullmatch, files)) if kind == "transformers" else "tokenizer.json" in files
    if not has_tokenizer:
        raise FileError(f"{source} has no tokenizer.json: save the tokenizer in the folder of the model")
    _check_files(source, files)
    _copy_files(files, folder, progress)
    return kind


def _check_files(source: Path, files: Mapping[str, Path]) -> None:
    """Reject links that leave the folder, and text files that are too large to be read."""
    root = source.resolve()
    for name, path in files.items():
        target = path.resolve()
        if not target.is_relative_to(root):
            raise FileError(f"{path} is a link to {target}, outside of the model's folder: copy the file (cp -RL)")
        size = target.stat().st_size
        if size > MAX_TEXT_BYTES and is_text_file(name):
            raise FileError(f"{path} has {size:,} bytes, but the limit of such a file is {MAX_TEXT_BYTES:,}")


def _copy_files(files: Mapping[str, Path], folder: Path, progress: Progress | None) -> None:
    total, done = sum(path.stat().st_size for path in files.values()), 0
    for name, path in files.items():
        with path.open("rb") as original, (folder / name).open("wb") as copy:
            while chunk := original.read(CHUNK_BYTES):
                copy.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)


def _try_encoder(folder: Path) -> dict[str, Any]:
    """Encode a text with the copy and return the dimensions and layers."""
    with translate_errors(f"{folder} cannot encode a text", "save the model again"):
        encoder = load_encoder(folder)
        sets = encoder.encode([SAMPLE])
    if not all(np.isfinite(part.vectors).all() for part in (sets, sets.special) if part is not None):
        raise FileError(f"{folder} returns numbers that are not finite for the text {SAMPLE!r}: save the model again")
    facts = encoder_facts(encoder)
    return {"dimensions": facts["dimensions"], "layers": facts["layers"]}
