"""`softset compare`: compare systems with a baseline, with significance tests."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import click

from softset.cli.options import (
    JSON,
    REFERENCES,
    SAMPLES,
    encoder_options,
    metrics_option,
    read_scorer_options,
    scorer_options,
    seed_option,
)
from softset.cli.output import ProgressBar, check_stdin, note, read_lines, warn_of_flags
from softset.errors import InputError

__all__ = ["compare"]


@click.command(short_help="Compare systems, with significance tests.")
@click.argument("systems", nargs=-1, type=click.Path(allow_dash=True))
@REFERENCES
@metrics_option("softset")
@click.option(
    "--score",
    "part",
    type=click.Choice(["score", "precision", "recall"]),
    default="score",
    show_default=True,
    help="Number of each metric to compare.",
)
@scorer_options
@encoder_options
@SAMPLES
@click.option("--swaps", type=int, default=10_000, show_default=True, help="Samples of the randomisation test.")
@seed_option(12345)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence level of the intervals.")
@JSON
@click.option("--latex", "as_latex", is_flag=True, help="Print a LaTeX table for the package booktabs.")
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
    """Compare SYSTEMS, files with one text per line; the first one is the baseline.

    Prints for each metric the means with confidence intervals, the differences to the baseline, and two p values of
    each difference: by paired bootstrap and by approximate randomisation.

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
    check_draws(samples, seed)
    check_draws(swaps, seed, "swaps")
    check_confidence(confidence)
    _check_systems(systems)
    check_stdin((*systems, *references))
    columns = _read((*references, *systems))
    scorer_arguments = read_scorer_options(rescale, multi_reference, idf)
    scorer = Scorer(model, metric=metrics[0], **scorer_arguments, **options)
    scorers = [scorer.with_options(metric=name, rescale=scorer_arguments["rescale"]) for name in metrics]
    if idf and not any(scorer.metric.needs_idf for scorer in scorers):
        names = ", ".join(str(scorer.metric) for scorer in scorers)
        raise click.UsageError(f"--idf has no effect on {names}: give a metric weights=idf, or leave --idf out")
    texts = dict(zip(systems, columns[len(references) :], strict=True))
    flags: Counter[str] = Counter()
    with ProgressBar("segments") as progress:
        scores, signatures = score_systems(
            scorers, texts, columns[: len(references)], part=part, progress=progress, flags=flags
        )
    tests: dict[str, Any] = {"samples": samples, "swaps": swaps, "seed": seed, "confidence": confidence}
    result = compare_systems(scores, **tests, signatures=signatures)
    click.echo(result.to_json() if as_json else result.to_latex() if as_latex else str(result))
    for signature in signatures.values():
        note(signature)
    warn_of_flags(flags)


def _check_systems(systems: Sequence[str]) -> None:
    """Raise InputError for fewer than two systems and for a repeated one."""
    if len(systems) < 2:
        given = f"only {systems[0]} was given" if systems else "no system was given"
        raise InputError(f"{given}: name the files of the baseline and of at least one other system")
    repeated = [name for name, count in Counter(systems).items() if count > 1]
    if repeated:
        raise InputError(f"{repeated[0]} is given twice: name each system once")


def _read(paths: Sequence[str]) -> list[list[str]]:
    """Return the lines of the files, which must have the same number of lines."""
    columns = [read_lines(path) for path in paths]
    for path, lines in zip(paths, columns, strict=True):
        if not lines:
            raise InputError(f"{path} is empty: one text per line was wanted")
    if len({len(lines) for lines in columns}) > 1:
        counts = ", ".join(f"{path} has {len(lines):,}" for path, lines in zip(paths, columns, strict=True))
        raise InputError(f"the files differ in their number of lines: {counts}")
    return columns
