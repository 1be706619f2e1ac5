"""`softset scale`: the same jobs on Ray, on this machine or on a cluster."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.metric_options import metric_options, read_metric_options
from softset.cli.set_options import read_set_options, set_options

__all__ = ["scale"]


@click.group()
def scale() -> None:
    """Run jobs over many files on Ray, on this machine or on a cluster.

    \b
    Examples:
      softset scale score --input 'pairs/*.parquet' --output scored --workers 2
      softset scale index --input 'texts/*.parquet' --output vectors --collection books.softset
      softset scale find '{red, blue} & {apple, peach}' --vectors 'vectors/*.parquet'
    """


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a job runs."""
    for option in (
        click.option("--workers", default=2, show_default=True, help="Actors that keep the model, a thread each."),
        click.option("--address", help="A Ray cluster, HOST:PORT or auto.  [default: processes of this machine]"),
    ):
        command = option(command)
    return command


@contextmanager
def _shown() -> Iterator[Any]:
    """Yield what shows progress, in a terminal, or None."""
    from softset.cli.progress import Progress

    shown = Progress("tasks") if sys.stderr.isatty() else None
    try:
        yield shown
    finally:
        if shown:
            shown.done()


def _report(report: Any, output: str, *, as_json: bool) -> None:
    """Print what a job did, and what a person should know of it."""
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        before = report.rows - report.made
        click.echo(f"{output}: {report.rows:,} rows" + (f", of which {before:,} were there already" if before else ""))
    for name, problem in report.problems[:10]:
        click.echo(f"softset: {name}: {problem}", err=True)
    if report.rejected:
        click.echo(f"softset: {report.rejected:,} rows have no result: the column problem says why", err=True)
    if report.dropped:
        click.echo(f"softset: {report.dropped:,} parts of rows that are no longer there were deleted", err=True)


DROP = click.option("--drop", is_flag=True, help="Delete what the folder holds of rows that are not in this input.")


@scale.command("score")
@click.option("--input", "pattern", required=True, help="Parquet files, such as 'pairs/*.parquet'.")
@click.option("--output", required=True, type=click.Path(), help="The folder for the scores.")
@cluster_options
@click.option("--id", "id_column", default="id", show_default=True, help="The column of ids.")
@click.option("--candidate", default="candidate", show_default=True, help="The column of candidates.")
@click.option("--reference", default="reference", show_default=True, help="The column of references, or lists of them.")
@click.option("--block", default=4_096, show_default=True, help="Rows that are scored and written at once.")
@DROP
@click.option("--metric", default="softset", show_default=True, help="A metric, such as 'subspace(weights=l2)'.")
@metric_options
@encoder_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def score(
    pattern: str,
    output: str,
    address: str | None,
    workers: int,
    id_column: str,
    candidate: str,
    reference: str,
    block: int,
    drop: bool,
    metric: str,
    rescale: str | None,
    multi_reference: str,
    idf: str | None,
    as_json: bool,
    threads: int | None,
    **options: Any,
) -> None:
    """Score the pairs of Parquet files into a folder of Parquet files.

    A second run does only what is missing: what is finished is known by a hash of its rows and of all settings. A row
    that cannot be scored has no numbers but a problem, and does not end the job.

    \b
    Examples:
      softset scale score --input 'pairs/*.parquet' --output scored
      softset scale score --input 'pairs/**/*.parquet' --output scored --workers 8 --address 10.0.0.1:6379
      softset scale score --input pairs.parquet --output scored --candidate hyp --reference refs --layer 4
    """
    from softset.jobs.scoring import score_files

    with _shown() as progress:
        report = score_files(
            pattern,
            output,
            address=address,
            workers=workers,
            columns=(id_column, candidate, reference),
            block=block,
            progress=progress,
            drop=drop,
            metric=metric,
            threads=threads or 1,
            **read_metric_options(rescale, multi_reference, idf),
            **options,
        )
    _report(report, output, as_json=as_json)


@scale.command("index")
@click.option("--input", "pattern", required=True, help="Parquet files with texts, such as 'texts/*.parquet'.")
@click.option("--output", required=True, type=click.Path(), help="The folder for ids, texts and vectors.")
@click.option("--collection", type=click.Path(), help="Make a collection of them, too, for softset find --in.")
@cluster_options
@click.option("--id", "id_column", default="id", show_default=True, help="The column of ids.")
@click.option("--text", default="text", show_default=True, help="The column of texts.")
@click.option("--block", default=4_096, show_default=True, help="Rows that are encoded and written at once.")
@DROP
@click.option("--replace", is_flag=True, help="Put the collection in the place of one that is there.")
@click.option("--model", default="minilm", show_default=True, help="What reads texts: see models list.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def index(
    pattern: str,
    output: str,
    collection: str | None,
    address: str | None,
    workers: int,
    id_column: str,
    text: str,
    block: int,
    drop: bool,
    replace: bool,
    model: str,
    as_json: bool,
) -> None:
    """Turn the texts of Parquet files into vectors, and these into a collection.

    A second run does only what is missing. The vectors can be searched where they are, by softset scale find, or made
    a collection of, for one machine.

    \b
    Examples:
      softset scale index --input 'texts/*.parquet' --output vectors
      softset scale index --input 'texts/*.parquet' --output vectors --collection books.softset
      softset find --in books.softset '{sea, ship} - war'
    """
    from softset.jobs.embedding import check_place, collect, embed_files

    if collection is not None:
        check_place(collection, replace=replace)
    where: dict[str, Any] = {"address": address, "workers": workers, "block": block, "drop": drop}
    with _shown() as progress:
        report = embed_files(pattern, output, columns=(id_column, text), model=model, progress=progress, **where)
    _report(report, output, as_json=as_json)
    if collection is not None:
        made = collect(output, collection, model=model, replace=replace)
        click.echo(
            f"{collection}: {made.size:,} items, {made.dimensions} dimensions, encoder {made.encoder}", err=as_json
        )


@scale.command("find")
@click.argument("query", nargs=-1, required=True)
@click.option("--vectors", required=True, help="Parquet files with ids and vectors, such as 'vectors/*.parquet'.")
@click.option("--top", default=10, show_default=True, help="How many items to show.")
@cluster_options
@click.option("--id", "id_column", default="id", show_default=True, help="The column of ids.")
@click.option("--vector", default="vector", show_default=True, help="The column of vectors, lists of numbers.")
@click.option("--encoder", help="What reads examples that are no ids: see models list.")
@click.option("--explain", is_flag=True, help="Show each set's share, and the examples that carry it.")
@click.option("--with-examples", is_flag=True, help="Keep the query's own items among the results.")
@set_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def find(
    query: tuple[str, ...],
    vectors: str,
    top: int,
    address: str | None,
    workers: int,
    id_column: str,
    vector: str,
    encoder: str | None,
    explain: bool,
    with_examples: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Find the items that belong most to a QUERY, among vectors in Parquet files: exactly, file by file.

    \b
    Examples:
      softset scale find '{red, blue} & {apple, peach}' --vectors 'vectors/*.parquet'
      softset scale find '{sea, ship} - war' --vectors 'vectors/*.parquet' --encoder minilm --json
    """
    from softset.collections.id_collection import text_encoder
    from softset.jobs.cluster import cluster
    from softset.jobs.finding import Shards

    options = {**read_set_options(**given), "explain": explain, "include_examples": with_examples}
    embed, name = text_encoder(encoder or "none")
    with cluster(address, workers) as ray:
        items = Shards(ray, vectors, columns=(id_column, vector), embed=embed, encoder=name, workers=workers)
        result = items.find(" ".join(query), top, **options)
    for sentence in result.notes:
        click.echo(f"softset: {sentence}", err=True)
    click.echo(result.to_json() if as_json else str(result) or "(nothing has that much membership)")
