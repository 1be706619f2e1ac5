"""`softset find` and `softset membership`: search words or items by query, and compute memberships."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import note
from softset.errors import SoftsetError
from softset.io.lines import TextFile
from softset.io.text import counted

PLAN_OPTIONS = ("logic", "alpha", "aperture", "floor", "preprocessing", "sets", "skip_unknown", "plain", "lexical")
QUERY_BATCH = 256  # queries that are searched together
Query = tuple[str, str]  # location in a file, and text


@click.command(short_help="Find the words or items that belong to a query.")
@click.argument("query", nargs=-1)
@opt.TOP
@opt.option("--offset", type=click.IntRange(0), default=0, help="Number of best items to skip, for the next page.")
@opt.option("--min-score", type=float, default=0.0, help="Minimum membership of a result, from 0 to 1.")
@opt.option("--distinct", type=float)
@opt.query_options
@opt.source_options
@opt.option("--filter", metavar="CONDITION")
@opt.option("--restrict-vocab", type=click.IntRange(1), metavar="N")
@opt.option("--queries", type=opt.TEXT_FILE)
@opt.option("--plan", is_flag=True, help="Show how the query is parsed and resolved, without searching.")
@opt.option("--approximate", is_flag=True, help="Use an approximate index, which is faster for many items.")
@opt.option("--recall-check", is_flag=True)
@opt.THREADS
@opt.INCLUDE_EXAMPLES
@opt.option("--excluded", is_flag=True, help="List the items that BUT NOT removes, instead of the best items.")
@opt.option("--variants", is_flag=True, help="Include case, plural and spelling variants of the examples.")
@opt.option("--percentile", is_flag=True, help="Show the percentage of items that rank below each result.")
@opt.JSON
@opt.option("--tsv", "as_tsv", is_flag=True)
def find(
    query: tuple[str, ...],
    queries: str | None,
    plan: bool,
    recall_check: bool,
    percentile: bool,
    as_json: bool,
    as_tsv: bool,
    **options: Any,
) -> None:
    """Find the words, or items of a collection, with the highest membership in a QUERY.

    A query is a word, a set of examples such as {red, blue}, or several of these combined with & (AND), | (OR),
    - (BUT NOT, strict: --) and ~ (NOT).

    \b
    Examples:
      softset find '{red, blue, green} & {apple, peach, banana}'
      softset find '{dog, cat} BUT NOT {wolf, lion}' --explain
      softset find '{dog, cat} BUT NOT {wolf, lion}' --excluded
      softset find '@colour | "new york"' --named-sets sets.toml --json
      softset find --queries queries.txt --tsv --logic lattice
      softset find --collection books.softset '{sea, ship} - war' --filter 'year > 1900'
      softset find --collection books.softset id:d7 --distinct 0.95
    """
    if as_json and as_tsv:
        raise click.UsageError("give --json or --tsv, not both")
    if recall_check and options["restrict_vocab"]:
        raise click.UsageError("--recall-check searches all items: leave out --restrict-vocab")
    if bool(query) == bool(queries):
        raise click.UsageError("give either a QUERY, or --queries FILE with one query per line")
    located = [("", " ".join(query))] if queries is None else _read_queries(queries)
    source = opt.open_source(options)
    options = opt.read_query_options(**options)
    plan_options = {name: options[name] for name in PLAN_OPTIONS if name in options}
    if plan:
        plans = [source.plan(text, **plan_options) for _, text in located]
        lines = "\n".join(json.dumps(plan.to_dict(), ensure_ascii=False) for plan in plans)
        click.echo(lines if as_json else "\n\n".join(map(str, plans)))
        return
    answered: list[str] = []
    for (location, text), result in _search(source, located, options, from_file=queries is not None):
        if isinstance(result, SoftsetError):
            _print_error(location, text, result, as_json=as_json)
        else:
            answered.append(text)
            _print_result(result, percentile, as_json=as_json, as_tsv=as_tsv, from_file=queries is not None)
    if recall_check and answered:
        recall = source.recall(answered, options["top"], **plan_options)
        note(f"the approximate search finds {recall:.1%} of the exact top {options['top']}")
    if len(answered) < len(located):
        raise click.exceptions.Exit(2)


def _read_queries(path: str) -> list[Query]:
    """Return the queries of a file: each line that is not a comment."""
    file = TextFile(path)
    lines = [(f"{file.name}, line {number}: ", line.strip()) for number, line in enumerate(file, 1)]
    queries = [(location, line) for location, line in lines if line and line[0] != "#"]
    if not queries:
        raise click.UsageError(f"{file.name} holds no query: write one per line")
    return queries


def _search(
    source: Any, located: Sequence[Query], options: dict[str, Any], *, from_file: bool
) -> Iterator[tuple[Query, Any]]:
    """Yield each query with its result; an invalid query of a file gives its error, and the others are searched."""
    find_all = source.find_each if from_file else source.find_many
    for start in range(0, len(located), QUERY_BATCH):
        batch = located[start : start + QUERY_BATCH]
        yield from zip(batch, find_all([text for _, text in batch], **options), strict=True)


def _print_error(location: str, query: str, error: SoftsetError, *, as_json: bool) -> None:
    note(f"{location}{error}")
    if as_json:
        click.echo(json.dumps({"query": query, "error": str(error)}, ensure_ascii=False))


def _print_result(result: Any, percentile: bool, *, as_json: bool, as_tsv: bool, from_file: bool) -> None:
    _print_notes(result, result.plan.resolved_as)
    if as_json:
        click.echo(result.to_json(percentile=percentile))
    elif as_tsv:
        click.echo(_tsv(result, percentile=percentile), nl=False)
    else:
        table = result.to_text(percentile=percentile) or "(no item belongs to this query)"
        click.echo(f"{result.query}\n{table}\n" if from_file else table)


def _tsv(result: Any, *, percentile: bool) -> str:
    """Return tab-separated lines; tabs, line breaks and backslashes in a field are escaped with a backslash."""
    rows = [[result.query, hit.id, f"{hit.membership:.6f}"] for hit in result]
    if percentile:
        rows = [[*row, f"{hit.percentile:.4f}"] for row, hit in zip(rows, result, strict=True)]
    return "".join("\t".join(map(_escape, row)) + "\n" for row in rows)


def _escape(field: str) -> str:
    for character, code in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        field = field.replace(character, code)
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in field)


def _print_notes(result: Any, resolved_as: dict[str, Any]) -> None:
    """Print notes about a result: warnings, texts that are resolved as several words, and unknown texts."""
    for sentence in result.notes:
        note(sentence)
    for text, how in resolved_as.items():
        if how is not None and how.startswith("the "):
            note(f"{text} is {how}")
    if result.unknown:
        note(f"{counted(len(result.unknown), 'text')} skipped, without a vector: {', '.join(result.unknown)}")


@click.command(short_help="Compute the membership of words or texts in a query.")
@click.argument("query")
@click.argument("texts", nargs=-1, required=True)
@opt.query_options
@opt.source_options
@opt.JSON
def membership(query: str, texts: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compute the membership of each of the TEXTS in a QUERY, from 0 to 1.

    TEXTS are words or phrases. With --collection they are ids of items, or any texts if the collection has a model.

    \b
    Examples:
      softset membership '{red, blue, green} & {apple, peach}' orange dog
      softset membership '{dog, cat} BUT NOT {wolf, lion}' hamster --explain
      softset membership --collection books.softset '{sea, ship} - war' 'a voyage' --json
    """
    source = opt.open_source(options)
    result = source.membership(query, texts, **opt.read_query_options(**options))
    _print_notes(result, {item.id: item.resolved_as for item in result})
    click.echo(result.to_json() if as_json else str(result))
