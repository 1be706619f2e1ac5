"""`load_encoder`: encoders by name (bundled, imported, in a folder, on the hub) or built from an object."""

import errno
import os
from pathlib import Path
from typing import Any, TypedDict, Unpack

from softset.encoders.base import Encoder, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS
from softset.encoders.models import BUNDLED, REGISTRY, checksum, find_moments, model_folder, model_kind
from softset.encoders.network import Layer, check_layer
from softset.encoders.pipeline import ContextualEncoder, Overflow, PipelineOptions, Unit
from softset.encoders.texts import excerpt
from softset.errors import FileError, InputError, MissingExtraError
from softset.io.options import named_options
from softset.runtime.threads import thread_count
from softset.vectors.registry import BUNDLED as BUNDLED_WORDS
from softset.vectors.registry import REGISTRY as WORDS_REGISTRY
from softset.vectors.registry import vectors_folder

MAX_PATH_CHARACTERS, MAX_NAME_BYTES = 4000, 255  # common limits of file systems: a path, and each of its components


class EncoderOptions(TypedDict, total=False):
    """The keyword options of `load_encoder`, for functions that pass them on."""

    layer: Layer
    special_tokens: bool
    unit: Unit
    overflow: Overflow
    max_length: int | None
    batch_tokens: int
    threads: int | None
    device: str | None
    dtype: str | None
    cache: str | os.PathLike[str] | None
    cache_limit: int


@named_options
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
    """Return an encoder: texts in, token sets out. A text has the same vectors in every batch.

    Args:
        model: "minilm" (all-MiniLM-L6-v2, bundled), "words" (GloVe, bundled) or "words:NAME" (imported vectors), the
            name of an imported model, the folder of a model (ONNX, transformers, model2vec, word vectors), a hub name
            ("roberta-large"; needs the extra torch), "st:NAME" for sentence-transformers, or an object: a function from
            texts to arrays, a SentenceTransformer or MultiVectorEncoder, word vectors, or an encoder.
        layer: a number from 0 (embeddings), a negative number from the end, a fraction of the depth, or "last".
        special_tokens: whether special tokens such as [CLS] are members of the sets; otherwise they are in
            `TokenSets.special`.
        unit: "token" for the model's tokens, "word" for the mean of the tokens of each word.
        overflow: how to handle a text that is too long: "window" encodes all of it in overlapping windows, "truncate"
            cuts it and counts the lost tokens, "error" raises InputError.
        max_length: the number of tokens in a window, special tokens included; by default the limit of the model.
        batch_tokens: the maximum number of tokens in a batch; changes only speed and memory.
        threads: the number of threads; by default OMP_NUM_THREADS, or all cores that the process may use.
        device: for torch models, such as "cuda"; by default the fastest one.
        dtype: for torch models: "float32", "bfloat16" or "float16". The last two round differently for each shape of a
            batch, so only float32 gives the same vectors in every batch.
        cache: a folder for encoded texts; several processes may share it.
        cache_limit: the maximum size of the cache in bytes; the least recently used texts are deleted first.

    >>> import softset
    >>> encoder = softset.load_encoder("minilm", layer=4)
    >>> sets = encoder.encode(["A red book.", "Bookworms!"])
    >>> sets
    TokenSets(2 texts, 8 tokens, 384 dimensions)
    >>> sets.tokens_of(0), sets.tokens_of(1)
    (['a', 'red', 'book', '.'], ['book', '##worm', '##s', '!'])
    """
    opening = check_layer(layer), thread_count(threads), device, dtype
    options = PipelineOptions(special_tokens, unit, overflow, max_length, batch_tokens, *opening)
    if cache is not None and not isinstance(cache, str | os.PathLike):
        raise InputError(f"cache is {cache!r}, but the path of a folder was expected")
    for label, path in (("model", model), ("cache", cache)):
        if isinstance(path, str | os.PathLike):
            _check_path(label, str(path))
    if isinstance(model, os.PathLike):
        encoder = _open_path(Path(model), options)
    else:
        encoder = _open_name(model, options) if isinstance(model, str) else _wrap_object(model, options)
    if cache is None:
        return encoder
    from softset.encoders.cache import CachedEncoder

    return CachedEncoder(encoder, cache, limit=cache_limit)


def load_installed(name: str, **options: Unpack[EncoderOptions]) -> Encoder:
    """Return a bundled or imported encoder by its name; refuse any other name.

    Collections name their encoder. A received collection must not choose which folder is opened or which model is
    downloaded, so the user has to name any other encoder.
    """
    kind, _, vectors = name.partition(":")
    if kind == "words":
        is_installed = vectors in ("", BUNDLED_WORDS) or WORDS_REGISTRY.folder(vectors) is not None
    else:
        is_installed = model_folder(name) is not None
    if not is_installed:
        raise InputError(
            f"{excerpt(name, 200)} is neither a bundled nor an imported model: if you trust it, name it yourself "
            "(--model, in Python encoder=)"
        )
    return load_encoder(name, **options)


def _check_path(label: str, path: str) -> None:
    """Reject a path that no file can have, with a clearer message than that of the system."""
    longest_name = max(map(len, path.encode(errors="replace").split(b"/")))
    too_long = len(path) > MAX_PATH_CHARACTERS or longest_name > MAX_NAME_BYTES
    if not path or too_long or "\0" in path or any("\ud800" <= character < "\udc80" for character in path):
        raise InputError(f"the {label} {excerpt(path)} is empty, too long or has an invalid character")


def _open_name(name: str, options: PipelineOptions) -> Encoder:
    kind, _, suffix = name.partition(":")
    if kind == "words":
        return _open_words(vectors_folder(suffix or BUNDLED_WORDS), options)
    if kind == "st" and suffix:
        from softset.encoders.sentence_transformers import sentence_encoder

        options.reject("a sentence-transformers model by its name", "layer", "device", "dtype")
        return sentence_encoder(suffix, options=options)
    folder = model_folder(name)
    if folder is not None:
        return _open_folder(folder, name, options)
    if name.startswith(("/", "./", "../")) or Path(name).exists():  # no hub name begins like this
        return _open_path(Path(name), options)
    from softset.encoders.transformers import open_transformers

    try:
        return open_transformers(name, None, options)
    except (FileError, MissingExtraError) as error:
        known = ", ".join([BUNDLED, "words", *dict(REGISTRY.items())])
        raise InputError(
            f"there is no installed model or folder {name!r} (installed: {known}), and no such hub model: {error}"
        ) from error


def _open_path(path: Path, options: PipelineOptions) -> Encoder:
    if path.is_dir():
        return _open_folder(path, path.resolve().name, options)
    if path.exists():
        raise InputError(
            f"{path} is a file, but the folder of a model was expected (word vectors: import them with softset vectors "
            "import, then use words:NAME)"
        )
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _open_words(folder: Path, options: PipelineOptions) -> Encoder:
    from softset.encoders.static import WordsEncoder
    from softset.vectors.vocabulary import Vocabulary

    options.reject("an encoder of word vectors", "layer", "device", "dtype", "special_tokens", "max_length")
    return WordsEncoder(Vocabulary.open(folder), moments=find_moments(folder))


def _open_folder(folder: Path, name: str, options: PipelineOptions) -> Encoder:
    """Open the folder of a model according to its files."""
    if (folder / "vectors.npy").is_file():
        return _open_words(folder, options)
    kind, identity = model_kind(folder), f"{name}@{checksum(folder)}"
    if kind == "transformers":
        from softset.encoders.transformers import open_transformers

        return open_transformers(folder, identity, options)
    if kind == "model2vec":
        from softset.encoders.static import open_model2vec

        options.reject("a model2vec model", "layer", "device", "dtype")
        return open_model2vec(folder, identity, options)
    from softset.encoders.onnx import open_onnx

    options.reject("an ONNX model", "device", "dtype")
    trusted = folder == model_folder(BUNDLED)
    tokenizer, network = open_onnx(folder, identity, layer=options.layer, threads=options.threads, trusted=trusted)
    return ContextualEncoder(tokenizer, network, options, moments=find_moments(folder))


def _wrap_object(model: Any, options: PipelineOptions) -> Encoder:
    """Return an encoder of word vectors, a sentence-transformers model, an encoder or a function."""
    from softset.encoders.static import WordsEncoder
    from softset.vectors.vocabulary import Vocabulary

    label = f"an encoder built from {type(model).__name__}"
    options.reject(label, "layer", "device", "dtype")
    if isinstance(model, Vocabulary):
        options.reject("an encoder of word vectors", "special_tokens", "max_length")
        return WordsEncoder(model)
    if type(model).__module__.partition(".")[0] == "sentence_transformers":
        from softset.encoders.sentence_transformers import sentence_encoder

        return sentence_encoder(model, options=options)
    options.reject(label, "special_tokens", "unit", "max_length")
    if isinstance(model, TextEncoder | Encoder):
        return model
    _refuse_models(model)
    if callable(model):
        from softset.encoders.function import FunctionEncoder

        return FunctionEncoder(model)
    raise InputError(f"the model is {model!r:.100}, but a name, a path, a function or an encoder was expected")


def _refuse_models(model: Any) -> None:
    """Refuse callables that are not functions from texts to token vectors, and name the right way to give them."""
    owner = type(getattr(model, "__self__", None))
    if any(base.__module__.partition(".")[0] == "sentence_transformers" for base in owner.__mro__):
        raise InputError(
            f"{model.__name__} of a {owner.__name__} returns one pooled vector per text: give the model itself, "
            f"model=st in place of model=st.{model.__name__}; for sets of one vector give FunctionEncoder(st.encode) "
            "of softset.encoders.function"
        )
    if any(base.__module__.partition(".")[0] == "transformers" for base in type(model).__mro__):
        folder = getattr(getattr(model, "config", None), "_name_or_path", None) or "bert-base-uncased"
        raise InputError(
            f"a {type(model).__name__} of transformers was given, but a model needs its tokenizer: give its name or "
            f'folder, such as model="{folder}"; save both to a folder with save_pretrained(folder) if they have none'
        )
