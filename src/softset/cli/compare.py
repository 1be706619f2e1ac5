"""`softset compare`: compare systems with a baseline, with significance tests."""

from typing import Any, Literal

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, note, read_columns, warn_of_flags
from softset.errors import InputError
from softset.io.text import counted

PARTS = click.Choice(["score", "precision", "recall"])
OPEN_UNIT_RANGE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(short_help="Compare systems, with significance tests.")
@click.argument("systems", nargs=-1, type=opt.TEXT_FILE, metavar="BASELINE SYSTEM...")
@opt.REFERENCES
@opt.metrics("softset")
@opt.option("--score", "part", type=PARTS, default="score")
@opt.scorer_options
@opt.encoder_options
@opt.SAMPLES
@opt.option("--swaps", type=click.IntRange(1), default=10000)
@opt.seed(12345)
@opt.option("--confidence", type=OPEN_UNIT_RANGE, default=0.95, help="Confidence level of the intervals.")
@opt.JSON
@opt.option("--latex", "as_latex", is_flag=True)
def compare(
    systems: tuple[str, ...],
    references: tuple[str, ...],
    metrics: tuple[str, ...],
    part: Literal["score", "precision", "recall"],
    as_json: bool,
    as_latex: bool,
    **options: Any,
) -> None:
    """Compare the outputs of systems with a baseline; each file has one text per line.

    For each metric, prints the means with confidence intervals, the differences from the baseline, and two p-values
    for each difference: from the paired bootstrap and from approximate randomisation.

    \b
    Examples:
      softset compare -r refs.txt baseline.txt new.txt
      softset compare -r refs.txt baseline.txt a.txt b.txt --metric subspace --metric bertscore
      softset compare -r refs-1.txt -r refs-2.txt baseline.txt new.txt --score recall --json
      softset compare -r refs.txt baseline.txt new.txt --latex > table.tex
    """
    from softset.evaluation.compare import compare_scores
    from softset.evaluation.systems import score_systems

    if as_json and as_latex:
        raise click.UsageError("give --json or --latex, not both")
    tests = {name: options.pop(name) for name in ("samples", "swaps", "seed", "confidence")}
    if len(systems) < 2:
        count = counted(len(systems), "system")
        raise InputError(f"{count} given: name the files of the baseline and of at least one other system")
    repeated = [name for name in systems if systems.count(name) > 1]
    if repeated:
        raise InputError(f"{repeated[0]} is given twice: name each system once")
    columns = [list(file) for file in read_columns((*references, *systems))]
    scorers = opt.open_scorers(metrics, **options)
    texts = dict(zip(systems, columns[len(references) :], strict=True))
    rows = columns[0] if len(references) == 1 else list(zip(*columns[: len(references)], strict=True))
    with ProgressBar("segments") as progress:
        scores, signatures, flags = score_systems(scorers, texts, rows, part=part, progress=progress)
    result = compare_scores(scores, **tests, signatures=signatures)
    click.echo(result.to_json() if as_json else result.to_latex() if as_latex else str(result))
    for signature in signatures.values():
        note(signature)
    warn_of_flags(flags)
