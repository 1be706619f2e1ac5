"""Models of the sentence-transformers package: their token vectors, and those of late interaction (ColBERT)."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softset.embed.encoders.base import BLOCK, TextEncoder
from softset.embed.encoders.batching import BUDGET, batches, padded
from softset.embed.encoders.config import longest_sequence, read_json
from softset.embed.encoders.contextual import ContextualEncoder, Options
from softset.embed.encoders.protocol import Progress
from softset.embed.encoders.signature import format_signature
from softset.embed.encoders.texts import check_texts, first_places
from softset.embed.encoders.tokeniser import SubWords
from softset.embed.tokensets import TokenSets
from softset.errors import FileError, InputError, MissingExtraError

__all__ = ["LateInteractionEncoder", "SentenceEncoder", "sentence_encoder"]

Role = Literal["document", "query"]
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # the first that a model has
KINDS = {
    "SentenceTransformer": "SentenceTransformer",
    "MultiVectorEncoder": "MultiVectorEncoder",
    "ColBERT": "MultiVectorEncoder",
}
# Modules that do the same to a token whatever stands beside it, so that padding cannot leak into a vector.
TOKENWISE = {
    "Transformer",
    "Pooling",
    "Dense",
    "Normalize",
    "Dropout",
    "LayerNorm",
    "WeightedLayerPooling",
    "WordWeights",
}


def sentence_encoder(
    model: Any, *, role: Role = "document", options: Options | None = None, name: str | None = None
) -> TextEncoder:
    """Return a SentenceTransformer or a MultiVectorEncoder as an encoder: the model, its folder, or its name.

    A name is looked up among the models downloaded before: nothing is fetched, no code of a model is run, and only
    safetensors files are opened. A SentenceTransformer goes through our own batches and windows, without its prompts. A
    MultiVectorEncoder goes through its own code, which has a way for each `role`; it decides itself what is in a set,
    so that of the options only `budget` applies. Do not train a model on while it is an encoder.
    """
    if role not in PROMPTS:
        raise InputError(f'the role {role!r} is not known: use "document" or "query"')
    package = _package()
    if isinstance(model, str | os.PathLike):
        name = name or Path(model).resolve().name
        model = _load(package, model)
    if isinstance(model, package.SentenceTransformer):
        _must_read_plain_text(model)
        return SentenceEncoder(_tokeniser(model), _Modules(model, _identity(model, name)), options)
    if isinstance(model, getattr(package, "MultiVectorEncoder", ())):
        if options is not None and replace(options, budget=BUDGET) != Options():
            raise InputError("a multi-vector model decides itself what is in a set: of the options, give budget only")
        return LateInteractionEncoder(model, _identity(model, name), role, (options or Options()).budget)
    raise InputError(
        f"{type(model).__name__} was given, but a SentenceTransformer, a MultiVectorEncoder or the folder of one was "
        "wanted"
    )


class SentenceEncoder(ContextualEncoder):
    """The token vectors of a SentenceTransformer as they leave its last module that changes them.

    `embed` gives the model's own sentence vectors, however it pools; for a text of many windows their mean.
    """

    _network: "_Modules"

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return the model's own sentence vector of each text, (n, d); zero for an empty text."""
        if self._network.pooled is None:
            return super().embed(texts, progress=progress)
        if self._network.pooled != self.dimensions:
            raise InputError(
                f"the model's sentence vectors have {self._network.pooled} dimensions and its token vectors "
                f"{self.dimensions}, so they are not of one space: use FunctionEncoder(model.encode) for the sentences"
            )
        given = check_texts(texts)
        place = first_places(given)
        distinct = list(place)
        pooled = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        for start in range(0, len(distinct), BLOCK):
            pooled[start : start + BLOCK] = self._sentences(distinct[start : start + BLOCK])
            if progress is not None:
                progress(min(start + BLOCK, len(distinct)), len(distinct))
        return pooled[[place[text] for text in given]]

    def _sentences(self, texts: Sequence[str]) -> np.ndarray:
        before, after = ([mark for mark, _ in marks] for marks in (self._tokeniser.prefix, self._tokeniser.suffix))
        jobs, sequences = [], []
        for at, (text, one) in enumerate(zip(texts, self._tokeniser(texts), strict=True)):
            plan = self.plan(text, len(one.ids))
            if (one.unknown | one.blank)[: plan[-1].stop].all():
                continue  # its set is empty
            for window in plan:
                jobs.append((at, (window.end - window.begin) / plan[-1].stop))
                sequences.append(np.array([*before, *one.ids[window.start : window.stop], *after], dtype=np.int64))
        pooled = np.zeros((len(texts), self.dimensions))
        most = 1 if self._network.alone else None
        for group in batches([len(one) for one in sequences], self.options.budget, most):
            found = self._network.sentences(*padded([sequences[job] for job in group], self._tokeniser.pad))
            for row, job in enumerate(group):
                at, share = jobs[job]
                pooled[at] += share * found[row]
        return pooled


class _Modules:
    """The modules of a SentenceTransformer as a network."""

    layer: int | None = None  # the last is what the modules after it were trained on

    def __init__(self, model: Any, identity: str) -> None:
        self._model, self.identity = model, identity
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        limits = {} if config is None else config.to_dict()
        self.longest: int | None = longest_sequence(limits, model.max_seq_length)
        self._typed = "token_type_ids" in model.tokenizer.model_input_names
        self.precision = _precision(model)
        # Half precision rounds differently for every shape of a batch, by more than we promise.
        self.alone = _half(model) or not all(type(one).__name__ in TOKENWISE for one in model)
        self.dimensions, self.pooled = self._sizes()

    def _sizes(self) -> tuple[int, int | None]:
        """Return the lengths of token vectors and of sentence vectors, seen on three tokens."""
        found = self._run(np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.int64))
        tokens, sentence = found.get("token_embeddings"), found.get("sentence_embedding")
        if tokens is None or tuple(tokens.shape[:2]) != (1, 3):
            raise InputError(
                f"the model's {type(self._model[0]).__name__} gives no vector for each token, so there is no set of "
                "them: use FunctionEncoder(model.encode) for one vector a text"
            )
        return int(tokens.shape[2]), None if sentence is None else int(sentence.shape[-1])

    def _run(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        import torch

        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if self._typed:
            given["token_type_ids"] = torch.zeros_like(given["input_ids"])
        self._model.eval()
        with torch.inference_mode():
            found: dict[str, Any] = self._model({key: one.to(self._model.device) for key, one in given.items()})
        return found

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the token vectors (b, L, d)."""
        return _numpy(self._run(ids, mask)["token_embeddings"])

    def sentences(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the sentence vectors (b, d)."""
        return _numpy(self._run(ids, mask)["sentence_embedding"])


class LateInteractionEncoder(TextEncoder):
    """A MultiVectorEncoder: sets are what its `encode_document` or `encode_query` gives, its marks included.

    Texts go together only where they have equally many tokens: then nothing is padded, and a vector does not depend on
    its batch. A text of nothing but space is the empty set, as with every encoder.
    """

    def __init__(self, model: Any, identity: str, role: Role, budget: int = BUDGET) -> None:
        self._model, self._identity, self._role, self._budget = model, identity, role, budget
        name = next((one for one in PROMPTS[role] if one in model.prompts), model.default_prompt_name)
        self._prompt: str = model.prompts.get(name) or ""
        self._backend = _backend(model)
        # Vectors of merged tokens stand for no token of the text.
        self._merges = any(hasattr(one, "pool_one") and one.applies_to(role) for one in model)

    @property
    def signature(self) -> str:
        """The model, its role, and what goes before every text."""
        return format_signature(
            {
                "encoder": self._identity,
                "role": self._role,
                "prompt": self._prompt or None,
                "max_length": self._model.max_seq_length,
                "dtype": _precision(self._model),
            }
        )

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._model.get_embedding_dimension())

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        vectors: list[np.ndarray] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        tokens: list[list[str]] = [[]] * len(texts)
        lengths = np.array([self._length(text) if text.strip() else 0 for text in texts], dtype=np.int64)
        done = int((lengths == 0).sum())
        for group in self._groups(lengths):
            for at, found in zip(group, self._run([texts[at] for at in group]), strict=True):
                vectors[at], tokens[at] = found
            done += len(group)
            if progress is not None:
                progress(done, len(texts))
        names = None if self._merges else tokens
        sets = TokenSets.from_arrays(vectors, tokens=names, dimensions=self.dimensions, signature=self.signature)
        whole = [len(self._backend.encode(self._prompt + text)) if text.strip() else 0 for text in texts]
        return replace(sets, truncated=np.maximum(np.array(whole, dtype=np.int64) - lengths, 0))

    def _length(self, text: str) -> int:
        return int(self._model.preprocess([text], prompt=self._prompt, task=self._role)["input_ids"].shape[-1])

    def _groups(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        for length in np.unique(lengths[lengths > 0]):
            places = np.flatnonzero(lengths == length)
            size = 1 if _half(self._model) else max(self._budget // int(length), 1)
            yield from (places[start : start + size] for start in range(0, len(places), size))

    def _run(self, texts: list[str]) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield the vectors and the tokens of texts of one length."""
        encode = getattr(self._model, f"encode_{self._role}")
        given = {"prompt": self._prompt, "batch_size": len(texts), "show_progress_bar": False}
        for one in encode(texts, output_value=None, **given):
            counts = one["attention_mask"].bool()
            ids = [] if self._merges else one["input_ids"][counts].tolist()
            yield _numpy(one["token_embeddings"][counts]), self._model.tokenizer.convert_ids_to_tokens(ids)


# Opening


def _package() -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingExtraError(
            f"models of sentence-transformers need the package ({error}): pip install sentence-transformers"
        ) from error
    return sentence_transformers


def _load(package: Any, name: str | os.PathLike[str]) -> Any:
    folder = _folder(name)
    kind = read_json(folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    if "HF_ColBERT" in (read_json(folder / "config.json").get("architectures") or ()):
        kind = "ColBERT"
    if not hasattr(package, KINDS.get(kind, "")):
        raise FileError(f"{folder} holds a {kind}, but a SentenceTransformer or a MultiVectorEncoder was wanted")
    for pickle in folder.rglob("pytorch_model*.bin"):
        if not any(pickle.parent.glob("*.safetensors")):
            raise FileError(f"{pickle} may hold code, so it is not opened: save the model again, as safetensors")
    try:
        return getattr(package, KINDS[kind])(
            str(folder), local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"{folder} cannot be opened by sentence-transformers: {error}") from error


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


def _must_read_plain_text(model: Any) -> None:
    """Refuse models whose tokens are not simply those of the text."""
    if hasattr(model[0], "sub_modules"):
        raise InputError(
            "the model has different modules for queries and documents: give one made of the modules you want"
        )
    if "message" in getattr(model, "modalities", ()):
        raise InputError(
            "the model writes a text into a chat template, whose tokens would be in the set: use FunctionEncoder"
        )


def _backend(model: Any) -> Any:
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


def _tokeniser(model: Any) -> SubWords:
    backend, own = _backend(model), model.tokenizer
    return SubWords(backend, unknown=own.unk_token_id, pad=0 if own.pad_token_id is None else own.pad_token_id)


# Looking


def _identity(model: Any, name: str | None) -> str:
    """Return the model's name with a checksum over all that decides a vector: weights, settings and tokeniser."""
    import torch

    digest = hashlib.sha256(_backend(model).to_str().encode())
    for module in model:
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
        digest.update(json.dumps([type(module).__name__, settings], sort_keys=True, default=str).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    known = name or Path(getattr(config, "name_or_path", None) or "unnamed").name
    return f"st({known})@{digest.hexdigest()[:8]}"


def _half(model: Any) -> bool:
    return model.dtype is not None and model.dtype.itemsize < 4


def _precision(model: Any) -> str | None:
    found = str(model.dtype).removeprefix("torch.")
    return None if found in ("float32", "None") else found


def _numpy(tensor: Any) -> np.ndarray:
    array: np.ndarray = tensor.float().cpu().numpy()
    return array
