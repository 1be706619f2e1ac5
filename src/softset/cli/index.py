"""`softset index`: your own items, ready to be searched."""

from typing import Any

import click

__all__ = ["index"]


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
        raise FileError(f"{path} is not a whole .npy file of numbers: {error}") from error


@click.command()
@click.argument("items", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="The folder of the new collection.")
@click.option("--encoder", help="What reads texts: words, words:NAME, or none.  [default: words; none with --vectors]")
@item_options
def index(
    items: str, out: str, encoder: str | None, text_column: str | None, id_column: str | None, vectors_file: str | None
) -> None:
    """Make a collection of ITEMS: text lines, TSV, CSV, JSON lines or Parquet.

    Items keep their ids and all other columns. With --vectors their vectors are given; name the --encoder that made
    them if queries are to be read as texts too, and not only as ids.

    \b
    Examples:
      softset index books.tsv --out books.softset
      softset index books.jsonl --text title --id isbn --out books.softset
      softset index books.txt --vectors books.npy --out books.softset
      softset find --in books.softset '{sea, ship} - war'
    """
    from softset.retrieval.collection import Collection
    from softset.retrieval.encoders import text_encoder
    from softset.retrieval.items import read_items

    name = encoder or ("none" if vectors_file else "words")
    embed, name = text_encoder(name)
    vectors = read_vectors_file(vectors_file)
    found = read_items(items, text_column=text_column, id_column=id_column)
    made = Collection.create(out, found, vectors=vectors, embed=embed, encoder=name)
    click.echo(f"{out}: {made.size} items, {made.dimensions} dimensions, encoder {made.encoder}")
    blank = int((made.norms == 0).sum())
    if blank:
        click.echo(f"softset: {blank} items have no word with a vector: nothing will find them", err=True)
