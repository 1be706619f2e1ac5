"""`softset membership`: the membership of words or texts in a query."""

from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import note


@click.command(short_help="Compute the membership of words or texts in a query.")
@click.argument("query")
@click.argument("texts", nargs=-1, required=True)
@opt.query_options
@opt.source_options
@opt.JSON
def membership(
    query: str,
    texts: tuple[str, ...],
    collection: str | None,
    vectors: str | None,
    where: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compute the membership of each of TEXTS in a QUERY, from 0 to 1.

    \b
    Examples:
      softset membership '{red, blue, green} & {apple, peach}' orange dog
      softset membership '{dog, cat} BUT NOT {wolf, lion}' hamster --explain
      softset membership --collection books.softset '{sea, ship} - war' 'a voyage' --json
    """
    options = opt.read_query_options(**options)
    result = opt.open_source(collection, vectors, where).membership(query, texts, **options)
    for sentence in result.notes:
        note(sentence)
    for item in result:
        if item.resolved_as is not None and item.resolved_as.startswith("the "):
            note(f"{item.id} is {item.resolved_as}")
    if result.unknown:
        note(f"{len(result.unknown)} without a vector: {', '.join(result.unknown)}")
    click.echo(result.to_json() if as_json else str(result))
