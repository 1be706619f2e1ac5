"""Models of the transformers library: encoders, the encoders of T5 and BART, and decoders, by folder or hub name."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from logging import CRITICAL
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np

from softset.encoders.network import SUPPORTED, Network, depends_on_batch, max_sequence_length, resolve_layer
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.tokenizer import SlowTokenizer, SubwordTokenizer, Tokenizer
from softset.errors import FileError, InputError
from softset.io.text import first_line, import_extra, translate_errors

DTYPES = ("float32", "bfloat16", "float16")
NO_LIMIT = 1 << 62

_SETTING_THREADS = Lock()
_threaded_process: int | None = None  # the process in which torch first used threads


def open_transformers(source: str | Path, identity: str | None, options: PipelineOptions) -> ContextualEncoder:
    """Open a model by its folder or hub name; weights must be safetensors, and no code of the model is run."""
    torch, _ = _import_libraries()
    if options.dtype is not None and options.dtype not in DTYPES:
        raise InputError(f"the dtype {options.dtype!r} is not known: use {', '.join(DTYPES)}")
    with _torch_threads(torch, options.threads):
        config, tokenizer, model = _load(source, getattr(torch, options.dtype or "float32"))
    if hasattr(model, "set_attention_type"):
        model.set_attention_type("original_full")  # BigBird would switch to it permanently at the first short text
    if getattr(config, "is_encoder_decoder", False):
        model = model.get_encoder()
    max_length = min(max_sequence_length(config.to_dict(), tokenizer.model_max_length), _position_count(torch, model))
    commit = getattr(model.config, "_commit_hash", None)  # of a hub model
    identity = identity or (f"{source}@{commit[:8]}" if commit else str(source))
    network = TorchNetwork(model, identity, max_length, options)
    pads = (getattr(config, "pad_token_id", None), tokenizer.pad_token_id)
    pad = max(next((number for number in pads if isinstance(number, int)), 0), 0)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    wrapped: Tokenizer
    if hasattr(backend, "encode_batch"):
        wrapped = SubwordTokenizer(backend, unknown=tokenizer.unk_token_id, pad=pad, threads=options.threads)
    else:
        wrapped = SlowTokenizer(tokenizer, pad)
    # 16-bit models round differently for every shape, so that running texts alone would not help.
    network.one_text_per_batch = depends_on_batch(wrapped, network) and network.precision is None
    return ContextualEncoder(wrapped, network, options)


def _load(source: str | Path, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the config, tokenizer and model of a folder or hub name."""
    _, transformers = _import_libraries()
    safe = {"trust_remote_code": False, "local_files_only": Path(source).exists()}
    failure = f"{source} cannot be opened by transformers"
    with translate_errors(failure, "check its name or save it again"), _silence(transformers):
        config = transformers.AutoConfig.from_pretrained(source, **safe)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **safe)
        model, info = transformers.AutoModel.from_pretrained(
            source, config=config, use_safetensors=True, dtype=dtype, output_loading_info=True, **safe
        )
    # The library would replace missing weights by random numbers.
    missing = [name for name in info.get("missing_keys", ()) if "pooler" not in name and "position_ids" not in name]
    missing += [str(key) for key in info.get("mismatched_keys", ())]
    if missing:
        raise FileError(f"{source} lacks {len(missing)} of its weights, such as {sorted(missing)[0]}: save it again")
    return config, tokenizer, model


class TorchNetwork(Network):
    """One layer of a torch model: ids and mask (b, L) in, vectors (b, L, d) out.

    Padding is on the right for all models: tokens of a decoder see only the tokens before them, and encoders use the
    mask.
    """

    def __init__(self, model: Any, identity: str, max_length: int, options: PipelineOptions) -> None:
        import torch

        default = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        device = options.device or default
        self._torch, self._threads, self._device = torch, options.threads, device
        try:
            self._model = model.eval().to(device)
        except (RuntimeError, AssertionError) as error:  # torch without CUDA raises AssertionError
            raise InputError(f"the device {device!r} cannot be used ({first_line(error)}): try device='cpu'") from error
        self.identity, self.max_length = identity, max_length
        layers, self.dimensions = _model_sizes(model, identity)
        self.layer = resolve_layer(options.layer, layers)
        self.precision = find_precision(model)

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the vectors of the layer (b, L, d) in float32."""
        torch = self._torch
        with torch.inference_mode(), _torch_threads(torch, self._threads):
            output = self._model(
                input_ids=torch.from_numpy(ids).to(self._device),
                attention_mask=torch.from_numpy(mask).to(self._device),
                output_hidden_states=True,
            )
            return np.asarray(output.hidden_states[self.layer].float().cpu().numpy())


def _model_sizes(model: Any, identity: str) -> tuple[int, int]:
    """Return the numbers of layers and dimensions; reject models for images or sounds that have none."""
    config = model.config
    text = config.get_text_config(decoder=False) if hasattr(config, "get_text_config") else config
    layers, dimensions = (getattr(text, name, None) for name in ("num_hidden_layers", "hidden_size"))
    if not isinstance(layers, int) or not isinstance(dimensions, int):
        kind = getattr(config, "model_type", None) or type(model).__name__
        raise FileError(f"the model {identity} is of type {kind}, which has no layers of token vectors: {SUPPORTED}")
    return layers, dimensions


def find_precision(model: Any) -> str | None:
    """Return the floating-point type of a model, or None for float32."""
    dtype = str(model.dtype).removeprefix("torch.")
    return None if dtype in ("float32", "None") else dtype


def _import_libraries() -> tuple[Any, Any]:
    message = "this model needs {}, which is not installed: pip install 'softset[torch]'"
    torch, transformers = (import_extra(name, message.format(name)) for name in ("torch", "transformers"))
    return torch, transformers


def _position_count(torch: Any, model: Any) -> int:
    """Return the size of the model's table of positions; the rows up to that of the padding are never used."""
    sizes = [
        part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1)
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.Embedding) and name.endswith("position_embeddings")
    ]
    return min(sizes, default=NO_LIMIT)


@contextmanager
def _silence(transformers: Any) -> Iterator[None]:
    """Turn off progress bars and messages of the libraries."""
    from huggingface_hub.utils import logging as hub_logging

    library_logging = transformers.utils.logging
    with ExitStack() as restored:
        for log in (library_logging, hub_logging):
            restored.callback(log.set_verbosity, log.get_verbosity())
            log.set_verbosity(CRITICAL)
        if library_logging.is_progress_bar_enabled():
            restored.callback(library_logging.enable_progress_bar)
            library_logging.disable_progress_bar()
        yield


@contextmanager
def _torch_threads(torch: Any, threads: int) -> Iterator[None]:
    """Set the number of torch's threads for this thread, and restore it.

    torch has one number for each thread, but a new thread begins with the number that any thread set last. So the
    earlier number is set again from another thread: threads that start meanwhile would keep this one forever.
    """
    check_not_forked(threads)
    with _SETTING_THREADS:
        before = torch.get_num_threads()
        if before != threads:
            torch.set_num_threads(threads)
            setter = Thread(target=torch.set_num_threads, args=(before,))
            setter.start()
            setter.join()
    try:
        yield
    finally:
        if before != threads:
            torch.set_num_threads(before)


def check_not_forked(threads: int) -> None:
    """Raise InputError if this process was forked after torch had used threads: it would wait for them forever.

    A single thread is always allowed. The check must run before each use of torch.
    """
    global _threaded_process  # torch's threads belong to the whole process, too
    if threads == 1:
        return
    if _threaded_process not in (None, os.getpid()):
        raise InputError(
            "this process was forked after torch had started threads, so that encoding would never end: start "
            "processes with multiprocessing.get_context('spawn'), or give load_encoder threads=1"
        )
    _threaded_process = os.getpid()
