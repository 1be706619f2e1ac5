"""`softset membership`: how much words or texts belong to a set query."""

from typing import Any

import click

from softset.cli.set_options import opened_items, read_set_options, set_options, source_options

__all__ = ["membership"]


@click.command(short_help="Tell how much words or texts belong to a query.")
@click.argument("query")
@click.argument("texts", nargs=-1, required=True)
@set_options
@source_options
@click.option("--explain", is_flag=True, help="Show each set's share, and the examples that carry it.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def membership(
    query: str,
    texts: tuple[str, ...],
    collection: str | None,
    vectors: str | None,
    where: str | None,
    explain: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Tell how much each of TEXTS belongs to a QUERY, from 0 to 1.

    \b
    Examples:
      softset membership '{red, blue, green} & {apple, peach}' orange dog
      softset membership '{dog, cat} BUT NOT {wolf, lion}' hamster --explain
      softset membership --in books.softset '{sea, ship} - war' 'a voyage' --json
    """
    wanted = read_set_options(**options)
    found = opened_items(collection, vectors, where).membership(query, texts, explain=explain, **wanted)
    for sentence in found.notes:
        click.echo(f"softset: {sentence}", err=True)
    for one in found:
        if one.resolved_as is not None and one.resolved_as.startswith("the "):
            click.echo(f"softset: {one.id} is {one.resolved_as}", err=True)
    if found.unknown:
        click.echo(f"softset: {len(found.unknown)} without a vector: {', '.join(found.unknown)}", err=True)
    click.echo(found.to_json() if as_json else str(found))
