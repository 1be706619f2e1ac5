"""Items with their vectors: given ones, or those that an encoder computes for texts and their chunks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from softset.collections.chunks import Chunking, split_text
from softset.collections.embedder import Embedder
from softset.collections.items import Item
from softset.collections.segment import EmbeddedItem, blocks
from softset.errors import InputError, ShapeError
from softset.query.resolution import Resolved

__all__ = ["embed_again", "embed_given", "embed_items"]

NO_SPANS = np.zeros((0, 2), dtype=np.int32)


def embed_items(items: Iterable[Item], vectors: Any, embedder: Embedder, chunks: Chunking) -> Iterator[EmbeddedItem]:
    """Yield items with given vectors, as an array (n, d) or an iterator, or with those that the embedder computes.

    Only computed vectors have chunks.
    """
    if vectors is not None:
        return (EmbeddedItem(item, row, np.zeros((0, len(row))), NO_SPANS) for item, row in _pair(items, vectors))
    if embedder.embed is None:
        raise InputError("the items need vectors: give vectors, or an encoder that computes them from the texts")
    return (embedded for block in blocks(items) for embedded in embed_block(block, embedder, chunks))


def embed_again(items: Iterable[EmbeddedItem], embedder: Embedder, chunks: Chunking) -> Iterator[EmbeddedItem]:
    """Yield items with the vectors that they have, and with new vectors of chunks if there is an encoder."""
    for block in blocks(items):
        if embedder.embed is None or chunks == "none":
            yield from (old._replace(chunks=old.chunks[:0], spans=NO_SPANS) for old in block)
        else:
            new = embed_block([old.item for old in block], embedder, chunks)
            yield from (each._replace(vector=old.vector) for old, each in zip(block, new, strict=True))


def embed_block(items: list[Item], embedder: Embedder, chunks: Chunking) -> Iterator[EmbeddedItem]:
    """Yield items with the vectors of their texts and chunks, which are all encoded at once."""
    if chunks == "token":
        yield from _with_tokens(items, embedder)
        return
    spans = [split_text(item.text, chunks) for item in items]
    texts = [item.text for item in items]
    texts += [item.text[start:stop] for item, parts in zip(items, spans, strict=True) for start, stop in parts]
    rows = embedder.embed_documents(texts)
    used = len(items)
    for item, row, parts in zip(items, rows[:used], spans, strict=True):
        of_chunks = rows[used : (used := used + len(parts))]
        has_vector = of_chunks.any(axis=1)
        positions = np.array(parts, dtype=np.int32).reshape(-1, 2)
        own = row if row.any() or not has_vector.any() else of_chunks[has_vector].mean(axis=0)
        yield EmbeddedItem(item, own, of_chunks[has_vector], positions[has_vector])


def embed_given(
    resolved: Sequence[Resolved], of_items: Mapping[int, np.ndarray], embedder: Embedder, chunks: Chunking
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors (n + m, d) of resolved texts and their chunks as items, and the owners (m,) of the latter.

    `of_items` has the vectors of the chunks of those texts that are items of the collection, by index.
    """
    own = [row.vector for row in resolved]
    parts = [of_items[row.indices[0]] if row.indices else np.zeros((0, len(row.vector))) for row in resolved]
    others = [index for index, row in enumerate(resolved) if not row.indices and row.text]
    texts = [resolved[index].text for index in others]
    is_same = embedder.query_prompt == embedder.document_prompt and chunks != "token"
    if others and not (is_same and not any(split_text(text, chunks) for text in texts)):
        for index, embedded in zip(
            others, embed_block([Item("", text) for text in texts], embedder, chunks), strict=True
        ):
            own[index], parts[index] = embedded.vector, embedded.chunks
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.concatenate([np.stack(own), *parts]).astype(np.float64), owners


def _with_tokens(items: list[Item], embedder: Embedder) -> Iterator[EmbeddedItem]:
    if embedder.encoder is None:
        raise InputError("chunks of tokens need an encoder with the method encode: choose sentence or window")
    texts = [item.text for item in items]
    sets = embedder.encoder.encode(texts)
    rows = embedder.embed_documents(texts)
    spans = np.zeros((len(sets.vectors), 2)) if sets.spans is None else sets.spans
    for index, (item, row) in enumerate(zip(items, rows, strict=True)):
        part = slice(int(sets.offsets[index]), int(sets.offsets[index + 1]))
        has_vector = sets.vectors[part].any(axis=1)
        yield EmbeddedItem(item, row, sets.vectors[part][has_vector], spans[part][has_vector].astype(np.int32))


def _pair(items: Iterable[Item], vectors: Any) -> Iterable[tuple[Item, np.ndarray]]:
    return zip(items, vectors, strict=True) if isinstance(vectors, Iterator) else _pair_with_array(items, vectors)


def _pair_with_array(items: Iterable[Item], given: Any) -> Iterator[tuple[Item, np.ndarray]]:
    vectors = np.asarray(given)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
        shape = f"{vectors.dtype} {vectors.shape}"
        raise ShapeError(f"vectors of items must be numbers of shape (n, d), but {shape} was given")
    count = 0
    for count, item in enumerate(items, 1):
        if count > len(vectors):
            raise ShapeError(f"{len(vectors)} vectors were given for at least {count} items: give one vector for each")
        yield item, vectors[count - 1]
    if count != len(vectors):
        raise ShapeError(f"{len(vectors)} vectors were given for {count} items: give one vector for each")
