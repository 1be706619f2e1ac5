"""Models of the transformers library: encoders, the encoders of T5 and BART, and decoders, by path or hub name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.config import longest_sequence
from softset.encoders.forking import refuse_after_fork
from softset.encoders.model_config import Layer, resolve_layer
from softset.encoders.network import SequentialNetwork
from softset.encoders.probing import WORKING, must_go_alone
from softset.encoders.tokenizer import SubwordTokenizer, Tokenised, Tokeniser, reading, tokenised
from softset.errors import FileError, InputError, MissingExtraError
from softset.io.text import first_line

__all__ = ["TorchNetwork", "open_pretrained"]

DTYPES = ("float32", "bfloat16", "float16")


def open_pretrained(
    source: str | Path, identity: str | None, *, layer: Layer, threads: int, device: str | None, dtype: str | None
) -> tuple[Tokeniser, "TorchNetwork"]:
    """Open a model by the path of its folder or by its hub name; weights are safetensors, and no code of it is run."""
    torch, _ = _libraries()
    where = device or _best_device(torch)
    with _threads(torch, threads):
        config, tokeniser, model = _loaded(source, _dtype(torch, dtype))
    if hasattr(model, "set_attention_type"):
        model.set_attention_type("original_full")  # BigBird would change to it, for good, with the first short text
    if getattr(config, "is_encoder_decoder", False):
        model = model.get_encoder()
    limit = min(longest_sequence(config.to_dict(), tokeniser.model_max_length), _positions(torch, model))
    network = TorchNetwork(
        model, identity or _identity(str(source), model), layer=layer, longest=limit, threads=threads, device=where
    )
    pads = (getattr(config, "pad_token_id", None), tokeniser.pad_token_id)
    pad = next((one for one in pads if isinstance(one, int)), 0)
    reader = _tokeniser(tokeniser, max(pad, 0), threads)
    network.alone = must_go_alone(reader, network) and network.precision is None  # 16 bits round with every shape
    return reader, network


def _loaded(source: str | Path, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the config, tokeniser and model that the library makes of a folder or hub name."""
    _, transformers = _libraries()
    safe = {"trust_remote_code": False, "local_files_only": Path(source).exists()}
    try:
        with _silent(transformers):
            config = transformers.AutoConfig.from_pretrained(source, **safe)
            tokeniser = transformers.AutoTokenizer.from_pretrained(source, **safe)
            model, told = transformers.AutoModel.from_pretrained(
                source, config=config, use_safetensors=True, dtype=dtype, output_loading_info=True, **safe
            )
    except Exception as error:  # whatever a library raises that reads a foreign file
        raise FileError(f"{source} cannot be opened by transformers: {first_line(error)}") from error
    _must_be_whole(source, told)
    return config, tokeniser, model


def _must_be_whole(source: str | Path, told: Any) -> None:
    """Refuse a file that lacks weights: the library would fill them with random numbers."""
    lacking = [name for name in told.get("missing_keys", ()) if "pooler" not in name and "position_ids" not in name]
    lacking += [str(one) for one in told.get("mismatched_keys", ())]
    if lacking:
        raise FileError(f"{source} lacks {len(lacking)} of its weights, such as {sorted(lacking)[0]}: save it again")


class TorchNetwork(SequentialNetwork):
    """One layer of a torch model: ids and mask (b, L) in, vectors (b, L, d) out.

    Padding is on the right for every model. A decoder's token sees only what is before it, so nothing there changes it;
    an encoder is told by the mask.
    """

    def __init__(
        self, model: Any, identity: str, *, layer: Layer, longest: int | None, threads: int, device: str
    ) -> None:
        torch, _ = _libraries()
        self._torch, self._threads, self._device = torch, threads, device
        try:
            self._model = model.eval().to(device)
        except (RuntimeError, AssertionError) as error:  # the last is what a torch without CUDA raises
            raise InputError(f"the device {device!r} cannot be used ({first_line(error)}): try device='cpu'") from error
        self.identity, self.longest, self.alone = identity, longest, False
        layers, self.dimensions = _sizes(model, identity)
        self.layer = resolve_layer(layer, layers)
        name = str(next(model.parameters()).dtype).removeprefix("torch.")
        self.precision = None if name == "float32" else name

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the layer's vectors (b, L, d) in float32."""
        torch = self._torch
        with torch.inference_mode(), _threads(torch, self._threads):
            output = self._model(
                input_ids=torch.from_numpy(ids).to(self._device),
                attention_mask=torch.from_numpy(mask).to(self._device),
                output_hidden_states=True,
            )
            hidden: np.ndarray = output.hidden_states[self.layer].float().cpu().numpy()
        return hidden


def _sizes(model: Any, identity: str) -> tuple[int, int]:
    """Return the number of layers and of dimensions, which a model for images or sounds may not have."""
    config = model.config
    text = config.get_text_config(decoder=False) if hasattr(config, "get_text_config") else config
    layers, dimensions = (getattr(text, name, None) for name in ("num_hidden_layers", "hidden_size"))
    if not isinstance(layers, int) or not isinstance(dimensions, int):
        kind = getattr(config, "model_type", None) or type(model).__name__
        raise FileError(f"the model {identity} is of type {kind}, which has no layers of token vectors: {WORKING}")
    return layers, dimensions


class AlignedTokeniser:
    """A tokeniser that does not say where its tokens come from: each is looked for after the one before it."""

    def __init__(self, tokeniser: Any, pad: int) -> None:
        self._tokeniser, self.pad, self._nameless = tokeniser, pad, frozenset(tokeniser.all_special_ids)
        bare, full = (tokeniser("a", add_special_tokens=added)["input_ids"] for added in (False, True))
        at = next((at for at in range(len(full)) if full[at : at + len(bare)] == bare), len(full))
        marked = list(zip(full, tokeniser.convert_ids_to_tokens(full), strict=True))
        self.prefix, self.suffix = marked[:at], marked[at + len(bare) :]

    def __call__(self, texts: Sequence[str]) -> Iterator[Tokenised]:
        """Yield the tokens of each text."""
        for text in texts:
            with reading(text):
                tokens = self._tokeniser.tokenize(text, split_special_tokens=True)
                ids = self._tokeniser.convert_tokens_to_ids(tokens)
            yield tokenised(text, ids, tokens, list(_aligned(text, tokens)), self._nameless)


def _aligned(text: str, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where each token is; one that is not there (it was normalised) gets the character where it must be."""
    whole = text.encode()
    if [ord(one) for one in tokens if len(one) == 1] == list(whole):  # every token is a byte
        yield from ((at, at + 1) for at, one in enumerate(text) for _ in one.encode())
        return
    at = 0
    for token in tokens:
        piece = token.removeprefix("##").replace("\u2581", "").replace("\u0120", "")
        while at < len(text) and text[at].isspace():
            at += 1
        begin = min(at, max(len(text) - 1, 0))
        length = len(piece) if piece and text[begin : begin + len(piece)].lower() == piece.lower() else 1
        at = min(begin + length, len(text))
        yield begin, at


def _tokeniser(tokeniser: Any, pad: int, threads: int) -> Tokeniser:
    backend = getattr(tokeniser, "backend_tokenizer", None)
    if backend is None or not hasattr(backend, "encode_batch"):
        return AlignedTokeniser(tokeniser, pad)
    return SubwordTokenizer(backend, unknown=tokeniser.unk_token_id, pad=pad, threads=threads)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            f"this model needs {error.name}, which is not installed: pip install 'softset[torch]'"
        ) from error
    return torch, transformers


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _dtype(torch: Any, name: str | None) -> Any:
    if name is not None and name not in DTYPES:
        raise InputError(f"the dtype {name!r} is not known: use {', '.join(DTYPES)}")
    return getattr(torch, name or "float32")


def _positions(torch: Any, model: Any) -> int:
    """Return how many positions the model's own table has, if any; the rows up to the padding's are never used."""
    sizes = [
        part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1)
        for name, part in model.named_modules()
        if isinstance(part, torch.nn.Embedding) and name.endswith("position_embeddings")
    ]
    return min(sizes, default=1 << 62)


def _identity(source: str, model: Any) -> str:
    """Return a hub model's name with the commit it came from."""
    commit = getattr(model.config, "_commit_hash", None)
    return f"{source}@{commit[:8]}" if commit else source


@contextmanager
def _silent(transformers: Any) -> Iterator[None]:
    """Keep the libraries from drawing bars and giving advice on standard error while a model is opened."""
    import logging

    from huggingface_hub.utils import logging as hub

    talk = transformers.utils.logging
    level, hub_level, bars = talk.get_verbosity(), hub.get_verbosity(), talk.is_progress_bar_enabled()
    talk.set_verbosity_error()
    hub.set_verbosity(logging.CRITICAL)
    talk.disable_progress_bar()
    try:
        yield
    finally:
        talk.set_verbosity(level)
        hub.set_verbosity(hub_level)
        if bars:
            talk.enable_progress_bar()


@contextmanager
def _threads(torch: Any, wanted: int) -> Iterator[None]:
    """Let torch use so many threads for a while; the number is a setting of the whole process."""
    refuse_after_fork(wanted)
    before = torch.get_num_threads()
    if before != wanted:
        torch.set_num_threads(wanted)
    try:
        yield
    finally:
        if before != wanted:
            torch.set_num_threads(before)
