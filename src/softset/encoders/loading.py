"""Encoders by name: bundled, imported, in a folder, on the hub; or an object that can serve as one."""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softset.encoders.base import Encoder, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS
from softset.encoders.model_config import Layer, check_layer
from softset.encoders.models import BUNDLED, REGISTRY, checksum, model_folder, model_kind
from softset.encoders.pipeline import ContextualEncoder, Overflow, PipelineOptions, Unit
from softset.encoders.texts import excerpt
from softset.encoders.threads import thread_count
from softset.errors import FileError, InputError, MissingExtraError
from softset.vectors.registry import BUNDLED as BUNDLED_WORDS
from softset.vectors.registry import vectors_folder

__all__ = ["load_encoder"]

LONGEST_PATH, LONGEST_NAME = 4000, 255  # bytes that systems take for a path, and for each of its steps


@dataclass(frozen=True)
class _Wish:
    """What was asked for beside the model itself."""

    options: PipelineOptions
    layer: Layer
    threads: int
    device: str | None
    dtype: str | None

    def refuse(self, what: str, *names: str) -> None:
        """Refuse options that would vanish."""
        given = {
            "layer": self.layer not in ("last", -1),
            "device": self.device is not None,
            "dtype": self.dtype is not None,
            "special_tokens": self.options.special_tokens,
            "unit": self.options.unit != "token",
            "max_length": self.options.max_length is not None,
        }
        for name in names:
            if given[name]:
                raise InputError(f"{what} has no choice of {name}: leave {name} out")


def load_encoder(
    model: Any = BUNDLED,
    *,
    layer: Layer = "last",
    special_tokens: bool = False,
    unit: Unit = "token",
    overflow: Overflow = "window",
    max_length: int | None = None,
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
    threads: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_limit: int = 4 << 30,
) -> Encoder:
    """Return an encoder: texts in, token sets out, the same vectors whatever the batch.

    Args:
        model: "minilm" (all-MiniLM-L6-v2, bundled), "words" (GloVe, bundled) or "words:NAME" (imported vectors), the
            name of an imported model, the path of a model's folder (ONNX, transformers, model2vec, word vectors), a hub
            name ("roberta-large"; needs the extra torch), "st:NAME" for sentence-transformers, or an object: a function
            from texts to arrays, a SentenceTransformer or MultiVectorEncoder, word vectors, or an encoder.
        layer: a number from 0 (embeddings), a negative number from the end, a fraction of the depth, or "last".
        special_tokens: whether marks such as [CLS] are members of the sets; they are kept aside otherwise.
        unit: "token" for the model's own, "word" for the mean over each word's tokens.
        overflow: what happens to a text that is too long: "window" encodes all of it in overlapping windows,
            "truncate" cuts it and counts what was cut, "error" refuses it.
        max_length: tokens at once, marks included; the model's own limit unless it is given.
        batch_tokens: how many tokens a batch has at the most; changes speed and memory only.
        threads: how many threads the model may use; all cores that the process may run on unless it is given.
        device: for torch models, such as "cuda"; the best there is unless it is given.
        dtype: for torch models: "float32", "bfloat16" or "float16"; the last two round differently with the shape of a
            batch, so only float32 gives the same vectors in every batch.
        cache: a folder that keeps what was encoded; several processes may share it.
        cache_limit: bytes that the cache may take; the least recently used texts go first.

    >>> import softset
    >>> encoder = softset.load_encoder("minilm", layer=4)
    >>> sets = encoder.encode(["A red book.", "Bookworms!"])
    >>> sets
    TokenSets(2 texts, 8 tokens, 384 dimensions)
    >>> sets.tokens_of(0), sets.tokens_of(1)
    (['a', 'red', 'book', '.'], ['book', '##worm', '##s', '!'])
    """
    options = PipelineOptions(special_tokens, unit, overflow, max_length, batch_tokens)
    wish = _Wish(options, check_layer(layer), thread_count(threads), device, dtype)
    if cache is not None and not isinstance(cache, str | os.PathLike):
        raise InputError(f"cache is {cache!r}, but the path of a folder was wanted")
    for what, name in (("model", model), ("cache", cache)):
        _check_name(what, name)
    if isinstance(model, os.PathLike):
        encoder = _path(Path(model), wish)
    else:
        encoder = _named(model, wish) if isinstance(model, str) else _object(model, wish)
    if cache is None:
        return encoder
    from softset.encoders.cache import CachedEncoder

    return CachedEncoder(encoder, cache, limit=cache_limit)


def _check_name(what: str, name: Any) -> None:
    """Refuse a name that no file can have: the system's own words would be many, and not say what was wanted."""
    if not isinstance(name, str | os.PathLike):
        return
    shown = str(name)
    path = shown.encode(errors="replace")
    problem = None
    if not shown:
        problem = "is empty"
    elif len(path) > LONGEST_PATH or max(map(len, path.split(b"/"))) > LONGEST_NAME:
        problem = f"has a name of {len(shown):,} characters, longer than any file's"
    elif "\0" in shown or any("\ud800" <= one < "\udc80" for one in shown):
        problem = "has a character that no file's name can have"
    if problem:
        raise InputError(f"the {what} {excerpt(shown)} {problem}: give the name or the path of a folder")


def _named(name: str, wish: _Wish) -> Encoder:
    kind, _, rest = name.partition(":")
    if kind == "words":
        return _words(vectors_folder(rest or BUNDLED_WORDS), wish)
    if kind == "st" and rest:
        from softset.encoders.sentence_transformers import sentence_encoder

        wish.refuse("a sentence-transformers model by its name", "layer", "device", "dtype")
        return sentence_encoder(rest, options=wish.options)
    folder = model_folder(name)
    if folder is not None:
        return _folder(folder, name, wish)
    if name.startswith(("/", "./", "../")):  # no hub name begins so
        return _path(Path(name), wish)
    return _path(Path(name), wish) if Path(name).exists() else _hub(name, wish)


def _path(path: Path, wish: _Wish) -> Encoder:
    if path.is_dir():
        return _folder(path, path.resolve().name, wish)
    if path.exists():
        raise InputError(
            f"{path} is a file, but the folder of a model was wanted (word vectors: import them with softset vectors "
            "import, then use words:NAME)"
        )
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _words(folder: Path, wish: _Wish) -> Encoder:
    from softset.encoders.static import WordsEncoder
    from softset.vectors.vocabulary import Vocabulary

    wish.refuse("an encoder of word vectors", "layer", "device", "dtype", "special_tokens", "max_length")
    return WordsEncoder(Vocabulary.open(folder), moments=_moments(folder))


def _folder(folder: Path, name: str, wish: _Wish) -> Encoder:
    """Open a model's folder by what is in it."""
    if (folder / "vectors.npy").is_file():
        return _words(folder, wish)
    return OPENERS[model_kind(folder)](folder, f"{name}@{checksum(folder)}", wish)


def _onnx(folder: Path, identity: str, wish: _Wish) -> Encoder:
    from softset.encoders.onnx import open_onnx

    wish.refuse("an ONNX model", "device", "dtype")
    trusted = folder == model_folder(BUNDLED)
    parts = open_onnx(folder, identity, layer=wish.layer, threads=wish.threads, trusted=trusted)
    return ContextualEncoder(*parts, wish.options, moments=_moments(folder))


def _moments(folder: Path) -> Path | None:
    path = folder / "moments.safetensors"
    return path if path.is_file() else None


def _model2vec(folder: Path, identity: str, wish: _Wish) -> Encoder:
    from softset.encoders.static import open_model2vec

    wish.refuse("a model2vec model", "layer", "device", "dtype")
    return open_model2vec(folder, identity, wish.options, wish.threads)


def _transformers(folder: Path | str, identity: str | None, wish: _Wish) -> Encoder:
    from softset.encoders.transformers import open_pretrained

    parts = open_pretrained(
        folder, identity, layer=wish.layer, threads=wish.threads, device=wish.device, dtype=wish.dtype
    )
    return ContextualEncoder(*parts, wish.options)


OPENERS: dict[str, Callable[[Path, str, _Wish], Encoder]] = {
    "onnx": _onnx,
    "model2vec": _model2vec,
    "transformers": _transformers,
}


def _hub(name: str, wish: _Wish) -> Encoder:
    """Ask the hub, through transformers and its cache; say what is known here if nothing comes of it."""
    try:
        return _transformers(name, None, wish)
    except (FileError, MissingExtraError) as error:
        known = ", ".join([BUNDLED, "words", *REGISTRY.names()])
        raise InputError(
            f"there is no encoder {name!r} here (known are {known}, and paths of folders), and as a hub name: {error}"
        ) from error


def _object(model: Any, wish: _Wish) -> Encoder:
    """Make an encoder of an object that is none by its name."""
    from softset.encoders.static import WordsEncoder
    from softset.vectors.vocabulary import Vocabulary

    wish.refuse(f"an encoder made of {type(model).__name__}", "layer", "device", "dtype")
    if isinstance(model, Vocabulary):
        wish.refuse("an encoder of word vectors", "special_tokens", "max_length")
        return WordsEncoder(model)
    if type(model).__module__.partition(".")[0] == "sentence_transformers":
        from softset.encoders.sentence_transformers import sentence_encoder

        return sentence_encoder(model, options=wish.options)
    wish.refuse(f"an encoder made of {type(model).__name__}", "special_tokens", "unit", "max_length")
    if isinstance(model, TextEncoder | Encoder):
        return model
    if callable(model):
        from softset.encoders.function import FunctionEncoder

        return FunctionEncoder(model)
    raise InputError(f"a model's name, path or an encoder was wanted, but {type(model).__name__} was given")
