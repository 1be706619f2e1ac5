"""Texts to vectors on Ray, and from there to a collection: the encoder is kept by actors, as the scorer's is."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softset.collections.collection import Collection
from softset.collections.id_collection import text_encoder
from softset.collections.items import Item
from softset.encoders.loading import load_encoder
from softset.errors import InputError
from softset.jobs.inputs import BLOCK, spans_of, values_of
from softset.jobs.jobs import Job, Progress, Report, output_folder, run
from softset.jobs.output import ParquetParts
from softset.jobs.rows import outcomes, text_problem

__all__ = ["Embedding", "TextColumns", "check_place", "collect", "embed_files", "rows_of"]


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

        ids, texts = (values_of(table.column(name)) for name in self.columns)
        problems = [
            text_problem("text", text) if name is not None else "the id is missing"
            for name, text in zip(ids, texts, strict=True)
        ]
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
    drop: bool = False,
    **options: Any,
) -> Report:
    """Turn the texts of Parquet files into vectors, in a folder of Parquet files; arguments as in `score_files`.

    The folder can be searched as it is (`find_files`), or made a collection of (`collect`).
    """
    wanted = TextColumns(*columns)
    encoder = load_encoder(**{"threads": 1, **options})
    signature = f"vectors|{encoder.signature}|columns:{','.join(wanted)}|block:{block}"
    job = Job(output_folder(output), signature, wanted, block, Embedding, {"columns": wanted, **options})
    return run(job, pattern, address=address, workers=workers, progress=progress, drop=drop)


def check_place(folder: str | os.PathLike[str], *, replace: bool) -> None:
    """Refuse a place where something is already: a collection may be replaced, if that is wanted."""
    if Path(folder).exists() and not replace:
        raise InputError(f"{folder} is there already: choose another place, or replace it (--replace)")
    if Path(folder).exists():
        Collection.open(folder)  # else it is none


def collect(
    vectors: str | os.PathLike[str], folder: str | os.PathLike[str], *, model: str = "minilm", replace: bool = False
) -> Collection:
    """Make a collection of what `embed_files` wrote: ids, texts and vectors, with the model that reads queries."""
    check_place(folder, replace=replace)
    if replace and Path(folder).exists():
        with _in_place_of(Path(folder)) as beside:
            collect(vectors, beside, model=model)
        return Collection.open(folder, embed=text_encoder(model)[0])
    parts = ParquetParts(vectors)
    spans_of(str(parts.folder / "part-*.parquet"), ("id", "text", "vector"))  # which says what is wrong with them
    embed, name = text_encoder(model)
    return Collection.create(folder, _items(parts), vectors=_rows(parts), embed=embed, encoder=name)


@contextmanager
def _in_place_of(folder: Path) -> Iterator[Path]:
    """Let a folder be made beside another, and take its place when it is whole."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as name:
        yield Path(name, "new")
        folder.rename(Path(name, "old"))
        Path(name, "new").rename(folder)


def _tables(parts: ParquetParts) -> Iterator[Any]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for path in sorted(parts.folder.glob("part-*.parquet")):
        table = pq.read_table(path, columns=["id", "text", "vector"])
        yield table.filter(pc.is_valid(table["vector"]))


def _items(parts: ParquetParts) -> Iterator[Item]:
    for table in _tables(parts):
        for name, text in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
            yield Item(str(name), text)


def _rows(parts: ParquetParts) -> Iterator[np.ndarray]:
    """Yield the vectors of all parts, one after the other: memory holds one part."""
    for table in _tables(parts):
        yield from rows_of(table["vector"])


def rows_of(column: Any) -> np.ndarray:
    """Return a column of lists of numbers as an array (n, d) in float32; lists of other lengths are refused."""
    import pyarrow.types as kinds

    is_list = kinds.is_list(column.type) or kinds.is_large_list(column.type) or kinds.is_fixed_size_list(column.type)
    if not is_list or not (kinds.is_floating(column.type.value_type) or kinds.is_integer(column.type.value_type)):
        raise InputError(f"vectors must be lists of numbers, but the column is of type {column.type}")
    flat = column.combine_chunks()
    counts = np.unique(np.asarray(flat.value_lengths()))
    if len(counts) > 1:
        raise InputError(f"vectors of {counts[0]} and of {counts[1]} numbers are in one column")
    values = np.asarray(flat.flatten(), dtype=np.float32)
    return values.reshape(len(flat), -1)
