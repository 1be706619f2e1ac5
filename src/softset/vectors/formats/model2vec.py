"""model2vec folders: token vectors in model.safetensors, and tokenizer.json, whose tokens that are words are read."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError
from softset.io.arrays import Tensor, map_tensors
from softset.io.compressed import check_decoded_size
from softset.io.json_files import read_limited
from softset.io.text import translate_errors
from softset.vectors.formats.checks import Block, RowChecker, VectorStream, rows_per_block

Tokens = list[tuple[int, str]]  # token ids and tokens
SPECIAL_TOKEN = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]|</?(s|pad|unk|mask|cls|sep)>|<\|[^|]*\|>")
WORD_STARTS = ("▁", "Ġ", " ")


def read_model2vec(folder: Path, *, skip_bad: bool) -> VectorStream:
    """Read the words and their vectors from a model2vec folder."""
    for name in ("tokenizer.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileError(f"{folder} has no {name}, so it is not a model2vec folder: give a file of vectors instead")
    model = folder / "model.safetensors"
    tokens = _words(open_tokenizer(folder / "tokenizer.json"))
    if not tokens:
        raise FileError(f"{folder / 'tokenizer.json'} has no token that is a word")
    vectors = _read_rows(model, np.array([token_id for token_id, _ in tokens]))
    checker = RowChecker(str(model), skip_bad=skip_bad, unit="token")
    return checker.stream("model2vec", vectors.shape[1], len(tokens), _blocks(tokens, vectors, checker))


def embedding_table(folder: Path, tokens: int) -> np.ndarray:
    """Return the vectors of all tokens in the order of their ids, (tokens, d) in float32."""
    model = folder / "model.safetensors"
    if not model.is_file():
        raise FileError(f"{folder} has no model.safetensors, so it is not a model2vec folder")
    vectors = _read_rows(model, range(tokens))
    if not np.isfinite(vectors).all():
        raise FileError(f"{model} has a number that is not finite in float32: save the model again")
    return vectors


def _read_rows(model: Path, token_ids: np.ndarray | range) -> np.ndarray:
    """Return the vectors of tokens in float32, multiplied by the weights of the tokens; some may not be finite.

    The ids are sorted. Many tokens may share a row, so the size of the result is checked before it is computed.
    """
    tensors, _ = map_tensors(model)
    table, count = tensors.get("embeddings"), int(token_ids[-1]) + 1
    if table is None or table.values.ndim != 2 or table.values.dtype.kind not in "fiu":
        raise FileError(
            f"{model} has no tensor 'embeddings' of real numbers with two axes, so it is not a model2vec file"
        )
    mapping, weights = (_lookup(model, tensors, *lookup, count) for lookup in (("mapping", "iu"), ("weights", "fiu")))
    if mapping is None and count > len(table.values):
        raise FileError(f"{model} has {len(table.values):,} rows, but its tokenizer needs row {count - 1:,}")
    check_decoded_size(str(model), model.stat().st_size, 4 * len(token_ids) * table.values.shape[1])
    ids = np.asarray(token_ids)
    rows = ids if mapping is None else mapping.take(ids)
    if rows.min() < 0 or rows.max() >= len(table.values):
        raise FileError(f"{model} has {len(table.values):,} rows, but its tokenizer needs row {int(rows.max()):,}")
    with np.errstate(invalid="ignore", over="ignore"):
        vectors = table.take(rows).astype(np.float32, copy=False)
        if weights is not None:
            factors = weights.take(ids).astype(np.float64)[:, None]
            np.multiply(vectors, factors, out=vectors, casting="same_kind")
    return vectors


def _lookup(model: Path, tensors: dict[str, Tensor], name: str, kinds: str, count: int) -> Tensor | None:
    """Return a tensor with one number for each token, or None if the model has no such tensor."""
    tensor = tensors.get(name)
    if tensor is None:
        return None
    if tensor.values.ndim != 1 or tensor.values.dtype.kind not in kinds or count > len(tensor.values):
        raise FileError(
            f"{model} has a tensor {name!r} of shape {tensor.values.shape}, but one number for each of {count:,} "
            "tokens was expected"
        )
    return tensor


def _blocks(tokens: Tokens, vectors: np.ndarray, checker: RowChecker) -> Iterator[Block]:
    size = rows_per_block(vectors.shape[1])
    for start in range(0, len(tokens), size):
        token_ids, words = zip(*tokens[start : start + size], strict=True)
        yield checker.check(token_ids, [word.encode() for word in words], vectors[start : start + size])


def open_tokenizer(path: Path) -> Any:
    """Return the tokenizer of a tokenizer.json."""
    from tokenizers import Tokenizer

    with translate_errors(f"{path} is not a valid tokenizer", "save the model again"):
        return Tokenizer.from_buffer(read_limited(path))


def _words(tokenizer: Any) -> Tokens:
    """Return the tokens that are words, in the order of their ids."""
    from tokenizers import decoders, models

    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    tokens = sorted(
        (token_id, token)
        for token, token_id in tokenizer.get_vocab(with_added_tokens=False).items()
        if token not in special and not SPECIAL_TOKEN.fullmatch(token)
    )
    if isinstance(tokenizer.decoder, decoders.ByteLevel):  # "ĠcafÃ©" is " café"; a part of a character is not a word
        decoded = [(token_id, tokenizer.decoder.decode([token])) for token_id, token in tokens]
        tokens = [(token_id, token) for token_id, token in decoded if "\ufffd" not in token]
    # A WordPiece vocabulary marks only continuations ("##ing"); "Ġ" is an ordinary letter there. Of a word that exists
    # with and without the mark of a word's start, the marked token is used.
    if not isinstance(tokenizer.model, models.WordPiece):
        marked = {token[1:] for _, token in tokens if token.startswith(WORD_STARTS)}
        tokens = [
            (token_id, token[1:] if token.startswith(WORD_STARTS) else token)
            for token_id, token in tokens
            if token.startswith(WORD_STARTS) or token not in marked
        ]
    return [(token_id, token) for token_id, token in tokens if token.strip() and not token.startswith("##")]
