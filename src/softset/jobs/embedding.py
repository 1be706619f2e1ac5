"""Encode texts as vectors on Ray, and build a collection from them."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from softset.collections.collection import Collection
from softset.collections.embedder import Embedder, text_encoder
from softset.collections.items import Item
from softset.collections.parquet import read_tables
from softset.encoders.loading import EncoderOptions, load_encoder
from softset.errors import InputError
from softset.jobs.inputs import ROWS_PER_BLOCK, column_values, compute_rows, list_spans, text_problem
from softset.jobs.run import JobReport, JobSettings, Progress, run_job

COLUMNS = ("id", "text")


class TextEmbedder:
    """The encoder in a worker: a function from a table of texts to a table of vectors.

    Args:
        columns: the names of the columns with ids and texts.
        model: a model as in `softset.load_encoder`.
        **options: options of `softset.load_encoder`; the number of threads is 1 unless it is given.
    """

    def __init__(
        self, columns: Sequence[str] = COLUMNS, model: str = "minilm", **options: Unpack[EncoderOptions]
    ) -> None:
        self.id_column, self.text_column = columns
        options.setdefault("threads", 1)  # Ray runs several workers
        self.encoder = load_encoder(model, **options)

    def __call__(self, table: Any) -> Any:
        """Return ids, texts and vectors in the order of the rows; a text without a vector gets a problem."""
        import pyarrow as pa

        ids, texts = (column_values(table.column(name)) for name in (self.id_column, self.text_column))
        unusable = [
            text_problem("text", text) if name is not None else "the id is missing"
            for name, text in zip(ids, texts, strict=True)
        ]

        def embed(indices: Sequence[int]) -> list[np.ndarray]:
            return list(self.encoder.embed([texts[index] for index in indices]))

        vectors, problems = compute_rows(unusable, embed)
        for index, vector in enumerate(vectors):
            if vector is not None and not vector.any():
                vectors[index], problems[index] = None, "the encoder has no vector for it"
        columns = {
            "id": table.column(self.id_column),
            "text": pa.array([text if isinstance(text, str) else None for text in texts], pa.string()),
            "vector": pa.array(vectors, pa.list_(pa.float32())),
            "problem": pa.array(problems, pa.string()),
        }
        return pa.table(columns)


def embed_files(
    pattern: str,
    output: str | os.PathLike[str],
    *,
    model: str = "minilm",
    address: str | None = None,
    workers: int = 2,
    columns: Sequence[str] = COLUMNS,
    block: int = ROWS_PER_BLOCK,
    progress: Progress | None = None,
    drop: bool = False,
    **options: Unpack[EncoderOptions],
) -> JobReport:
    """Encode the texts of Parquet files as vectors, in a folder of Parquet files; see `score_files` for the arguments.

    `ParquetCollection` searches the folder directly; `build_collection` makes a collection of it.
    """
    make = partial(TextEmbedder, columns, model, **options)
    signature = f"vectors|{make().encoder.signature}|columns:{','.join(columns)}|block:{block}"
    job = JobSettings(output, signature, tuple(columns), block, make)
    return run_job(job, pattern, address=address, workers=workers, progress=progress, drop=drop)


def check_target(folder: str | os.PathLike[str], *, replace: bool) -> None:
    """Raise InputError if the folder exists, unless it is a collection that may be replaced."""
    if Path(folder).exists() and not replace:
        raise InputError(f"{folder} exists already: choose another folder, or replace it (--replace)")
    if Path(folder).exists():
        Collection.open(folder)


def build_collection(
    vectors: str | os.PathLike[str], folder: str | os.PathLike[str], *, model: str = "minilm", replace: bool = False
) -> Collection:
    """Build a collection from the output of `embed_files`; the model encodes the texts of queries."""
    check_target(folder, replace=replace)
    target, source, (embed, encoder) = Path(folder), Path(vectors), text_encoder(model)
    list_spans(str(source / "part-*.parquet"), ("id", "text", "vector"))  # checks the files
    items = (
        Item(str(row["id"]), row["text"])
        for table in _tables(source)
        for row in table.select(["id", "text"]).to_pylist()
    )
    rows = (row for table in _tables(source) for row in vector_rows(table["vector"]))
    if not target.exists():
        return Collection.create(target, items, vectors=rows, encoder=Embedder(encoder, embed))
    return Collection.open(target).replace(items, vectors=rows, encoder=Embedder(encoder, embed))


def _tables(folder: Path) -> Iterator[Any]:
    """Yield the rows with a vector, in blocks."""
    import pyarrow.compute as pc

    for path in sorted(folder.glob("part-*.parquet")):
        for table in read_tables(path, ("id", "text", "vector")):
            yield table.filter(pc.is_valid(table["vector"]))


def vector_rows(column: Any) -> np.ndarray:
    """Return a column of lists of numbers as an array (n, d) in float32; the lists must be equally long."""
    import pyarrow.types as kinds

    is_list = kinds.is_list(column.type) or kinds.is_large_list(column.type) or kinds.is_fixed_size_list(column.type)
    if not is_list or not (kinds.is_floating(column.type.value_type) or kinds.is_integer(column.type.value_type)):
        raise InputError(f"vectors must be lists of numbers, but the column is of type {column.type}")
    lists = column.combine_chunks()
    lengths = np.unique(np.asarray(lists.value_lengths()))
    if len(lengths) > 1:
        raise InputError(f"vectors of {lengths[0]} and of {lengths[1]} numbers are in one column")
    return np.asarray(lists.flatten(), dtype=np.float32).reshape(len(lists), -1)
