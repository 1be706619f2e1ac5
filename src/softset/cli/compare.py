"""`softset compare`: systems against a baseline, and whether they differ by more than chance."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.flags import told_flags
from softset.cli.lines import read_lines
from softset.cli.metric_options import metric_options, read_metric_options
from softset.cli.progress import Progress
from softset.errors import InputError

__all__ = ["compare"]


@click.command(short_help="Compare systems, with significance tests.")
@click.argument("systems", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "-r",
    "--references",
    multiple=True,
    required=True,
    type=click.Path(allow_dash=True),
    help="A file of references; again for others.",
)
@click.option(
    "--metric", "metrics", multiple=True, default=("softset",), show_default=True, help="A metric; again for others."
)
@click.option(
    "--score",
    "part",
    type=click.Choice(["score", "precision", "recall"]),
    default="score",
    show_default=True,
    help="Which score of the metrics to compare.",
)
@metric_options
@encoder_options
@click.option("--samples", type=int, default=1000, show_default=True, help="Draws of the bootstrap.")
@click.option("--swaps", type=int, default=10_000, show_default=True, help="Draws of the randomisation test.")
@click.option("--seed", type=int, default=12345, show_default=True, help="The same seed gives the same numbers.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals around means.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--latex", "as_latex", is_flag=True, help="Print a LaTeX table, for the package booktabs.")
def compare(
    systems: tuple[str, ...],
    references: tuple[str, ...],
    metrics: tuple[str, ...],
    part: Literal["score", "precision", "recall"],
    samples: int,
    swaps: int,
    seed: int,
    confidence: float,
    as_json: bool,
    as_latex: bool,
    model: str,
    rescale: str | None,
    multi_reference: str,
    idf: str | None,
    **options: Any,
) -> None:
    """Compare SYSTEMS, files with one text a line, with the first of them, the baseline.

    For each metric: means with confidence intervals, differences to the baseline, and two p values of each difference,
    by paired bootstrap and by approximate randomisation.

    \b
    Examples:
      softset compare -r refs.txt baseline.txt new.txt
      softset compare -r refs.txt baseline.txt a.txt b.txt --metric subspace --metric bertscore
      softset compare -r refs-1.txt -r refs-2.txt baseline.txt new.txt --score recall --json
      softset compare -r refs.txt baseline.txt new.txt --latex > table.tex
    """
    from softset.evaluation.compare import compare as compare_systems
    from softset.evaluation.significance import check_confidence, check_draws
    from softset.evaluation.systems import score_systems
    from softset.similarity.scorer import Scorer

    if as_json and as_latex:
        raise click.UsageError("give --json or --latex, not both")
    check_draws(samples, seed)  # before the work is done, and not after it
    check_draws(swaps, seed, "swaps")
    check_confidence(confidence)
    _check_names(systems, references)
    columns = _read((*references, *systems))
    chosen = read_metric_options(rescale, multi_reference, idf)
    scorer = Scorer(model, metric=metrics[0], **chosen, **options)
    scorers = [scorer.with_options(metric=one, rescale=chosen["rescale"]) for one in metrics]
    if idf and not any(one.metric.needs_idf for one in scorers):
        named = ", ".join(str(one.metric) for one in scorers)
        raise click.UsageError(f"--idf has no effect on {named}: give a metric weights=idf, or leave --idf out")
    progress = Progress("segments") if sys.stderr.isatty() else None
    texts = dict(zip(systems, columns[len(references) :], strict=True))
    flags: Counter[str] = Counter()
    scores, signatures = score_systems(
        scorers, texts, columns[: len(references)], part=part, progress=progress, flags=flags
    )
    if progress:
        progress.done()
    tests: dict[str, Any] = {"samples": samples, "swaps": swaps, "seed": seed, "confidence": confidence}
    compared = compare_systems(scores, **tests, signatures=signatures)
    click.echo(compared.to_json() if as_json else compared.to_latex() if as_latex else str(compared))
    for sentence in [*signatures.values(), *told_flags(flags)]:
        click.echo(f"softset: {sentence}", err=True)


def _check_names(systems: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be compared, before any file is read."""
    if len(systems) < 2:
        given = f"only {systems[0]} was given" if systems else "none was given"
        raise InputError(f"{given}: name the baseline's file and at least one other system's")
    twice = next((name for name in systems if systems.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is there twice among the systems: name each file once")
    if (*systems, *references).count("-") > 1:
        raise InputError("standard input can be read only once: name files for the others")


def _read(paths: Sequence[str]) -> list[list[str]]:
    """Return the lines of the files, which must be as many in each."""
    columns = [read_lines(path) for path in paths]
    for path, lines in zip(paths, columns, strict=True):
        if not lines:
            raise InputError(f"{path} is empty: one text a line was wanted")
    if len({len(lines) for lines in columns}) > 1:
        counted = ", ".join(f"{path} has {len(lines):,}" for path, lines in zip(paths, columns, strict=True))
        raise InputError(f"the files differ in their number of lines, {counted}: as many were wanted in each")
    return columns
