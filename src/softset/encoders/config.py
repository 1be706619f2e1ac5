"""What a model's config.json says about how many tokens it takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softset.io import json_files

__all__ = ["longest_sequence", "read_json"]

LARGEST = 8192  # tokens a window: some models take 131,072 at once, whose attention alone would fill the memory
DEFAULT = 512  # where nothing says: models with relative positions take any length, and were trained on this one
SIZES = ("max_position_embeddings", "max_encoder_position_embeddings", "n_positions", "seq_length", "max_seq_len")
# These count positions from the padding id + 1, so that the first rows of their table are never used.
OFFSET_TYPES = (
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "mpnet",
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
)


def longest_sequence(config: Mapping[str, Any], tokeniser_limit: Any = None) -> int:
    """Return how many tokens a model takes at once, from its config and what its tokeniser says (never a sentinel).

    >>> longest_sequence({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1})
    512
    >>> longest_sequence({"model_type": "t5"}, tokeniser_limit=10**30)
    512
    """
    sizes = [config[name] for name in SIZES if isinstance(config.get(name), int) and config[name] > 0]
    limits = [_in_whole_windows(size - _unused(config), config) for size in sizes[:1]]
    if isinstance(tokeniser_limit, int) and 0 < tokeniser_limit < 1_000_000:  # beyond is "very large integer"
        limits.append(tokeniser_limit)
    return min([*limits, LARGEST]) if limits else DEFAULT


def _unused(config: Mapping[str, Any]) -> int:
    pad = config.get("pad_token_id")
    return (pad if isinstance(pad, int) else 1) + 1 if config.get("model_type") in OFFSET_TYPES else 0


def _in_whole_windows(size: int, config: Mapping[str, Any]) -> int:
    """Return the size for LED without a last part of an attention window: it pads every text to whole ones."""
    given = config.get("attention_window") if config.get("model_type") == "led" else None
    window = max(given, default=0) if isinstance(given, list) else given
    return size - size % window if isinstance(window, int) and 0 < window <= size else size


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a model, empty if there is no such file."""
    return json_files.read_json(path, remedy="save the model again", missing_ok=True)
