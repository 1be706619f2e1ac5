"""`softset find`: the words or items with the highest membership in a query."""

import json
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

import click

from softset.cli import options as opt
from softset.cli.output import note
from softset.errors import SoftsetError

RECALL_OPTIONS = ("logic", "alpha", "aperture", "floor", "preprocessing", "sets", "skip_unknown")
QUERY_BATCH = 256  # queries that are searched together


@click.command(short_help="Find the words or items that belong to a query.")
@click.argument("query", nargs=-1)
@opt.TOP
@opt.option("--min-score", type=float, default=0.0, help="Minimum membership of a result.")
@opt.query_options
@opt.source_options
@opt.option("--restrict-vocab", type=click.IntRange(1), help="Search only the first N words, the most frequent ones.")
@opt.option("--queries", type=click.File(encoding="utf-8-sig"), help="File with one query per line; - is stdin.")
@opt.option("--plan", is_flag=True, help="Show how the query is parsed and resolved, without a search.")
@opt.option("--approximate", is_flag=True, help="Use the approximate index: faster on millions of items.")
@opt.option("--recall-check", is_flag=True, help="Report the recall of --approximate against the exact search.")
@opt.THREADS
@opt.INCLUDE_EXAMPLES
@opt.option("--percentile", is_flag=True, help="Show the share of items that rank below each result.")
@opt.JSON
@opt.option("--tsv", "as_tsv", is_flag=True, help="Print tab-separated lines: query, id, membership.")
def find(
    query: tuple[str, ...],
    queries: IO[str] | None,
    collection: str | None,
    vectors: str | None,
    where: str | None,
    plan: bool,
    recall_check: bool,
    percentile: bool,
    as_json: bool,
    as_tsv: bool,
    **options: Any,
) -> None:
    """Find the words, or items of a collection, with the highest membership in a QUERY.

    A query is a set of examples, {red, blue}, a word, or sets joined by & (AND), | (OR), - (BUT NOT) and ~ (NOT).

    \b
    Examples:
      softset find '{red, blue, green} & {apple, peach, banana}'
      softset find '{dog, cat} BUT NOT {wolf, lion}' --explain
      softset find '@colour | "new york"' --named-sets sets.toml --json
      softset find --queries queries.txt --tsv --logic lattice
      softset find --collection books.softset '{sea, ship} - war'
    """
    if not 0 <= options["min_score"] <= 1:
        raise click.UsageError(f"--min-score must be from 0 to 1, but {options['min_score']} was given")
    if as_json and as_tsv:
        raise click.UsageError("give --json or --tsv, not both")
    if recall_check and options["restrict_vocab"]:
        raise click.UsageError("--recall-check searches all items: leave out --restrict-vocab")
    located = _read_queries(query, queries)
    source = opt.open_source(collection, vectors, where)
    options = opt.read_query_options(**options)
    if plan:
        _print_plans(source, [text for _, text in located], options, as_json=as_json)
        return
    printer = ResultPrinter(as_json=as_json, as_tsv=as_tsv, percentile=percentile, from_file=queries is not None)
    for start in range(0, len(located), QUERY_BATCH):
        printer.search(located[start : start + QUERY_BATCH], partial(source.find_many, **options))
    if recall_check and printer.answered:
        recall_options = {name: value for name, value in options.items() if name in RECALL_OPTIONS}
        recall = source.recall(printer.answered, options["top"], **recall_options)
        note(f"the approximate search finds {recall:.1%} of the exact top {options['top']}")
    if printer.failed:
        raise click.exceptions.Exit(2)


def _read_queries(query: Sequence[str], file: IO[str] | None) -> list[tuple[str, str]]:
    """Return (location, query) of the command line, or of the lines of a file that are not comments."""
    if bool(query) == bool(file):
        raise click.UsageError("give a QUERY, or --queries FILE with one query per line, and not both")
    if file is None:
        return [("", " ".join(query))]
    try:
        lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 (byte {error.start}): convert it first") from error
    queries = [
        (f"{file.name}, line {number}: ", line) for number, line in enumerate(lines, 1) if line and line[0] != "#"
    ]
    if not queries:
        raise click.UsageError(f"{file.name} holds no query: write one per line")
    return queries


def _print_plans(source: Any, queries: Sequence[str], options: dict[str, Any], *, as_json: bool) -> None:
    names = ("logic", "preprocessing", "sets", "skip_unknown", "alpha", "aperture", "floor")
    plans = [source.plan(query, **{name: options[name] for name in names if name in options}) for query in queries]
    lines = "\n".join(json.dumps(plan.to_dict(), ensure_ascii=False) for plan in plans)
    click.echo(lines if as_json else "\n\n".join(map(str, plans)))


class ResultPrinter:
    """Prints results in the order of the queries; an invalid query of a file is reported, and the others go on."""

    def __init__(self, *, as_json: bool, as_tsv: bool, percentile: bool, from_file: bool) -> None:
        self.as_json, self.as_tsv, self.percentile, self.from_file = as_json, as_tsv, percentile, from_file
        self.failed = False
        self.answered: list[str] = []

    def search(self, located: Sequence[tuple[str, str]], find_many: Any) -> None:
        """Search all queries together, or one by one if one of them is invalid."""
        try:
            results = find_many([query for _, query in located])
        except SoftsetError as error:
            if not self.from_file:
                raise
            if len(located) > 1:
                for pair in located:
                    self.search([pair], find_many)
                return
            self._fail(*located[0], error)
        else:
            for result in results:
                self._print(result)

    def _fail(self, location: str, query: str, error: SoftsetError) -> None:
        self.failed = True
        note(f"{location}{error}")
        if self.as_json:
            click.echo(json.dumps({"query": query, "error": str(error)}, ensure_ascii=False))

    def _print(self, result: Any) -> None:
        """Print one result, and notes about it to standard error."""
        self.answered.append(result.query)
        resolved = [f"{text} is {how}" for text, how in result.plan.resolved_as.items() if how.startswith("the ")]
        for sentence in [*result.notes, *resolved]:
            note(sentence)
        if result.unknown:
            note(f"{len(result.unknown)} without a vector, left out: {', '.join(result.unknown)}")
        if self.as_json:
            click.echo(result.to_json(percentile=self.percentile))
        elif self.as_tsv:
            click.echo(self._tsv(result), nl=False)
        else:
            table = result.to_text(percentile=self.percentile) or "(no item has this much membership)"
            click.echo(f"{result.query}\n{table}\n" if self.from_file else table)

    def _tsv(self, result: Any) -> str:
        """Return tab-separated lines; tabs, line breaks and backslashes in a field are escaped with a backslash."""
        rows = [[result.query, hit.id, f"{hit.membership:.6f}"] for hit in result]
        if self.percentile:
            rows = [[*row, f"{hit.percentile:.4f}"] for row, hit in zip(rows, result, strict=True)]
        return "".join("\t".join(map(_escape, row)) + "\n" for row in rows)


def _escape(field: str) -> str:
    for character, code in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        field = field.replace(character, code)
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in field)
