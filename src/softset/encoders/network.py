"""The interface between a model and the pipeline, facts from its configuration, and tests of its behaviour."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np

from softset.encoders.batching import pad_sequences
from softset.encoders.tokenizer import Tokenizer
from softset.errors import FileError, InputError
from softset.io.text import counted, translate_errors

RUN_ADVICE = "try a smaller max_length or batch_tokens, or save the model again"
SUPPORTED = "supported models are text encoders (BERT), the encoders of T5 and BART, and decoders (GPT-2, Llama)"
PROBES = ("a", "a red book about the old king and the young queen of the north")
# Relative to the largest number. Rounding errors are 100 times smaller; ignoring the mask changes 1,000 times as much.
TOLERANCE = 1e-4


class Network(ABC):
    """A model that maps token ids and their mask (b, L) to the vectors (b, L, d) of one layer.

    By default its batches run one after the other (the library may use several threads for each).

    Attributes:
        identity: the name and checksum of the model.
        dimensions: the dimension d of the vectors.
        layer: the number of the layer, or None if the model has only one.
        max_length: the largest number of tokens in a sequence, special tokens included, or None if there is no limit.
        one_text_per_batch: whether a vector depends on the other texts of the batch, so that each text must run alone.
        precision: the floating-point type of the model, or None for float32.
        parallel_batches: the number of batches to run at the same time, or None if they must run one after the other.
    """

    identity: str
    dimensions: int
    layer: int | None = None
    max_length: int | None = None
    one_text_per_batch: bool = False
    precision: str | None = None
    parallel_batches: int | None = None

    @property
    def multithreaded(self) -> "Network":
        """The same model for a single batch: all threads work on that batch."""
        return self

    @abstractmethod
    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the vectors (b, L, d) in float32."""


def run_network(network: Network, sequences: Sequence[np.ndarray], pad: int, advice: str = RUN_ADVICE) -> np.ndarray:
    """Pad the sequences on the right, run the network, and return its vectors (b, L, d)."""
    ids, mask = pad_sequences(sequences, pad)
    with translate_errors(describe_failure(network.identity, ids.shape), advice):
        vectors = network(ids, mask)
    expected = (*ids.shape, network.dimensions)
    if vectors.shape != expected:
        raise FileError(
            f"the model {network.identity} returns vectors of shape {vectors.shape}, but {expected}, one for each "
            "token, was expected: it cannot be used for token sets"
        )
    return vectors


def describe_failure(identity: str, shape: tuple[int, ...]) -> str:
    """Return the beginning of the error message about a model that fails on ids of this shape (b, L)."""
    return f"the model {identity} cannot be run on {counted(shape[0], 'text')} of {counted(shape[1], 'token')}"


def depends_on_batch(tokenizer: Tokenizer, network: Network) -> bool:
    """Return whether the vectors of a short text change when a longer text is in the same batch.

    Some models ignore the mask (FNet), convolve over padding (ConvBERT), or round by the range of the whole batch
    (dynamic quantization). Models that do not return one vector for each token are rejected.
    """
    short, long = (tokenizer.sequence(text.ids) for text in tokenizer(PROBES))
    if not len(short) or len(long) <= len(short):
        return False
    alone = run_network(network, [short], tokenizer.pad, SUPPORTED)
    in_batch = run_network(network, [short, long], tokenizer.pad, SUPPORTED)
    return not _nearly_equal(alone[0], in_batch[0, : len(short)])


def is_causal(tokenizer: Tokenizer, network: Network) -> bool:
    """Return whether the vectors of the first half of a text stay the same when the second half changes."""
    (text,) = tokenizer(PROBES[1:])
    ids = tokenizer.sequence(text.ids)[: network.max_length]
    half = len(ids) // 2
    if not half or network.layer == 0:  # layer 0 has no context at all
        return False
    # Both sequences have the same length because 16-bit models round differently for each shape.
    changed = np.concatenate([ids[:half], np.where(ids[half:] == tokenizer.pad, ids[0], tokenizer.pad)])
    before, after = (run_network(network, [sequence], tokenizer.pad)[0, :half] for sequence in (ids, changed))
    return _nearly_equal(before, after)


def _nearly_equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= TOLERANCE * max(1.0, float(np.abs(a).max())))


Layer = int | float | str

# Some models allow 131,072 tokens, whose attention alone would fill the memory.
MAX_LENGTH = 8192
# Models with relative positions take any length and were trained on this one.
DEFAULT_LENGTH = 512
LENGTH_KEYS = ("max_position_embeddings", "max_encoder_position_embeddings", "n_positions", "seq_length", "max_seq_len")
# These models count positions from the padding id + 1 and never use the first rows of the position table.
OFFSET_MODELS = (
    "camembert", "data2vec-text", "ibert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl",
)  # fmt: skip


def max_sequence_length(config: Mapping[str, Any], tokenizer_limit: Any = None) -> int:
    """Return the maximum number of tokens from a model's config and its tokenizer's limit.

    A tokenizer without a limit reports a very large integer, which is ignored.
    """
    lengths = [config[key] for key in LENGTH_KEYS if isinstance(config.get(key), int) and config[key] > 0]
    pad = config.get("pad_token_id")
    unused = (pad if isinstance(pad, int) else 1) + 1 if config.get("model_type") in OFFSET_MODELS else 0
    limits = [length - unused for length in lengths[:1]]
    if isinstance(tokenizer_limit, int) and 0 < tokenizer_limit < 1_000_000:
        limits.append(tokenizer_limit)
    return min([*limits, MAX_LENGTH]) if limits else DEFAULT_LENGTH


def resolve_layer(layer: Layer, last: int) -> int:
    """Return the number of a layer, from 0 (the embeddings) to `last`."""
    number = check_layer(layer)
    if isinstance(number, float):
        if not 0 <= number <= 1:
            raise InputError(f"layer {layer} is a fraction, which must be from 0.0 to 1.0; whole numbers go to {last}")
        return round(number * last)
    if not -last - 1 <= number <= last:
        raise InputError(f"the model has layers 0 to {last} (or -1 to {-last - 1} from the end), but {layer} was given")
    return number if number >= 0 else last + 1 + number


def check_layer(layer: Any) -> int | float:
    """Return a layer as a number, -1 for "last"; reject everything else before a model is opened."""
    if isinstance(layer, str):
        if layer == "last":
            return -1
        with suppress(ValueError):
            return float(layer) if "." in layer else int(layer)
    elif not isinstance(layer, bool) and isinstance(layer, Real):
        return int(layer) if isinstance(layer, Integral) else float(layer)
    raise InputError(f'layer {layer!r:.60} is not known: give a number, a fraction from 0.0 to 1.0, or "last"')
