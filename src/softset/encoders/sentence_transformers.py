"""Models of the sentence-transformers package: SentenceTransformer and MultiVectorEncoder (late interaction)."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS, pad_sequences
from softset.encoders.network import RUN_ADVICE, Network, describe_failure, max_sequence_length
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.signature import format_signature
from softset.encoders.tokenizer import SubwordTokenizer
from softset.encoders.tokensets import TokenSets
from softset.encoders.transformers import check_not_forked, find_precision
from softset.errors import FileError, InputError
from softset.io.json_files import read_json
from softset.io.text import import_extra, translate_errors

Role = Literal["document", "query"]
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # the first one that a model has
# Modules that treat each token independently, so that padding cannot change a vector.
TOKENWISE_MODULES = {
    "Transformer", "Pooling", "Dense", "Normalize", "Dropout", "LayerNorm", "WeightedLayerPooling", "WordWeights",
}  # fmt: skip


def sentence_encoder(
    model: Any, *, role: Role = "document", options: PipelineOptions | None = None, name: str | None = None
) -> TextEncoder:
    """Return an encoder of a SentenceTransformer or MultiVectorEncoder, given as an object, a folder or a name.

    A name must be that of a model in the local cache of downloads: nothing is downloaded, no code of a model is run,
    and only safetensors files are opened. A SentenceTransformer runs in this package's pipeline, without its prompts. A
    MultiVectorEncoder runs its own code for the given `role` and defines its own token sets, so that `batch_tokens` is
    the only option. Do not train a model while an encoder uses it.
    """
    if role not in PROMPTS:
        raise InputError(f'the role {role!r} is not known: use "document" or "query"')
    message = "this model needs sentence-transformers: pip install sentence-transformers"
    library = import_extra("sentence_transformers", message)
    if isinstance(model, str | os.PathLike):
        name = name or Path(model).resolve().name
        model = _load(library, model)
    options = options or PipelineOptions()
    if isinstance(model, library.SentenceTransformer):
        if hasattr(model[0], "sub_modules"):
            raise InputError(
                "the model has different modules for queries and documents: give a model with the same modules for both"
            )
        if "message" in getattr(model, "modalities", ()):
            raise InputError("the model adds the tokens of a chat template to each text: use FunctionEncoder")
        backend, own = _copy_backend(model), model.tokenizer
        tokenizer = SubwordTokenizer(backend, unknown=own.unk_token_id, pad=own.pad_token_id or 0)
        return SentenceEncoder(tokenizer, _ModuleNetwork(model, _identity(model, name)), options)
    if isinstance(model, getattr(library, "MultiVectorEncoder", ())):
        if options != PipelineOptions(batch_tokens=options.batch_tokens, threads=options.threads):
            raise InputError("a multi-vector model defines its own token sets: its only option is batch_tokens")
        return LateInteractionEncoder(model, _identity(model, name), role, options.batch_tokens)
    raise InputError(
        f"{type(model).__name__} was given, but a SentenceTransformer, a MultiVectorEncoder or the folder of one was "
        "expected"
    )


class SentenceEncoder(ContextualEncoder):
    """The token vectors of a SentenceTransformer, after its last module that changes them.

    `embed` returns the sentence vectors of the model; for a text of several windows, their weighted mean.
    """

    _network: "_ModuleNetwork"

    @property
    def prompts(self) -> dict[str, str]:
        """The model's texts before a "query" and a "document", which collections put there."""
        return self._network.prompts

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the model's sentence vector of each text, (n, d); zero for an empty text."""
        pooled = self._network.sentence_dimensions
        if pooled is None:
            return super()._embed(texts, progress)
        if pooled != self.dimensions:
            raise InputError(
                f"the model's sentence vectors have {pooled} dimensions and its token vectors {self.dimensions}, so "
                "they are in different spaces: use FunctionEncoder(model.encode) for the sentences"
            )
        tokenized, windows, all_jobs = self._prepare(texts, progress)
        lengths = [plan[-1].stop for plan in windows]
        filled = [bool(tokens.known[:n].any()) for tokens, n in zip(tokenized, lengths, strict=True)]
        jobs = [job for job in all_jobs if filled[job.text]]
        vectors = np.zeros((len(texts), self.dimensions))
        done = 0
        for batch in self._batches([job.ids for job in jobs]):
            ids, mask = pad_sequences([jobs[number].ids for number in batch], self._tokenizer.pad)
            with translate_errors(describe_failure(self._network.identity, ids.shape), RUN_ADVICE):
                sentences = self._network.sentence_vectors(ids, mask)
            for sentence, number in zip(sentences, batch, strict=True):
                window, text = jobs[number].window, jobs[number].text
                vectors[text] += (window.end - window.begin) / lengths[text] * sentence
            done += len(batch)
            if progress is not None:
                progress(done * len(texts) // len(jobs), len(texts))
        return vectors


class _ModuleNetwork(Network):
    """The modules of a SentenceTransformer as a network; its `layer` is None, because later modules use the last."""

    def __init__(self, model: Any, identity: str) -> None:
        self._model, self.identity = model, identity
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        self.max_length = max_sequence_length({} if config is None else config.to_dict(), model.max_seq_length)
        self._takes_token_types = "token_type_ids" in model.tokenizer.model_input_names
        self.precision = find_precision(model)
        # 16-bit models round differently for every shape of a batch.
        tokenwise = all(type(module).__name__ in TOKENWISE_MODULES for module in model)
        self.one_text_per_batch = self.precision is not None or not tokenwise
        self.dimensions, self.sentence_dimensions = self._measure_dimensions()
        own = model.prompts or {}
        found = {role: next((own[name] for name in names if own.get(name)), "") for role, names in PROMPTS.items()}
        self.prompts = {role: text for role, text in found.items() if text}

    def _measure_dimensions(self) -> tuple[int, int | None]:
        """Return the dimensions of token vectors and of sentence vectors, from a run on three tokens."""
        output = self._run(np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.int64))
        tokens, sentence = output.get("token_embeddings"), output.get("sentence_embedding")
        if tokens is None or tuple(tokens.shape[:2]) != (1, 3):
            raise InputError(
                f"the model's {type(self._model[0]).__name__} gives no vector for each token: use "
                "FunctionEncoder(model.encode) for one vector per text"
            )
        return int(tokens.shape[2]), None if sentence is None else int(sentence.shape[-1])

    def _run(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        import torch

        check_not_forked(torch.get_num_threads())
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if self._takes_token_types:
            inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
        self._model.eval()
        with torch.inference_mode():
            output: dict[str, Any] = self._model({key: value.to(self._model.device) for key, value in inputs.items()})
        return output

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the token vectors (b, L, d)."""
        return _to_float32(self._run(ids, mask)["token_embeddings"])

    def sentence_vectors(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the sentence vectors (b, d)."""
        return _to_float32(self._run(ids, mask)["sentence_embedding"])


class LateInteractionEncoder(TextEncoder):
    """A MultiVectorEncoder (ColBERT): the sets are those of its `encode_document` or `encode_query`.

    The sets include the model's special tokens. A batch contains only texts with the same number of tokens, so that
    nothing is padded and a vector does not depend on its batch. A text of spaces is the empty set.
    """

    def __init__(self, model: Any, identity: str, role: Role, batch_tokens: int = DEFAULT_BATCH_TOKENS) -> None:
        self._model, self._identity, self._role, self._batch_tokens = model, identity, role, batch_tokens
        name = next((prompt for prompt in PROMPTS[role] if prompt in model.prompts), model.default_prompt_name)
        self._prompt: str = model.prompts.get(name) or ""
        self._backend = _copy_backend(model)
        # The vector of merged tokens belongs to no single token of the text.
        self._merges_tokens = any(hasattr(module, "pool_one") and module.applies_to(role) for module in model)

    @property
    def signature(self) -> str:
        """The model, its role, and the prompt before every text."""
        return format_signature(
            {
                "encoder": self._identity,
                "role": self._role,
                "prompt": self._prompt or None,
                "max_length": self._model.max_seq_length,
                "dtype": find_precision(self._model),
            }
        )

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return int(self._model.get_embedding_dimension())

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        vectors: list[np.ndarray] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        tokens: list[list[str]] = [[]] * len(texts)
        lengths = np.array([self._length(text) if text.strip() else 0 for text in texts], dtype=np.int64)
        done = int((lengths == 0).sum())
        for batch in self._batches(lengths):
            for index, result in zip(batch, self._run([texts[index] for index in batch]), strict=True):
                vectors[index], tokens[index] = result
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        names = None if self._merges_tokens else tokens
        sets = TokenSets.from_arrays(vectors, tokens=names, dimensions=self.dimensions, signature=self.signature)
        full = [len(self._backend.encode(self._prompt + text)) if text.strip() else 0 for text in texts]
        return replace(sets, truncated=np.maximum(np.array(full, dtype=np.int64) - lengths, 0))

    def _length(self, text: str) -> int:
        return int(self._model.preprocess([text], prompt=self._prompt, task=self._role)["input_ids"].shape[-1])

    def _batches(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the indices of texts of equal length in batches."""
        for length in np.unique(lengths[lengths > 0]):
            indices = np.flatnonzero(lengths == length)
            size = 1 if find_precision(self._model) else max(self._batch_tokens // int(length), 1)
            yield from (indices[start : start + size] for start in range(0, len(indices), size))

    def _run(self, texts: list[str]) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield the vectors and tokens of texts of equal length."""
        import torch

        check_not_forked(torch.get_num_threads())
        encode = getattr(self._model, f"encode_{self._role}")
        with translate_errors(describe_failure(self._identity, (len(texts), self._length(texts[0]))), RUN_ADVICE):
            outputs = encode(texts, output_value=None, batch_size=len(texts), show_progress_bar=False)
        for output in outputs:
            mask = output["attention_mask"].bool()
            ids = [] if self._merges_tokens else output["input_ids"][mask].tolist()
            yield _to_float32(output["token_embeddings"][mask]), self._model.tokenizer.convert_ids_to_tokens(ids)


def _load(library: Any, name: str | os.PathLike[str]) -> Any:
    """Open a model by its folder or name, without running its code or opening pickles."""
    folder = _model_folder(name)
    settings = read_json(folder / "config_sentence_transformers.json", missing_ok=True)
    kind = settings.get("model_type", "SentenceTransformer")
    architectures = read_json(folder / "config.json", missing_ok=True).get("architectures") or ()
    if kind == "ColBERT" or "HF_ColBERT" in architectures:
        kind = "MultiVectorEncoder"
    if kind not in ("SentenceTransformer", "MultiVectorEncoder") or not hasattr(library, kind):
        raise FileError(f"{folder} holds a {kind}, but a SentenceTransformer or a MultiVectorEncoder was expected")
    for pickle in folder.rglob("pytorch_model*.bin"):
        if not any((pickle.parent / f"model.safetensors{end}").is_file() for end in ("", ".index.json")):
            raise FileError(f"{pickle} is a pickle, which can run code: save the model again, as safetensors")
    with translate_errors(f"{folder} cannot be opened by sentence-transformers", "save the model again"):
        return getattr(library, kind)(
            str(folder), local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )


def _model_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a model: the given one, or that of an earlier download."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    full_name = str(name) if "/" in str(name) else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full_name, local_files_only=True))
    except (OSError, ValueError):
        raise FileError(f"{name} is neither a folder nor a downloaded model: give a folder or a loaded model") from None


def _copy_backend(model: Any) -> Any:
    """Return a copy of the model's tokenizer without truncation and padding."""
    from tokenizers import Tokenizer

    tokenizer = getattr(model, "tokenizer", None)
    original = getattr(tokenizer, "backend_tokenizer", None)
    if original is None:
        raise InputError(
            f"the model's tokenizer is of type {type(tokenizer).__name__}, but a fast tokenizer of transformers was "
            "expected: use FunctionEncoder(model.encode) for one vector per text"
        )
    backend = Tokenizer.from_str(original.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def _identity(model: Any, name: str | None) -> str:
    """Return the name of the model with a checksum of its weights, settings and tokenizer."""
    import torch

    digest = hashlib.sha256(_copy_backend(model).to_str().encode())
    for module in model:
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
        digest.update(json.dumps([type(module).__name__, settings], sort_keys=True, default=str).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    name = name or Path(getattr(config, "name_or_path", None) or "unnamed").name
    return f"st({name})@{digest.hexdigest()[:8]}"


def _to_float32(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.float().cpu().numpy())
