"""`softset add`: more items for a collection."""

import click

from softset.cli.index import count_blank, item_options, read_vectors_file, warn_of_blank

__all__ = ["add"]


@click.command(short_help="Add items to a collection.")
@click.argument("collection", type=click.Path())
@click.argument("items", type=click.Path())
@item_options
def add(collection: str, items: str, text_column: str | None, id_column: str | None, vectors_file: str | None) -> None:
    """Add ITEMS to a COLLECTION; an id that is there already is refused.

    \b
    Example:
      softset add books.softset more.tsv
    """
    from softset.collections.collection import open_collection
    from softset.collections.items import read_items

    opened = open_collection(collection)
    found = read_items(items, text_column=text_column, id_column=id_column, first=opened.next_number())
    grown = opened.add(found, vectors=read_vectors_file(vectors_file))
    click.echo(f"{collection}: {grown.size} items, {grown.size - opened.size} of them new")
    warn_of_blank(max(count_blank(grown) - count_blank(opened), 0))
