"""Opening models of the sentence-transformers package, and looking into them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.config import read_json
from softset.errors import FileError, InputError, MissingExtraError
from softset.io.text import first_line

__all__ = ["backend_of", "identity_of", "is_half", "load_model", "numpy_of", "package", "precision_of"]

KINDS = {
    "SentenceTransformer": "SentenceTransformer",
    "MultiVectorEncoder": "MultiVectorEncoder",
    "ColBERT": "MultiVectorEncoder",
}


def package() -> Any:
    """Return the package, or say how to install it."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingExtraError(
            f"models of sentence-transformers need the package ({error}): pip install sentence-transformers"
        ) from error
    return sentence_transformers


def load_model(library: Any, name: str | os.PathLike[str]) -> Any:
    """Open a model by its folder or name: only safetensors, and no code of it."""
    folder = _folder(name)
    kind = read_json(folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    if "HF_ColBERT" in (read_json(folder / "config.json").get("architectures") or ()):
        kind = "ColBERT"
    if not hasattr(library, KINDS.get(kind, "")):
        raise FileError(f"{folder} holds a {kind}, but a SentenceTransformer or a MultiVectorEncoder was wanted")
    for pickle in folder.rglob("pytorch_model*.bin"):
        if not any((pickle.parent / f"model.safetensors{end}").is_file() for end in ("", ".index.json")):
            raise FileError(f"{pickle} may hold code, so it is not opened: save the model again, as safetensors")
    try:
        return getattr(library, KINDS[kind])(
            str(folder), local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except Exception as error:  # a module that is not installed, weights that do not fit, and whatever else
        raise FileError(f"{folder} cannot be opened by sentence-transformers: {first_line(error)}") from error


def _folder(name: str | os.PathLike[str]) -> Path:
    """Return a model's folder: the one named, or where an earlier download is kept."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    wanted = str(name) if "/" in str(name) else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(wanted, local_files_only=True))
    except (OSError, ValueError):
        raise FileError(
            f"{name} is neither a folder nor a model that was downloaded before: give the path of one, or the loaded "
            "model"
        ) from None


def backend_of(model: Any) -> Any:
    """Return a copy of the model's tokeniser that neither cuts nor pads; the model's own stays as it is."""
    from tokenizers import Tokenizer

    found = getattr(model, "tokenizer", None)
    own = getattr(found, "backend_tokenizer", None)
    if own is None:
        raise InputError(
            f"the model's tokeniser is of type {type(found).__name__}, but a fast one of transformers was wanted: use "
            "FunctionEncoder(model.encode) for one vector a text"
        )
    backend = Tokenizer.from_str(own.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def identity_of(model: Any, name: str | None) -> str:
    """Return the model's name with a checksum over all that decides a vector: weights, settings and tokeniser."""
    import torch

    digest = hashlib.sha256(backend_of(model).to_str().encode())
    for module in model:
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
        digest.update(json.dumps([type(module).__name__, settings], sort_keys=True, default=str).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    known = name or Path(getattr(config, "name_or_path", None) or "unnamed").name
    return f"st({known})@{digest.hexdigest()[:8]}"


def is_half(model: Any) -> bool:
    """Say whether a model computes in 16 bits."""
    return model.dtype is not None and model.dtype.itemsize < 4


def precision_of(model: Any) -> str | None:
    """Return what a model computes in, where it is not float32."""
    found = str(model.dtype).removeprefix("torch.")
    return None if found in ("float32", "None") else found


def numpy_of(tensor: Any) -> np.ndarray:
    """Return a tensor as an array in float32."""
    array: np.ndarray = tensor.float().cpu().numpy()
    return array
