"""Texts to vectors on Ray, and from there to a collection: the encoder is kept by actors, as the scorer's is."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from softset.embed.encoders.loading import load_encoder
from softset.errors import InputError
from softset.retrieval.collection import Collection
from softset.retrieval.encoders import text_encoder
from softset.retrieval.items import Item
from softset.scale.inputs import BLOCK, spans_of
from softset.scale.jobs import Job, Progress, Report, output_folder, run
from softset.scale.parts import Parts
from softset.scale.rows import outcomes, text_problem

__all__ = ["Embedding", "TextColumns", "collect", "embed_files", "rows_of"]


class TextColumns(NamedTuple):
    """Where ids and texts are."""

    id: str = "id"
    text: str = "text"


class Embedding:
    """What an actor keeps: the encoder. Called with a table of texts, it returns one of their vectors.

    Args:
        columns: where ids and texts are.
        model: as in `softset.load_encoder`.
        options: others of it.
    """

    def __init__(self, columns: Sequence[str] = TextColumns(), model: str = "minilm", **options: Any) -> None:
        self.columns = TextColumns(*columns)
        self.encoder = load_encoder(model, **{"threads": 1, **options})

    def __call__(self, table: Any) -> Any:
        """Return ids, texts and vectors in their order; a text that cannot be read has a problem instead."""
        import pyarrow as pa

        texts = table.column(self.columns.text).to_pylist()
        problems = [text_problem("text", text) for text in texts]
        good = [at for at, problem in enumerate(problems) if problem is None]
        vectors: list[Any] = [None] * len(texts)
        for at, found in outcomes(good, lambda places: list(self.encoder.embed([texts[at] for at in places]))):
            if isinstance(found, str):
                problems[at] = found
            elif not found.any():
                problems[at] = "the encoder has no vector for it"
            else:
                vectors[at] = found
        made = pa.table(
            {
                "id": table.column(self.columns.id),
                "text": pa.array([one if isinstance(one, str) else None for one in texts], pa.string()),
                "vector": pa.array(vectors, pa.list_(pa.float32())),
                "problem": pa.array(problems, pa.string()),
            }
        )
        return made.replace_schema_metadata({"softset": self.encoder.signature})


def embed_files(
    pattern: str,
    output: str | os.PathLike[str],
    *,
    address: str | None = None,
    workers: int = 2,
    columns: Sequence[str] = TextColumns(),
    block: int = BLOCK,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Turn the texts of Parquet files into vectors, in a folder of Parquet files; arguments as in `score_files`.

    The folder can be searched as it is (`find_files`), or made a collection of (`collect`).
    """
    wanted = TextColumns(*columns)
    encoder = load_encoder(**{"threads": 1, **options})
    signature = f"vectors|{encoder.signature}|block:{block}"
    job = Job(output_folder(output), signature, wanted, block, Embedding, {"columns": wanted, **options})
    return run(job, pattern, address=address, workers=workers, progress=progress)


def collect(vectors: str | os.PathLike[str], folder: str | os.PathLike[str], *, model: str = "minilm") -> Collection:
    """Make a collection of what `embed_files` wrote: ids, texts and vectors, with the model that reads queries."""
    parts = Parts(vectors)
    spans_of(str(parts.folder / "part-*.parquet"), ("id", "text", "vector"))  # which says what is wrong with them
    embed, name = text_encoder(model)
    return Collection.create(folder, _items(parts), vectors=_rows(parts), embed=embed, encoder=name)


def _tables(parts: Parts) -> Iterator[Any]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for path in sorted(parts.folder.glob("part-*.parquet")):
        table = pq.read_table(path, columns=["id", "text", "vector"])
        yield table.filter(pc.is_valid(table["vector"]))


def _items(parts: Parts) -> Iterator[Item]:
    for table in _tables(parts):
        for name, text in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
            yield Item(str(name), text)


def _rows(parts: Parts) -> Iterator[np.ndarray]:
    """Yield the vectors of all parts, one after the other: memory holds one part."""
    for table in _tables(parts):
        yield from rows_of(table["vector"])


def rows_of(column: Any) -> np.ndarray:
    """Return a column of lists of numbers as an array (n, d) in float32; lists of other lengths are refused."""
    flat = column.combine_chunks()
    counts = np.asarray(flat.value_lengths().fill_null(-1)) if hasattr(flat, "value_lengths") else None
    if counts is not None and len(set(counts.tolist())) > 1:
        raise InputError(f"vectors of {counts[0]} and of {counts[counts != counts[0]][0]} numbers are in one column")
    values = np.asarray(flat.flatten(), dtype=np.float32)
    return values.reshape(len(flat), -1)
