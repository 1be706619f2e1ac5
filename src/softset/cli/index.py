"""`softset index`: your own items, ready to be searched."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click

from softset.errors import InputError

__all__ = ["count_blank", "index", "item_options", "read_vectors_file", "warn_of_blank", "watched"]


def item_options(command: Any) -> Any:
    """Add the options that say what a file of items holds."""
    for option in (
        click.option("--text", "text_column", help="The column with the text."),
        click.option("--id", "id_column", help="The column with the id; row numbers if there is none."),
        click.option("--vectors", "vectors_file", type=click.Path(), help="A .npy file with one vector an item."),
    ):
        command = option(command)
    return command


def read_vectors_file(path: str | None) -> Any:
    """Return the array of a .npy file, memory-mapped."""
    if path is None:
        return None
    import numpy as np

    from softset.errors import FileError

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        why = "it holds Python objects, which are never loaded" if "pickle" in str(error) else error
        raise FileError(f"{path} is not a whole .npy file of numbers: {why}") from error


@click.command(short_help="Make a collection of your own items.")
@click.argument("items", type=click.Path())
@click.option("--out", type=click.Path(), help="The folder of the new collection.")
@click.option("--store", type=click.Choice(["milvus", "lance"]), help="Keep the collection in an engine instead.")
@click.option("--uri", help="Where the engine is: a file or an address for milvus, a folder for lance.")
@click.option("--collection", help="The name of the collection there.")
@click.option("--encoder", help="What reads texts: see models list.  [default: minilm; none with --vectors]")
@item_options
def index(
    items: str,
    out: str | None,
    store: str | None,
    uri: str | None,
    collection: str | None,
    encoder: str | None,
    text_column: str | None,
    id_column: str | None,
    vectors_file: str | None,
) -> None:
    """Make a collection of ITEMS: text lines, TSV, CSV, JSON lines or Parquet.

    Texts are read by the bundled sentence encoder, or by another --encoder: words is the mean of word vectors, much
    faster and coarser.

    Items keep their ids and all other columns. With --vectors their vectors are given; name the --encoder that made
    them if queries are to be read as texts too, and not only as ids.

    \b
    Examples:
      softset index books.tsv --out books.softset
      softset index books.tsv --encoder words --out books.softset
      softset index books.jsonl --text title --id isbn --out books.softset
      softset index books.txt --vectors books.npy --out books.softset
      softset find --in books.softset '{sea, ship} - war'
      softset index books.tsv --store milvus --uri books.db --collection books
      softset find --in 'milvus://books.db#books' '{sea, ship} - war'
    """
    if store is not None or uri is not None or collection is not None:
        _into_store(items, out, (store, uri, collection), encoder or "minilm", text_column, id_column, vectors_file)
        return
    if out is None:
        raise click.UsageError("name the folder of the new collection with --out, or a --store")
    from softset.collections.collection import Collection
    from softset.collections.id_collection import text_encoder
    from softset.collections.items import read_items

    embed, name = text_encoder(encoder or ("none" if vectors_file else "minilm"))
    vectors = read_vectors_file(vectors_file)
    found = read_items(items, text_column=text_column, id_column=id_column)
    made = Collection.create(out, found, vectors=vectors, embed=watched(embed), encoder=name)
    blank = count_blank(made)
    if blank == made.size:
        shutil.rmtree(out)
        raise InputError(
            f"none of {made.size} items of {items} has a word with a vector: is the text in another column (--text)?"
        )
    click.echo(f"{out}: {made.size} items, {made.dimensions} dimensions, encoder {made.encoder}")
    warn_of_blank(blank)


def _into_store(
    items: str,
    out: str | None,
    where: tuple[str | None, str | None, str | None],
    encoder: str,
    text_column: str | None,
    id_column: str | None,
    vectors_file: str | None,
) -> None:
    """Put items into an engine's collection; those that are there already are passed over."""
    from softset.collections.id_collection import text_encoder
    from softset.collections.items import read_items
    from softset.stores import create_store
    from softset.stores.ingesting import ingest

    store, uri, collection = where
    if out is not None or vectors_file is not None or None in where:
        raise click.UsageError("a store wants --store, --uri and --collection, and neither --out nor --vectors")
    embed, name = text_encoder(encoder)
    if embed is None:
        raise click.UsageError("a store wants an --encoder that reads texts: see models list")
    found = read_items(items, text_column=text_column, id_column=id_column)
    made = create_store(f"{store}://{uri}#{collection}", embed(["word"]).shape[1], name)
    done = ingest(made, found, watched(embed))
    before = f", {done.there:,} were there already" if done.there else ""
    click.echo(
        f"{collection} at {uri}: {done.added:,} items added{before}; {len(made):,} in all, encoder {made.encoder}"
    )
    warn_of_blank(done.blank)


def watched(embed: Any) -> Any:
    """Return an embedding function that counts its texts on standard error, where that is a terminal."""
    if embed is None or not sys.stderr.isatty():
        return embed
    from softset.cli.progress import Progress

    progress, before = Progress("texts"), 0

    def counted(texts: Sequence[str]) -> Any:
        nonlocal before
        start, before = before, before + len(texts)
        vectors = embed(texts, progress=lambda done, _: progress(start + done))
        progress.done()
        return vectors

    return counted


def count_blank(collection: Any) -> int:
    """Count the items whose vector is zero."""
    return int((collection.norms == 0).sum())


def warn_of_blank(blank: int) -> None:
    """Say that some items cannot be found."""
    if blank:
        click.echo(f"softset: {blank} items have no word with a vector: nothing will find them", err=True)
