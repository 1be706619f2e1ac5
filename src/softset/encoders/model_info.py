"""Descriptions of models, from their manifest, their config and the encoder that opens them."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.models import BUNDLED, MANIFEST, REGISTRY, model_files, model_folder, model_kind, read_licence
from softset.encoders.signature import parse_signature
from softset.errors import FileError, InputError, SoftsetError
from softset.io.json_files import read_json
from softset.vectors import registry
from softset.vectors.storage import open_vectors, verify_vectors

__all__ = ["describe_model", "encoder_facts", "list_models", "verify_model"]

LISTED = ("kind", "dimensions", "layers", "bytes")
FIRST = ("name", "kind", "dimensions", "layers", "longest", "signature", "problem", "licence", "source")


def list_models() -> list[dict[str, Any]]:
    """Return the name, kind, dimensions, layers and bytes of every named model; damaged models have a `problem`."""
    rows = [_row(BUNDLED, model_folder(BUNDLED), _model_facts), _row("words", registry.vectors_folder(), _words_facts)]
    rows += [_row(name, folder, _model_facts) for name, folder in REGISTRY.items()]
    return rows + [_row(f"words:{name}", folder, _words_facts) for name, folder in registry.REGISTRY.items()]


def _row(name: str, folder: Path | None, read_facts: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    with suppress(SoftsetError, OSError):
        if folder is not None:
            facts = read_facts(folder)
            return {"name": name, **{key: facts[key] for key in LISTED if facts.get(key) is not None}}
    return {"name": name, "problem": "broken: remove it, and import it again"}


def describe_model(name: str) -> dict[str, Any]:
    """Return all facts about a model, given by its name or path.

    If its encoder cannot be opened (an extra may be missing), `problem` gives the reason and `signature` is None.
    """
    folder, is_words = _find_model(name)
    if is_words:
        facts = _words_facts(folder)
    elif model_folder(name) is not None or read_json(folder / "meta.json", missing_ok=True).get("softset"):
        facts = _model_facts(folder)
    else:
        facts = _folder_facts(folder)
    facts |= _open_facts(name)
    ordered = {key: facts.pop(key, None) for key in FIRST}
    ordered["name"] = ordered["name"] or name
    if ordered["problem"] is None:
        del ordered["problem"]
    return {**ordered, **facts, "folder": str(folder.resolve())}


def verify_model(name: str) -> None:
    """Compare the SHA-256 of every file of a model with its manifest."""
    folder, is_words = _find_model(name)
    if is_words:
        verify_vectors(folder)
    else:
        MANIFEST.verify(folder)


def _find_model(name: str) -> tuple[Path, bool]:
    """Return the folder that `load_encoder` opens by this name, and whether it holds word vectors."""
    kind, _, vectors = name.partition(":")
    if kind == "words":
        return registry.vectors_folder(vectors or None), True
    registered = model_folder(name)
    folder = registered or Path(name)
    if registered is not None and not registered.is_dir():
        raise FileError(f"the folder of {name} is missing: {MANIFEST.remedy}")
    if not folder.is_dir():
        known = ", ".join(row["name"] for row in list_models())
        raise InputError(f"there is no model named {name!r} and no such folder; known are {known}")
    return folder, (folder / "vectors.npy").is_file()


def _words_facts(folder: Path) -> dict[str, Any]:
    facts = _summarize(dict(open_vectors(folder).metadata))
    return {"kind": "words", "vectors": facts.pop("name", folder.name), **facts}


def _model_facts(folder: Path) -> dict[str, Any]:
    return _summarize(MANIFEST.read(folder))


def _summarize(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a manifest, with the total number of bytes in place of the files."""
    total = sum(int(file["bytes"]) for file in manifest["files"].values())
    facts = {key: value for key, value in manifest.items() if key not in ("softset", "version", "files")}
    return facts | {"bytes": total}


def _folder_facts(folder: Path) -> dict[str, Any]:
    """Return facts about a folder without a manifest."""
    kind = model_kind(folder)
    size = sum(path.stat().st_size for path in model_files(folder, kind).values())
    return {"kind": kind, "licence": read_licence(folder), "bytes": size}


def encoder_facts(encoder: Encoder) -> dict[str, Any]:
    """Return the dimensions, layers and longest input of an open encoder; `layers` is None if there is only one."""
    longest = parse_signature(encoder.signature).get("max_length")
    layers = getattr(encoder, "layer", None)
    return {"dimensions": encoder.dimensions, "layers": layers, "longest": None if longest is None else int(longest)}


def _open_facts(name: str) -> dict[str, Any]:
    """Return the facts of a model's default encoder, or the reason why it cannot be opened."""
    try:
        encoder = load_encoder(name)
        return {**encoder_facts(encoder), "signature": encoder.signature}
    except Exception as error:  # noqa: BLE001 (whatever a library raises, the description is still useful)
        reason = " ".join(str(error).split()) or type(error).__name__
        return {"signature": None, "problem": f"it cannot be opened: {reason}"}
