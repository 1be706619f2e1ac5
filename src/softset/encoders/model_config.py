"""Facts from a model's configuration: the maximum length and the number of a layer."""

from collections.abc import Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

from softset.errors import InputError

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
