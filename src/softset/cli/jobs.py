"""`softset jobs`: score, index and search many Parquet files with Ray."""

import json
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, VerbGroup, note, on_interrupt
from softset.io.text import counted

INPUT = opt.option("--input", "pattern", type=opt.PATH, required=True)
OUT = opt.option("--out", required=True, type=click.Path(), help="Output folder.")
ID_FIELD = opt.option("--id-field", default="id", help="Column with the ids.")
cluster_options = opt.add_options(
    opt.option("--workers", type=int, default=2, help="Number of worker processes."),
    opt.option("--address", help="Address of a Ray cluster, HOST:PORT or auto.  [default: start one on this machine]"),
)
block_options = opt.add_options(
    opt.option("--block-size", "block", type=int, default=4096, help="Number of rows in one output file."),
    opt.option("--drop", is_flag=True, help="Delete results in --out whose rows are no longer in the input."),
)


@click.group(cls=VerbGroup, short_help="Score, index and search many files with Ray.")
def jobs() -> None:
    """Score, index and search many Parquet files with Ray, on this machine or on a cluster.

    \b
    Examples:
      softset jobs score --input 'pairs/*.parquet' --out scored --workers 2
      softset jobs index --input 'texts/*.parquet' --out vectors --collection-out books.softset
      softset jobs find '{red, blue} & {apple, peach}' --input 'vectors/*.parquet'
    """


@jobs.command("score", short_help="Score pairs of texts.")
@INPUT
@OUT
@cluster_options
@ID_FIELD
@opt.option("--candidate-field", default="candidate", help="Column with the candidates.")
@opt.option("--reference-field", default="reference", help="Column with the references: texts, or lists of texts.")
@block_options
@opt.METRIC
@opt.scorer_options
@opt.worker_options
@opt.JSON
def score(
    pattern: str, out: str, id_field: str, candidate_field: str, reference_field: str, as_json: bool, **options: Any
) -> None:
    """Score the pairs in Parquet files.

    A second run computes only missing results, which are identified by a hash of their rows and of all settings. A
    row that cannot be scored gets an error message in the column "problem", and the job continues.

    \b
    Examples:
      softset jobs score --input 'pairs/*.parquet' --out scored
      softset jobs score --input 'pairs/**/*.parquet' --out scored --workers 8 --address 10.0.0.1:6379
      softset jobs score --input pairs.parquet --out scored --candidate-field hyp --reference-field refs
    """
    from softset.jobs.scoring import score_files

    columns = (id_field, candidate_field, reference_field)
    with _report_parts(out), ProgressBar("tasks") as progress:
        report = score_files(pattern, out, columns=columns, progress=progress, **opt.read_scorer_options(**options))
    _print_report(report, out, as_json=as_json)


@jobs.command("index", short_help="Encode texts and build a collection.")
@INPUT
@OUT
@opt.option("--collection-out", type=click.Path())
@cluster_options
@ID_FIELD
@opt.option("--text-field", default="text", help="Column with the texts.")
@block_options
@opt.option("--replace", is_flag=True, help="Replace the collection in --collection-out if it exists.")
@opt.option("--model", default="minilm", help=f"{opt.MODEL}.")
@opt.JSON
def index(
    pattern: str,
    out: str,
    collection_out: str | None,
    id_field: str,
    text_field: str,
    replace: bool,
    model: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Encode the texts in Parquet files as vectors, and build a collection of them if --collection-out is given.

    A second run computes only missing results. `softset jobs find` searches the vectors directly.

    \b
    Examples:
      softset jobs index --input 'texts/*.parquet' --out vectors
      softset jobs index --input 'texts/*.parquet' --out vectors --collection-out books.softset
      softset find --collection books.softset '{sea, ship} - war'
    """
    from softset.jobs.embedding import build_collection, check_target, embed_files

    if collection_out is not None:
        check_target(collection_out, replace=replace)
    columns = (id_field, text_field)
    with _report_parts(out), ProgressBar("tasks") as progress:
        report = embed_files(pattern, out, columns=columns, model=model, progress=progress, **options)
    _print_report(report, out, as_json=as_json)
    if collection_out is not None:
        with on_interrupt(lambda: f"{out} is complete; run the command again to build {collection_out}"):
            collection = build_collection(out, collection_out, model=model, replace=replace)
        facts = f"{len(collection):,} items, {collection.dimensions} dimensions, encoder {collection.encoder}"
        click.echo(f"{collection_out}: {facts}", err=as_json)


@jobs.command("find", short_help="Search vectors with a set query.")
@click.argument("query", nargs=-1, required=True)
@INPUT
@opt.TOP
@cluster_options
@ID_FIELD
@opt.option("--vector-field", default="vector", help="Column with the vectors.")
@opt.option("--model", help="Model that encodes the examples that are not ids.  [default: none; all examples are ids]")
@opt.INCLUDE_EXAMPLES
@opt.query_options
@opt.JSON
def find(
    query: tuple[str, ...],
    pattern: str,
    top: int,
    address: str | None,
    workers: int,
    id_field: str,
    vector_field: str,
    model: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the items with the highest membership in a QUERY, among the vectors in Parquet files.

    \b
    Examples:
      softset jobs find '{red, blue} & {apple, peach}' --input 'vectors/*.parquet'
      softset jobs find '{sea, ship} - war' --input 'vectors/*.parquet' --model minilm --json
    """
    from softset.collections.embedder import text_encoder
    from softset.jobs.run import cluster
    from softset.jobs.search import ParquetCollection

    options = opt.read_query_options(**options)
    embed, name = text_encoder(model or "none")
    with cluster(address, workers) as ray:
        columns = (id_field, vector_field)
        items = ParquetCollection(ray, pattern, columns=columns, embed=embed, encoder=name, workers=workers)
        result = items.find(" ".join(query), top, **options)
    for sentence in result.notes:
        note(sentence)
    click.echo(result.to_json() if as_json else str(result) or "(no item belongs to this query)")


def _report_parts(out: str) -> AbstractContextManager[None]:
    """Let an interruption report the finished parts of a job."""

    def sentence() -> str:
        count = len(list(Path(out).glob("part-*")))
        return f"{out} has {counted(count, 'finished part')}; run the command again to compute the others"

    return on_interrupt(sentence)


def _print_report(report: Any, out: str, *, as_json: bool) -> None:
    """Print the results of a job, and its problems to standard error."""
    before = report.rows - report.made
    sentence = f"{out}: {report.rows:,} rows" + (f", of which {before:,} were there already" if before else "")
    click.echo(json.dumps(asdict(report)) if as_json else sentence)
    for name, problem in report.problems[:10]:
        note(f"{name}: {problem}")
    if report.rejected:
        note(f'{report.rejected:,} rows have no result: the column "problem" says why')
    if report.dropped:
        note(f"deleted {report.dropped:,} output files whose rows are no longer in the input")
