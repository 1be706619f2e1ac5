"""model2vec folders: token vectors in model.safetensors, and tokenizer.json, whose tokens that are words are read."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softset.errors import FileError
from softset.io.text import first_line
from softset.vectors.formats.arrays import Tensor, map_tensors
from softset.vectors.formats.checks import Block, RowChecker, VectorStream, check_dimensions, rows_per_block

Tokens = list[tuple[int, str]]  # token ids and tokens
MAX_TOKENIZER_BYTES = 1 << 28
SPECIAL_TOKEN = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]|</?(s|pad|unk|mask|cls|sep)>|<\|[^|]*\|>")
WORD_STARTS = ("▁", "Ġ", " ")


def read_model2vec(folder: Path, *, skip_bad: bool) -> VectorStream:
    """Read the words and their vectors from a model2vec folder."""
    for name in ("tokenizer.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileError(f"{folder} has no {name}, so it is not a model2vec folder; give a file of vectors instead")
    tokens = _read_words(folder / "tokenizer.json")
    if not tokens:
        raise FileError(f"{folder / 'tokenizer.json'} has no token that is a word")
    model = folder / "model.safetensors"
    vectors = _read_rows(model, np.array([token_id for token_id, _ in tokens]))
    check_dimensions(str(model), vectors.shape[1])
    checker = RowChecker(str(model), skip_bad=skip_bad, unit="token")
    return checker.stream("model2vec", vectors.shape[1], len(tokens), _blocks(tokens, vectors, checker))


def embedding_table(folder: Path, tokens: int) -> np.ndarray:
    """Return the vectors of all tokens in the order of their ids, (tokens, d) in float32."""
    model = folder / "model.safetensors"
    if not model.is_file():
        raise FileError(f"{folder} has no model.safetensors, so it is not a model2vec folder")
    vectors = _read_rows(model, np.arange(tokens))
    if not np.isfinite(vectors).all():
        raise FileError(f"{model} has a number that is not finite in float32: save the model again")
    return vectors


def _read_rows(model: Path, token_ids: np.ndarray) -> np.ndarray:
    """Return the vectors of tokens in float32, multiplied by the weights of the tokens; some may not be finite."""
    tensors = map_tensors(model)
    table = tensors.get("embeddings")
    if table is None or table.values.ndim != 2 or table.values.dtype.kind not in "fiu":
        raise FileError(f"{model} has no tensor 'embeddings' of real numbers with two axes: it is no model2vec model")
    rows = _lookup(model, tensors, "mapping", token_ids, "iu") if "mapping" in tensors else token_ids
    if rows.min() < 0 or rows.max() >= len(table.values):
        raise FileError(f"{model} has {len(table.values):,} rows, but its tokenizer needs row {int(rows.max()):,}")
    vectors = table.take(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        if "weights" in tensors:
            weights = _lookup(model, tensors, "weights", token_ids, "fiu")
            vectors = vectors * weights.astype(np.float64)[:, None]
        return vectors.astype(np.float32, copy=False)


def _lookup(model: Path, tensors: dict[str, Tensor], name: str, token_ids: np.ndarray, kinds: str) -> np.ndarray:
    tensor = tensors[name]
    if tensor.values.ndim != 1 or tensor.values.dtype.kind not in kinds or token_ids.max() >= len(tensor.values):
        raise FileError(
            f"{model} has a tensor {name!r} of shape {tensor.values.shape}, but one number for each of "
            f"{int(token_ids.max()) + 1:,} tokens was expected"
        )
    return tensor.take(token_ids)


def _blocks(tokens: Tokens, vectors: np.ndarray, checker: RowChecker) -> Iterator[Block]:
    size = rows_per_block(vectors.shape[1])
    for start in range(0, len(tokens), size):
        token_ids, words = zip(*tokens[start : start + size], strict=True)
        yield checker.check(token_ids, [word.encode() for word in words], vectors[start : start + size])


def _read_words(path: Path) -> Tokens:
    """Return the tokens of tokenizer.json that are words, in the order of their ids."""
    from tokenizers import Tokenizer, decoders, models

    if path.stat().st_size > MAX_TOKENIZER_BYTES:
        raise FileError(f"{path} is larger than {MAX_TOKENIZER_BYTES:,} bytes, the limit for a tokenizer")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more specific
        raise FileError(f"{path} is not a valid tokenizer ({first_line(error)[:200]}); save the model again") from error
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    tokens = sorted(
        (token_id, token)
        for token, token_id in tokenizer.get_vocab(with_added_tokens=False).items()
        if token not in special and not SPECIAL_TOKEN.fullmatch(token)
    )
    if isinstance(tokenizer.decoder, decoders.ByteLevel):  # "ĠcafÃ©" is " café"; a part of a character is no word
        decoded = [(token_id, tokenizer.decoder.decode([token])) for token_id, token in tokens]
        tokens = [(token_id, token) for token_id, token in decoded if "\ufffd" not in token]
    # A WordPiece vocabulary marks only continuations ("##ing"); "Ġ" is an ordinary letter there.
    if not isinstance(tokenizer.model, models.WordPiece):
        tokens = _strip_word_starts(tokens)
    return [(token_id, token) for token_id, token in tokens if token.strip() and not token.startswith("##")]


def _strip_word_starts(tokens: Tokens) -> Tokens:
    """Remove the mark of a word's start; tokens without it are omitted if the same word exists with it."""
    marked = {token[1:] for _, token in tokens if token.startswith(WORD_STARTS)}
    return [
        (token_id, token[1:] if token.startswith(WORD_STARTS) else token)
        for token_id, token in tokens
        if token.startswith(WORD_STARTS) or token not in marked
    ]
