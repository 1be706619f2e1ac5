"""`softset index`, `softset add` and `softset delete`: collections of items."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, note, on_interrupt
from softset.errors import FileError
from softset.io.text import counted

item_options = opt.add_options(
    opt.option("--text-field", "text_column", help="Column or field with the texts.  [default: text]"),
    opt.option("--id-field", "id_column", help="Column or field with the ids.  [default: id, or the row number]"),
    opt.option("--vectors-file", type=click.Path()),
)


@click.command(short_help="Build a collection of your own items.")
@click.argument("items", type=click.Path())
@opt.option("--out", required=True, type=click.Path(), help="Output: a new folder, or the address of a store.")
@opt.option("--model", help=f"{opt.MODEL}.  [default: minilm; none with --vectors-file]")
@item_options
def index(items: str, out: str, model: str | None, vectors_file: str | None, **columns: Any) -> None:
    """Build a collection of ITEMS: text lines, TSV, CSV, JSON lines or Parquet.

    Texts are encoded by --model. The model "words" averages word vectors; it is faster and less accurate than the
    default. The other columns are stored as metadata. With --vectors-file, the examples of a query are ids; they may
    also be texts if --model names the model that computed the vectors. The address of a store is
    milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME; only new and changed items are added to an existing store.

    \b
    Examples:
      softset index books.tsv --out books.softset
      softset index books.tsv --model words --out books.softset
      softset index books.jsonl --text-field title --id-field isbn --out books.softset
      softset index books.txt --vectors-file books.npy --out books.softset
      softset find --collection books.softset '{sea, ship} - war'
      softset index books.tsv --out 'milvus://books.db#books'
    """
    from softset.collections.collection import Collection
    from softset.collections.id_collection import text_encoder
    from softset.collections.items import read_items

    embed, name = text_encoder(model or ("none" if vectors_file else "minilm"))
    records = read_items(items, **columns)
    with ProgressBar("texts") as progress:
        embed = embed and _with_progress(embed, progress)
        if "://" in out:
            if vectors_file is not None or embed is None:
                raise click.UsageError("a store needs a --model that encodes texts, and takes no --vectors-file")
            _add_to_store(out, records, embed, name)
            return
        vectors = _read_vectors_file(vectors_file)
        collection = Collection.create(out, records, vectors=vectors, embed=embed, encoder=name, require_vectors=True)
    click.echo(f"{out}: {collection.size} items, {collection.dimensions} dimensions, encoder {collection.encoder}")
    _note_blank(_count_blank(collection))


def _add_to_store(out: str, records: Any, embed: Any, name: str) -> None:
    from softset.stores import create_store
    from softset.stores.ingest import ingest

    store = create_store(out, embed(["word"]).shape[1], name)
    with on_interrupt(lambda: f"{out} has {counted(len(store), 'item')}; run the command again to add the others"):
        done = ingest(store, records, embed)
    before = f", {done.unchanged:,} were there already" if done.unchanged else ""
    click.echo(f"{out}: {counted(done.added, 'item')} added{before}; {len(store):,} in all, encoder {store.encoder}")
    _note_blank(done.without_vector)


def _with_progress(embed: Any, progress: ProgressBar) -> Callable[[Sequence[str]], Any]:
    """Return an embedding function that reports its progress over all calls."""
    before = 0

    def embed_with_progress(texts: Sequence[str]) -> Any:
        nonlocal before
        start, before = before, before + len(texts)
        return embed(texts, progress=lambda done, _: progress(start + done))

    return embed_with_progress


@click.command(short_help="Add items to a collection.")
@click.argument("collection", type=click.Path())
@click.argument("items", type=click.Path())
@opt.COLLECTION_MODEL
@item_options
def add(collection: str, items: str, model: str | None, vectors_file: str | None, **columns: Any) -> None:
    """Add ITEMS to the folder COLLECTION, in the file formats of `softset index`.

    An id that the collection already has is an error.

    \b
    Example:
      softset add books.softset more.tsv
    """
    from softset.collections.collection import open_collection
    from softset.collections.items import read_items

    target = open_collection(collection, encoder=model)
    records = read_items(items, **columns, first=target.next_number())
    size, blank = target.size, _count_blank(target)
    target.add(records, vectors=_read_vectors_file(vectors_file))
    click.echo(f"{collection}: {target.size} items, {target.size - size} of them new")
    _note_blank(_count_blank(target) - blank)


@click.command(short_help="Delete items from a collection.")
@click.argument("collection", type=click.Path())
@click.argument("ids", nargs=-1, required=True)
def delete(collection: str, ids: tuple[str, ...]) -> None:
    """Delete the items with these IDS from a COLLECTION.

    If the collection lacks one of them, nothing is deleted and the command fails.

    \b
    Example:
      softset delete books.softset 17 23
    """
    from softset.collections.collection import Collection

    left = Collection.open(collection).delete(ids)
    click.echo(f"{collection}: {left.size} items left")


def _read_vectors_file(path: str | None) -> Any:
    """Return the memory-mapped array of a .npy file, or None without a path."""
    if path is None:
        return None
    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        reason = "it holds Python objects, which are never loaded" if "pickle" in str(error) else error
        raise FileError(f"{path} is not a complete .npy file of numbers: {reason}") from error


def _count_blank(collection: Any) -> int:
    return int((collection.norms == 0).sum())


def _note_blank(count: int) -> None:
    """Report items whose vector is zero."""
    if count > 0:
        note(f"{counted(count, 'item')} without any word that has a vector: no search finds them")
