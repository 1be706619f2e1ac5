"""Import, list, describe and verify models. An import copies the safe files of a model to the user's cache."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders import models
from softset.encoders.base import Encoder, Progress
from softset.encoders.loading import load_encoder
from softset.encoders.models import MANIFEST, REGISTRY, TEXT_FILES, model_files, model_folder, model_kind, read_licence
from softset.encoders.signature import parse_signature
from softset.errors import FileError, InputError, SoftsetError
from softset.io.json_files import read_json
from softset.io.manifest import Manifest
from softset.io.text import import_extra, printable, translate_errors
from softset.vectors import registry, storage

SAMPLE = "A red book."
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
ONNX_FILES = ("model.onnx", "model.onnx[._]data*")
MAX_TEXT_BYTES = 1 << 28  # size limit of a config or tokenizer; a tokenizer of 250,000 words takes 35 MB
HUB_FILES = [*TEXT_FILES, "*.safetensors", "README.md", *ONNX_FILES, *(f"onnx/{name}" for name in ONNX_FILES)]
# "*" also matches slashes, so files in other subfolders are ignored explicitly.
HUB_IGNORED = ["*/*.json", "*/*.txt", "*/*.spm", "*/*.tiktoken", "*/*.safetensors"]
TOKENIZER_FILES = re.compile(r"tokenizer\.json|vocab\.(json|txt)|dict\.txt|bpe\.codes|.*\.(model|spm|tiktoken)")
LISTED = ("kind", "dimensions", "layers", "bytes")
DESCRIBED = ("name", "kind", "dimensions", "layers", "longest", "signature", "problem", "licence", "source")


def import_model(
    source: str, name: str, *, replace: bool = False, kind: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Copy a model so that `load_encoder(name)` opens it; return its facts.

    The copy is opened and encodes a text before it gets its name, so the libraries that it needs must be installed. If
    anything fails, the copy is deleted.

    Args:
        source: a folder, or else the name of a model on the Hugging Face hub, which is downloaded.
        name: the name of the copy.
        replace: replace an imported model of the same name.
        kind: "onnx", "transformers" or "model2vec", for a folder with an ONNX file and safetensors.
        progress: called with the number of copied bytes and of all bytes, after each file.
    """
    REGISTRY.check_name(name, replace=replace)
    if kind is not None and kind not in models.KINDS:
        raise InputError(f"the kind {kind!r} is not known: use {', '.join(models.KINDS)}")
    with _local_folder(source, name) as path, REGISTRY.create(name, replace=replace) as folder:
        try:
            kind = model_kind(path, kind)
            _copy_files(path, kind, folder, progress)
            encoder = _try_encoder(folder)
        except SoftsetError as error:
            message = str(error)
            for internal in (str(folder), folder.name, str(path)):
                message = message.replace(internal, source)
            raise FileError(printable(" ".join(message.split()))) from error
        origin = path.resolve().name if Path(source).is_dir() else source
        facts: dict[str, Any] = {"name": name, "kind": kind, "source": printable(origin)}
        facts |= {"licence": read_licence(path), "dimensions": encoder.dimensions}
        facts["layers"] = getattr(encoder, "layer", None)
        facts = {key: value for key, value in facts.items() if value is not None}
        MANIFEST.write(folder, facts)
    return facts


@contextmanager
def _local_folder(source: str, name: str) -> Iterator[Path]:
    """Yield the folder of a model; the safe files of a model on the hub are downloaded to a temporary folder."""
    if Path(source).is_dir():
        yield Path(source)
        return
    if Path(source).exists():
        raise FileError(f"{source} is not a folder: unpack an archive and give the folder of the model")
    if not HUB_NAME.fullmatch(source) or source.endswith((".whl", ".zip", ".gz")):
        raise InputError(f"there is no folder {source}: give the folder of a model, or its hub name")
    message = f"there is no folder {source}, and a hub name needs huggingface_hub: pip install 'softset[torch]'"
    hub = import_extra("huggingface_hub", message)
    REGISTRY.root.mkdir(parents=True, exist_ok=True)
    # With the name of an unfinished import, the registry deletes the folder even if this process is killed.
    with tempfile.TemporaryDirectory(dir=REGISTRY.root, prefix=f"{name}@") as folder:
        with translate_errors(f"there is no folder {source}, and the hub has no such model", "check the name"):
            hub.snapshot_download(source, local_dir=folder, allow_patterns=HUB_FILES, ignore_patterns=HUB_IGNORED)
        yield Path(folder)


def _copy_files(source: Path, kind: str, folder: Path, progress: Progress | None) -> None:
    """Copy the files of a model; links that leave its folder are rejected."""
    files = model_files(source, kind)
    tokenizer = TOKENIZER_FILES if kind == "transformers" else re.compile(r"tokenizer\.json")
    if not any(map(tokenizer.fullmatch, files)):
        raise FileError(f"{source} has no tokenizer.json: save the tokenizer in the folder of the model")
    for path in files.values():
        if not path.resolve().is_relative_to(source.resolve()):
            raise FileError(f"{path} is a link outside of the model's folder: copy the file (cp -RL)")
        size = path.stat().st_size
        if size > MAX_TEXT_BYTES and any(path.match(pattern) for pattern in TEXT_FILES):
            raise FileError(f"{path} has {size:,} bytes, but the limit of such a file is {MAX_TEXT_BYTES:,}")
    total, done = sum(path.stat().st_size for path in files.values()), 0
    for name, path in files.items():
        done += Path(shutil.copyfile(path, folder / name)).stat().st_size
        if progress is not None:
            progress(done, total)


def _try_encoder(folder: Path) -> Encoder:
    """Encode a text with the copy and return its encoder."""
    with translate_errors(f"{folder} cannot encode a text", "save the model again"):
        encoder = load_encoder(folder)
        sets = encoder.encode([SAMPLE])
    if not all(np.isfinite(part.vectors).all() for part in (sets, sets.special) if part is not None):
        raise FileError(f"{folder} returns numbers that are not finite for the text {SAMPLE!r}: save the model again")
    return encoder


def list_models() -> list[dict[str, Any]]:
    """Return the name, kind, dimensions, layers and bytes of every named model; damaged models have a `problem`."""
    named = [(models.BUNDLED, model_folder(models.BUNDLED), MANIFEST)]
    named += [("words", registry.vectors_folder(), storage.MANIFEST)]
    named += [(name, folder, MANIFEST) for name, folder in REGISTRY.items()]
    named += [(f"words:{name}", folder, storage.MANIFEST) for name, folder in registry.REGISTRY.items()]
    return [_row(*model) for model in named]


def _row(name: str, folder: Path | None, manifest: Manifest) -> dict[str, Any]:
    with suppress(SoftsetError, OSError):
        if folder is not None:
            facts = _stored_facts(folder, manifest)
            return {"name": name, **{key: facts[key] for key in LISTED if facts.get(key) is not None}}
    return {"name": name, "problem": "damaged: remove it and import it again"}


def _stored_facts(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """Return the facts of a folder's manifest, with the total number of bytes in place of the files."""
    content = manifest.read(folder)
    facts = {key: value for key, value in content.items() if key not in ("softset", "version", "files")}
    facts["bytes"] = sum(int(file["bytes"]) for file in content["files"].values())
    if manifest is storage.MANIFEST:
        return {"kind": "words", "vectors": facts.pop("name", folder.name), **facts}
    return facts


def describe_model(name: str) -> dict[str, Any]:
    """Return all facts about a model, given by its name or path.

    If its encoder cannot be opened (an extra may be missing), `problem` gives the reason and `signature` is None.
    """
    folder, manifest = _find_model(name)
    is_stored = manifest is storage.MANIFEST or model_folder(name) is not None
    if is_stored or read_json(folder / "meta.json", missing_ok=True).get("softset"):
        facts = _stored_facts(folder, manifest)
    else:
        kind = model_kind(folder)
        size = sum(path.stat().st_size for path in model_files(folder, kind).values())
        facts = {"kind": kind, "licence": read_licence(folder), "bytes": size}
    facts = {"name": name} | facts | _encoder_facts(name)
    ordered = {key: facts.pop(key, None) for key in DESCRIBED if key in facts or key != "problem"}
    return {**ordered, **facts, "folder": str(folder.resolve())}


def verify_model(name: str) -> None:
    """Compare the SHA-256 of every file of a model with its manifest."""
    folder, manifest = _find_model(name)
    manifest.verify(folder)


def _find_model(name: str) -> tuple[Path, Manifest]:
    """Return the folder that `load_encoder` opens by this name, and the format of its manifest."""
    kind, _, vectors = name.partition(":")
    if kind == "words":
        return registry.vectors_folder(vectors or None), storage.MANIFEST
    registered = model_folder(name)
    folder = registered or Path(name)
    if registered is not None and not registered.is_dir():
        raise FileError(f"the folder of {name} is missing: {MANIFEST.remedy}")
    if not folder.is_dir():
        known = ", ".join(row["name"] for row in list_models())
        raise InputError(f"there is no model or folder named {name!r}; installed models: {known}")
    return folder, storage.MANIFEST if (folder / "vectors.npy").is_file() else MANIFEST


def _encoder_facts(name: str) -> dict[str, Any]:
    """Return the facts of a model's default encoder, or the reason why it cannot be opened."""
    try:
        encoder = load_encoder(name)
        longest = parse_signature(encoder.signature).get("max_length")
    except Exception as error:  # noqa: BLE001 (whatever a library raises, the description is still useful)
        reason = " ".join(str(error).split()) or type(error).__name__
        return {"signature": None, "problem": f"it cannot be opened: {reason}"}
    facts = {"dimensions": encoder.dimensions, "layers": getattr(encoder, "layer", None)}
    return facts | {"longest": None if longest is None else int(longest), "signature": encoder.signature}
