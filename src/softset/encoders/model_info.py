"""What is known about a model: from meta.json, from its config, and from the encoder that it makes."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from softset.encoders.base import Encoder
from softset.encoders.config import longest_sequence, read_json
from softset.encoders.loading import load_encoder
from softset.encoders.model_files import CARD, chosen, licence_in, list_folder
from softset.encoders.models import BUNDLED, MANIFEST, REGISTRY, model_folder, model_kind
from softset.encoders.signature import parse_signature
from softset.errors import FileError, InputError, MissingExtraError, SoftsetError
from softset.vectors import registry
from softset.vectors.storage import open_vectors, verify_vectors

__all__ = ["configured", "describe_model", "list_models", "measured", "verify_model"]

WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "hidden_dim")
DEPTHS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers")
BRIEF = ("kind", "dimensions", "layers", "bytes")


def list_models() -> list[dict[str, Any]]:
    """Return name, kind, dimensions, layers and bytes of every model that has a name; a broken one has its problem."""
    rows = [_row(BUNDLED, model_folder(BUNDLED), _model_facts), _row("words", registry.vectors_folder(), _words_facts)]
    rows += [_row(name, folder, _model_facts) for name, folder in REGISTRY.items()]
    return rows + [_row(f"words:{name}", folder, _words_facts) for name, folder in registry.REGISTRY.items()]


def _row(name: str, folder: Path | None, facts_of: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    with suppress(SoftsetError, OSError):
        if folder is not None:
            facts = facts_of(folder)
            return {"name": name, **{key: facts[key] for key in BRIEF if facts.get(key) is not None}}
    return {"name": name, "problem": "broken: remove it, and import it again"}


def describe_model(name: str) -> dict[str, Any]:
    """Return all that is known about a model by its name or path; nothing of it need be installed but softset.

    Where its encoder cannot be opened, `problem` says why, and its signature is None.
    """
    folder, words = _located(name)
    if words:
        facts = _words_facts(folder)
    elif model_folder(name) is not None or read_json(folder / "meta.json").get("softset"):
        facts = _model_facts(folder)
    else:
        facts = _folder_facts(folder)
    found = {**facts, **_opened(name, {} if words else configured(folder))}
    first = ("name", "kind", "dimensions", "layers", "longest", "signature", "problem", "licence", "source")
    ordered = {key: found.pop(key, None) for key in first}
    ordered["name"] = ordered["name"] or name
    if ordered["problem"] is None:
        del ordered["problem"]
    return {**ordered, **found, "folder": str(folder.resolve())}


def verify_model(name: str) -> None:
    """Read every file of a model and compare its SHA-256 with the one noted when it was written."""
    folder, words = _located(name)
    if words:
        verify_vectors(folder)
    else:
        MANIFEST.verify(folder)


def _located(name: str) -> tuple[Path, bool]:
    """Return the folder that `load_encoder` opens by this name, and whether it holds word vectors."""
    kind, _, rest = name.partition(":")
    if kind == "words":
        return registry.vectors_folder(rest or None), True
    named = model_folder(name)
    folder = named or Path(name)
    if named is not None and not named.is_dir():
        raise FileError(f"the folder of {name} is gone: {MANIFEST.remedy}")
    if not folder.is_dir():
        known = ", ".join(row["name"] for row in list_models())
        raise InputError(f"there is no model named {name!r} and no such folder; known are {known}")
    return folder, (folder / "vectors.npy").is_file()


# Facts of one folder


def _words_facts(folder: Path) -> dict[str, Any]:
    facts = _summed(dict(open_vectors(folder).metadata))
    return {"kind": "words", "vectors": facts.pop("name", folder.name), **facts}


def _model_facts(folder: Path) -> dict[str, Any]:
    return _summed(MANIFEST.read(folder))


def _summed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of meta.json with one number of bytes in place of the files."""
    size = sum(int(file["bytes"]) for file in facts["files"].values())
    return {key: value for key, value in facts.items() if key not in ("softset", "version", "files")} | {"bytes": size}


def _folder_facts(folder: Path) -> dict[str, Any]:
    """Return what a folder says that softset did not write."""
    kind, parts, card = model_kind(folder), list_folder(folder).parts, folder / CARD
    licence = licence_in(card.read_text(encoding="utf-8", errors="replace")) if card.is_file() else None
    return {"kind": kind, "licence": licence, "bytes": sum(parts[name].size for name in chosen(kind, parts))}


def configured(folder: Path) -> dict[str, Any]:
    """Return dimensions, layers and the longest input of a transformers model, as far as its config names them."""
    if model_kind(folder) != "transformers":
        return {}
    config, limit = read_json(folder / "config.json"), read_json(folder / "tokenizer_config.json")
    wide = next((config[key] for key in WIDTHS if isinstance(config.get(key), int)), None)
    deep = next((config[key] for key in DEPTHS if isinstance(config.get(key), int)), None)
    longest = longest_sequence(config, limit.get("model_max_length"))
    return {"dimensions": wide, "layers": deep, "longest": longest}


def measured(encoder: Encoder) -> dict[str, Any]:
    """Return dimensions, layers and the longest input of an open encoder; None for layers where there is one only."""
    longest = parse_signature(encoder.signature).get("max_length")
    layers = getattr(encoder, "layer", None)
    return {"dimensions": encoder.dimensions, "layers": layers, "longest": None if longest is None else int(longest)}


def _opened(name: str, otherwise: dict[str, Any]) -> dict[str, Any]:
    """Return what the default encoder of a model says of itself, or why it cannot be opened."""
    try:
        encoder = load_encoder(name)
        return {**measured(encoder), "signature": encoder.signature}
    except MissingExtraError as error:
        return {**otherwise, "signature": None, "problem": str(error)}
    except Exception as error:  # noqa: BLE001 (what the libraries raise; a description need not fail for that)
        why = " ".join(str(error).split()) or type(error).__name__
        return {**otherwise, "signature": None, "problem": f"it cannot be opened: {why}"}
