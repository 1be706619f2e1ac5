"""`softset find`: which words, or items, belong to a set query."""

from collections.abc import Sequence
from typing import IO, Any

import click

from softset.retrieval.logic import Logic

__all__ = ["find"]

DEFAULT = Logic()


@click.command()
@click.argument("query", nargs=-1)
@click.option("--top", default=10, show_default=True, help="How many items to show.")
@click.option("--min", "least", default=0.0, show_default=True, help="Show only items with at least this membership.")
@click.option(
    "--logic", type=click.Choice(Logic.NAMES), default=DEFAULT.name, show_default=True, help="How sets combine."
)
@click.option("--alpha", default=DEFAULT.alpha, show_default=True, help="Tolerance of AND in the lattice.")
@click.option("--aperture", default=DEFAULT.aperture, show_default=True, help="How graded sets are; inf is crisp.")
@click.option(
    "--in", "collection", type=click.Path(), help="Search a collection of your own items (see softset index)."
)
@click.option("--vectors", help="Word vectors by name or folder (see softset vectors list).")
@click.option("--restrict", type=click.IntRange(1), help="Search only the first N words, the most frequent.")
@click.option(
    "--sets", "sets_file", type=click.Path(), help="Named sets for @name: TOML, JSON, or a folder of .txt files."
)
@click.option(
    "--queries", type=click.File(encoding="utf-8"), help="Read queries from a file, one a line; - is standard input."
)
@click.option("--explain", is_flag=True, help="Show each set's share, and the examples that carry it.")
@click.option("--plan", is_flag=True, help="Show how the query is understood, and stop.")
@click.option("--approximate", is_flag=True, help="Look only near the examples: faster on millions of items.")
@click.option("--recall-check", is_flag=True, help="Say how much of the exact answer --approximate finds.")
@click.option("--threads", type=click.IntRange(1), help="How many threads to use.  [default: all]")
@click.option("--with-examples", is_flag=True, help="Keep the query's own words among the results.")
@click.option("--skip-unknown", is_flag=True, help="Leave out words that have no vector, and say how many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a query.")
@click.option("--tsv", "as_tsv", is_flag=True, help="Print tab-separated lines: query, item, membership, percentile.")
def find(
    query: tuple[str, ...],
    top: int,
    least: float,
    logic: str,
    alpha: float,
    aperture: float,
    collection: str | None,
    vectors: str | None,
    restrict: int | None,
    sets_file: str | None,
    queries: IO[str] | None,
    explain: bool,
    plan: bool,
    approximate: bool,
    recall_check: bool,
    threads: int | None,
    with_examples: bool,
    skip_unknown: bool,
    as_json: bool,
    as_tsv: bool,
) -> None:
    """Find the words, or items, that belong most to a QUERY.

    A query is a set by examples, {red, blue}, a word, or sets joined by & (AND), | (OR), - (BUT NOT), ~ (NOT).

    \b
    Examples:
      softset find '{red, blue, green} & {apple, peach, banana}'
      softset find '{dog, cat} BUT NOT {wolf, lion}' --explain
      softset find '@colour | "new york"' --sets sets.toml --json
      softset find --queries queries.txt --tsv --logic lattice
      softset find --in books.softset '{sea, ship} - war'
    """
    from softset.retrieval.named import read_sets

    asked = _queries(query, queries)
    items = _items(collection, vectors, restrict)
    options: dict[str, Any] = {
        "logic": Logic(logic, alpha, aperture),
        "sets": read_sets(sets_file) if sets_file else None,
        "skip_unknown": skip_unknown,
    }
    if plan:
        click.echo("\n\n".join(str(items.plan(one, **options)) for one in asked))
        return
    options |= {"least": least, "with_examples": with_examples, "threads": threads}
    results = items.find_many(asked, top, explained=explain, approximate=approximate, **options)
    if recall_check:
        share = items.recall(asked, top, **options)
        click.echo(f"softset: the approximate engine finds {share:.1%} of the exact top {top}", err=True)
    for result in results:
        for sentence in [*result.notes, *_about_unknown(result.unknown)]:
            click.echo(f"softset: {sentence}", err=True)
        click.echo(result.to_json() if as_json else _tsv(result) if as_tsv else _titled(result, len(results)))


def _items(collection: str | None, vectors: str | None, restrict: int | None) -> Any:
    """Return what is searched: a collection, or word vectors."""
    if collection is None:
        from softset.retrieval.words import load_words

        words = load_words(vectors)
        return words.restrict(restrict) if restrict else words
    if vectors or restrict:
        raise click.UsageError("--vectors and --restrict are for word vectors; a collection (--in) has its own")
    from softset.retrieval.collection import Collection
    from softset.retrieval.encoders import text_encoder

    return Collection.open(collection, embed=text_encoder(Collection.open(collection).encoder))


def _queries(given: Sequence[str], file: IO[str] | None) -> list[str]:
    """Return the queries of the command line or of a file: its lines that are neither empty nor comments."""
    if bool(given) == bool(file):
        raise click.UsageError("give a QUERY, or --queries FILE with one query a line")
    if file is None:
        return [" ".join(given)]
    try:
        lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 (byte {error.start}): convert it first") from error
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise click.UsageError(f"{file.name} holds no query: write one a line")
    return found


def _about_unknown(unknown: Sequence[str]) -> list[str]:
    return [f"{len(unknown)} without a vector, left out: {', '.join(unknown)}"] if unknown else []


def _titled(result: Any, many: int) -> str:
    table = str(result) or "(nothing has that much membership)"
    return f"{result.query}\n{table}\n" if many > 1 else table


def _tsv(result: Any) -> str:
    return "\n".join(f"{result.query}\t{hit.item}\t{hit.membership:.6f}\t{hit.percentile:.4f}" for hit in result)
