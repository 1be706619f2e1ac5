"""`softset add`: add items to a collection."""

import click

from softset.cli import options as opt
from softset.cli.index import count_blank, note_blank, read_vectors_file


@click.command(short_help="Add items to a collection.")
@click.argument("collection", type=click.Path())
@click.argument("items", type=click.Path())
@opt.item_options
def add(collection: str, items: str, text_field: str | None, id_field: str | None, vectors_file: str | None) -> None:
    """Add ITEMS to a COLLECTION; an id that the collection already has is an error.

    \b
    Example:
      softset add books.softset more.tsv
    """
    from softset.collections.collection import open_collection
    from softset.collections.items import read_items

    before = open_collection(collection)
    records = read_items(items, text_column=text_field, id_column=id_field, first=before.next_number())
    after = before.add(records, vectors=read_vectors_file(vectors_file))
    click.echo(f"{collection}: {after.size} items, {after.size - before.size} of them new")
    note_blank(max(count_blank(after) - count_blank(before), 0))
