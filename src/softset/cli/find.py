"""`softset find`: which words, or items, belong to a set query."""

import json
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

import click

from softset.cli.set_options import opened_items, read_set_options, set_options, source_options
from softset.errors import SoftsetError

__all__ = ["find"]

QUERIES_AT_ONCE = 256


@click.command()
@click.argument("query", nargs=-1)
@click.option("--top", default=10, show_default=True, help="How many items to show.")
@click.option(
    "--min",
    "least",
    default=0.0,
    show_default=True,
    help="Show only items with at least this membership.",
)
@set_options
@source_options
@click.option("--restrict", type=click.IntRange(1), help="Search only the first N words, the most frequent.")
@click.option(
    "--queries",
    type=click.File(encoding="utf-8-sig"),
    help="Read queries from a file, one a line; - is stdin.",
)
@click.option("--explain", is_flag=True, help="Show each set's share, and the examples that carry it.")
@click.option("--plan", is_flag=True, help="Show how the query is understood, and stop.")
@click.option("--approximate", is_flag=True, help="Look only near the examples: faster on millions of items.")
@click.option("--recall-check", is_flag=True, help="Say how much of the exact answer --approximate finds.")
@click.option("--threads", type=click.IntRange(1), help="How many threads to use.  [default: all]")
@click.option("--with-examples", is_flag=True, help="Keep the query's own words among the results.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a query.")
@click.option("--tsv", "as_tsv", is_flag=True, help="Print tab-separated lines: query, item, membership, percentile.")
def find(
    query: tuple[str, ...],
    top: int,
    least: float,
    collection: str | None,
    vectors: str | None,
    where: str | None,
    restrict: int | None,
    queries: IO[str] | None,
    explain: bool,
    plan: bool,
    approximate: bool,
    recall_check: bool,
    threads: int | None,
    with_examples: bool,
    as_json: bool,
    as_tsv: bool,
    **given: Any,
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
    if not 0 <= least <= 1:
        raise click.UsageError(f"--min must be a membership from 0 to 1, but {least} was given")
    if as_json and as_tsv:
        raise click.UsageError("give --json or --tsv, not both")
    asked = _queries(query, queries)
    items = opened_items(collection, vectors, where)
    options = read_set_options(**given)
    if recall_check and restrict:
        raise click.UsageError("--recall-check is about all items: leave out --restrict")
    if plan:
        plans = [items.plan(one, **options) for _, one in asked]
        told = "\n".join(json.dumps(one.to_dict(), ensure_ascii=False) for one in plans)
        click.echo(told if as_json else "\n\n".join(map(str, plans)))
        return
    options |= {"min_score": least, "include_examples": with_examples, "threads": threads, "restrict_vocab": restrict}
    show = Printer(as_json=as_json, as_tsv=as_tsv, titled=queries is not None)
    for start in range(0, len(asked), QUERIES_AT_ONCE):
        batch = asked[start : start + QUERIES_AT_ONCE]
        show.all(batch, partial(items.find_many, top=top, explain=explain, approximate=approximate, **options))
    if recall_check and show.answered:
        share = items.recall(show.answered, top, **options)
        click.echo(f"softset: the approximate engine finds {share:.1%} of the exact top {top}", err=True)
    if show.failed:
        raise click.exceptions.Exit(2)


def _queries(given: Sequence[str], file: IO[str] | None) -> list[tuple[str, str]]:
    """Return where each query stands, and the query: of the command line, or lines of a file that are no comments."""
    if bool(given) == bool(file):
        raise click.UsageError("give a QUERY, or --queries FILE with one query a line, and not both")
    if file is None:
        return [("", " ".join(given))]
    try:
        lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 (byte {error.start}): convert it first") from error
    found = [(f"{file.name}, line {at}: ", line) for at, line in enumerate(lines, 1) if line and line[0] != "#"]
    if not found:
        raise click.UsageError(f"{file.name} holds no query: write one a line")
    return found


class Printer:
    """Prints results in the order of the queries; a query that fails is reported, and the others go on."""

    def __init__(self, *, as_json: bool, as_tsv: bool, titled: bool) -> None:
        self.as_json, self.as_tsv, self.titled = as_json, as_tsv, titled
        self.failed = False
        self.answered: list[str] = []

    def all(self, asked: Sequence[tuple[str, str]], search: Any) -> None:
        """Search all queries at once, or if one of them is wrong, each alone."""
        try:
            results = search([one for _, one in asked])
        except SoftsetError:
            if not self.titled:
                raise
            for where, one in asked:
                self.alone(where, one, search)
        else:
            for result in results:
                self.one(result)

    def alone(self, where: str, query: str, search: Any) -> None:
        """Search one query of a file, and go on if it is wrong."""
        try:
            self.one(search([query])[0])
        except SoftsetError as error:
            self.failed = True
            click.echo(f"softset: {where}{error}", err=True)
            if self.as_json:
                click.echo(json.dumps({"query": query, "error": str(error)}, ensure_ascii=False))

    def one(self, result: Any) -> None:
        """Print one result, and beside it what a person should know."""
        self.answered.append(result.query)
        for sentence in [*result.notes, *_about_means(result), *_about_unknown(result.unknown)]:
            click.echo(f"softset: {sentence}", err=True)
        if self.as_json:
            click.echo(result.to_json())
        elif self.as_tsv:
            click.echo(_tsv(result), nl=False)
        else:
            table = str(result) or "(nothing has that much membership)"
            click.echo(f"{result.query}\n{table}\n" if self.titled else table)


def _about_means(result: Any) -> list[str]:
    """Say which examples are no single entry, or items rather than words."""
    shown = result.plan.resolved_as.items()
    return [f"{text} is {how}" for text, how in shown if how.startswith("the ")]


def _about_unknown(unknown: Sequence[str]) -> list[str]:
    return [f"{len(unknown)} without a vector, left out: {', '.join(unknown)}"] if unknown else []


def _tsv(result: Any) -> str:
    """Return lines of four fields; tabs, line breaks and backslashes inside a field are written with a backslash."""
    rows = ((result.query, hit.id, f"{hit.membership:.6f}", f"{hit.percentile:.4f}") for hit in result)
    return "".join("\t".join(_escaped(field) for field in row) + "\n" for row in rows)


def _escaped(field: str) -> str:
    for character, code in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        field = field.replace(character, code)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in field)
