"""`softset delete`: delete items from a collection."""

import click


@click.command(short_help="Delete items from a collection.")
@click.argument("collection", type=click.Path())
@click.argument("ids", nargs=-1, required=True)
def delete(collection: str, ids: tuple[str, ...]) -> None:
    """Delete the items with these IDS from a COLLECTION; if an id is missing, nothing is deleted.

    \b
    Example:
      softset delete books.softset 17 23
    """
    from softset.collections.collection import Collection

    left = Collection.open(collection).delete(ids)
    click.echo(f"{collection}: {left.size} items left")
