"""model2vec's folders: the rows of a tokenizer's tokens in model.safetensors, of which the words are kept."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softset.errors import FileError
from softset.vectors.formats.source import Block, RowCheck, Source, block_rows, check_dimensions, streamed
from softset.vectors.formats.tensors import Tensor, map_tensors
from softset.vectors.formats.tokenizer import words_of_tokenizer

__all__ = ["embedding_table", "read_model2vec"]


def read_model2vec(folder: Path, *, skip_bad: bool) -> Source:
    """Read the words of a folder that holds model.safetensors and tokenizer.json."""
    for name in ("tokenizer.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileError(
                f"{folder} has no {name}, but a model2vec folder has one; name a file of vectors, or such a folder"
            )
    tokens = words_of_tokenizer(folder / "tokenizer.json")
    if not tokens:
        raise FileError(f"{folder / 'tokenizer.json'} has no token that is a word")
    model = folder / "model.safetensors"
    table, rows, weights = _gathered(model, np.array([number for number, _ in tokens]))
    dimensions = table.values.shape[1]
    check_dimensions(str(model), dimensions)
    check = RowCheck(str(model), skip_bad=skip_bad, unit="token")
    blocks = _blocks(tokens, table, rows, weights, check)
    return streamed("model2vec", dimensions, len(tokens), blocks, check)


def embedding_table(folder: Path, tokens: int) -> np.ndarray:
    """Return the vectors of all tokens by their number, (tokens, d) in float32."""
    model = folder / "model.safetensors"
    if not model.is_file():
        raise FileError(f"{folder} has no model.safetensors, but a model2vec folder has one")
    table, rows, weights = _gathered(model, np.arange(tokens))
    with np.errstate(invalid="ignore", over="ignore"):
        vectors: np.ndarray = (table.take(rows) * weights[:, None]).astype(np.float32)
    if not np.isfinite(vectors).all():
        raise FileError(f"{model} has a number that is not finite in float32: save the model again")
    return vectors


def _gathered(model: Path, numbers: np.ndarray) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """Return the table of embeddings, and for each token its row and its weight."""
    tensors = map_tensors(model)
    table = tensors.get("embeddings")
    if table is None or table.values.ndim != 2 or table.values.dtype.kind not in "fiu":
        raise FileError(f"{model} has no tensor 'embeddings' of real numbers with two axes, as a model2vec model has")
    rows = _looked_up(model, tensors, "mapping", numbers, "iu") if "mapping" in tensors else numbers
    if rows.min() < 0 or rows.max() >= len(table.values):
        raise FileError(f"{model} has {len(table.values):,} rows, but its tokenizer asks for row {int(rows.max()):,}")
    if "weights" not in tensors:
        return table, rows, np.ones(len(numbers), dtype=np.float32)
    return table, rows, _looked_up(model, tensors, "weights", numbers, "fiu").astype(np.float64)


def _looked_up(model: Path, tensors: dict[str, Tensor], name: str, numbers: np.ndarray, kinds: str) -> np.ndarray:
    tensor = tensors[name]
    if tensor.values.ndim != 1 or tensor.values.dtype.kind not in kinds or numbers.max() >= len(tensor.values):
        raise FileError(
            f"{model} has a tensor {name!r} of shape {tensor.values.shape}, but one number for each of "
            f"{int(numbers.max()) + 1:,} tokens was wanted"
        )
    return tensor.take(numbers)


def _blocks(
    tokens: list[tuple[int, str]], table: Tensor, rows: np.ndarray, weights: np.ndarray, check: RowCheck
) -> Iterator[Block]:
    size = block_rows(table.values.shape[1])
    for start in range(0, len(tokens), size):
        part = slice(start, start + size)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found by the check
            vectors = table.take(rows[part]) * weights[part, None]
        words = [word.encode(errors="surrogatepass") for _, word in tokens[part]]
        yield check.passed([number for number, _ in tokens[part]], words, vectors)
