"""A model copied to the user's cache: its safe files only, checked, opened once, and then known by a name."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from softset.embed.encoders.config import read_json
from softset.embed.encoders.loading import load_encoder
from softset.embed.encoders.onnx_graph import weight_locations
from softset.embed.encoders.protocol import Encoder
from softset.embed.model_facts import configured, measured
from softset.embed.model_files import (
    CARD,
    ModelFiles,
    check_tokeniser,
    chosen,
    fetch,
    find_files,
    licence_in,
    printable,
)
from softset.embed.models import SEAL, SHELF, kind_of
from softset.errors import FileError, MissingExtraError, SoftsetError

__all__ = ["import_model"]

TRIAL = "A red book."


def import_model(source: str, name: str, *, replace: bool = False) -> dict[str, Any]:
    """Copy a model so that `load_encoder(name)` opens it; return its facts, and whether it was `tried`.

    The source is a folder, a wheel or zip file that holds one, or a hub name. The copy is opened before it gets its
    name, where the libraries it needs are installed; if anything fails, nothing is left of it.
    """
    SHELF.check_name(name, replace=replace)
    path = Path(source)
    if path.exists():
        return _import(path, str(path), path.resolve().name, name, replace=replace)
    SHELF.home.mkdir(parents=True, exist_ok=True)
    # Named as an unfinished import is, so that it will be swept away even if this process is killed.
    with tempfile.TemporaryDirectory(dir=SHELF.home, prefix=f"{name}@") as folder:
        fetch(source, Path(folder))
        return _import(Path(folder), source, source, name, replace=replace)


def _import(path: Path, shown: str, origin: str, name: str, *, replace: bool) -> dict[str, Any]:
    """Import what lies at a path; sentences call it as it is `shown`, and facts by its `origin`."""

    def fill(folder: Path) -> dict[str, Any]:
        try:
            with find_files(path) as files:
                kind = _copy(files, folder)
                source = origin if files.home in (None, ".") else f"{origin}, {files.home}"
                facts = {"name": name, "kind": kind, "source": printable(source), **_told(files)}
            found = _try(folder)
        except SoftsetError as error:
            sentence = str(error).replace(str(folder), shown).replace(folder.name, shown).replace(str(path), shown)
            raise FileError(printable(" ".join(sentence.split()))) from error
        known = {key: found[key] for key in ("dimensions", "layers") if found.get(key) is not None}
        SEAL.close(folder, facts | known)
        return {**facts, **known, "tried": found["tried"]}

    return SHELF.put(name, fill, replace=replace)


def _copy(files: ModelFiles, folder: Path) -> str:
    """Copy the files that a model is made of, without folders, and return its kind."""
    if "config.json" in files.parts:
        _copy_one(files, "config.json", folder)
    kind = kind_of(files.parts, read_json(folder / "config.json"), files.where)
    check_tokeniser(kind, files.parts, files.where)
    for name in chosen(kind, files.parts):
        if name != "config.json":
            _copy_one(files, name, folder)
    if kind == "onnx":
        _copy_weights_beside(files, folder)
    return kind


def _copy_weights_beside(files: ModelFiles, folder: Path) -> None:
    """Copy what an ONNX file names as its weights and lies beside it under any name; what lacks is told on opening."""
    place = "" if "model.onnx" in files.parts else "onnx/"
    with suppress(ValueError, RecursionError):  # no ONNX file: told on opening
        for name in sorted(weight_locations((folder / "model.onnx").read_bytes())):
            beside = "/" not in name and name != "meta.json" and place + name in files.parts
            if beside and not (folder / name).exists():
                _copy_one(files, place + name, folder)


def _copy_one(files: ModelFiles, name: str, folder: Path) -> None:
    with (folder / PurePosixPath(name).name).open("wb") as target:
        for chunk in files.read(name):
            target.write(chunk)


def _told(files: ModelFiles) -> dict[str, str]:
    """Return what the source says about origin and licence: in its README.md, or in the meta.json of softset."""
    told: dict[str, str] = {}
    if (licence := licence_in(_beginning(files, CARD))) is not None:
        told["licence"] = licence
    with suppress(ValueError, RecursionError):
        meta = json.loads(_beginning(files, "meta.json") or "{}")
        if isinstance(meta, dict) and meta.get("softset") == SEAL.kind:
            told |= {key: printable(str(meta[key])) for key in ("origin", "licence", "moments") if key in meta}
    return told


def _beginning(files: ModelFiles, name: str) -> str:
    """Return the first megabyte of a file as text; nothing where there is no such file."""
    return next(files.read(name), b"").decode(errors="replace") if name in files.parts else ""


def _try(folder: Path) -> dict[str, Any]:
    """Open a model and encode a text, so that a broken one is noticed; its config must do where libraries lack."""
    try:
        encoder = load_encoder(folder)
        rows = _encoded(encoder)
    except MissingExtraError:
        return {**configured(folder), "tried": False}
    except SoftsetError:
        raise
    except Exception as error:  # what the libraries raise has no common class
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FileError(f"{folder} cannot encode a text ({why[:300]}): save the model again") from error
    if not np.isfinite(rows).all():
        raise FileError(f"{folder} gives numbers that are not finite for the text {TRIAL!r}: save the model again")
    return {**measured(encoder), "tried": True}


def _encoded(encoder: Encoder) -> np.ndarray:
    """Return the vectors of a text and of the marks around it."""
    sets = encoder.encode([TRIAL])
    return np.concatenate([part.vectors for part in (sets, sets.special) if part is not None])
