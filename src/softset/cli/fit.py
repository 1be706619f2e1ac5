"""`softset fit`: weights and levels that scores are made with, measured on texts and kept in a file."""

from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.lines import TextFile, read_lines

__all__ = ["fit"]


@click.group(short_help="Measure idf weights or chance levels on texts.")
def fit() -> None:
    """Measure on texts what `softset score` takes as --idf or --rescale.

    \b
    Examples:
      softset fit idf corpus.txt --out idf.json
      softset fit calibration corpus.txt --metric bertscore --out level.json
    """


@fit.command(short_help="How rare tokens are.")
@click.argument("texts", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(), help="The JSON file to write.")
@encoder_options
def idf(texts: str, out: str, model: str, **options: Any) -> None:
    """Count in how many TEXTS, one a line, each token is.

    \b
    Example:
      softset fit idf corpus.txt --out idf.json
      softset score -c system.txt -r reference.txt --metric 'subspace(weights=idf)' --idf idf.json
    """
    from softset.similarity.idf import Idf

    fitted = Idf.fit(TextFile(texts), model=model, **options)
    fitted.save(out)
    click.echo(f"{out}: {fitted}")


@fit.command(short_help="What unrelated texts score.")
@click.argument("texts", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(), help="The JSON file to write.")
@click.option("--metric", default="softset", show_default=True, help="A metric, such as 'subspace(weights=l2)'.")
@click.option("--rounds", type=int, default=4, show_default=True, help="How many others each text is paired with.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which others.")
@encoder_options
def calibration(texts: str, out: str, metric: str, rounds: int, seed: int, model: str, **options: Any) -> None:
    """Score TEXTS, one a line, with others that have nothing to do with them.

    \b
    Example:
      softset fit calibration corpus.txt --metric bertscore --out level.json
      softset score -c system.txt -r reference.txt --metric bertscore --rescale level.json
    """
    from softset.similarity.calibration import Calibration

    fitted = Calibration.fit(read_lines(texts), model=model, metric=metric, rounds=rounds, seed=seed, **options)
    fitted.save(out)
    click.echo(
        f"{out}: P {fitted.precision:.4f}  R {fitted.recall:.4f}  F {fitted.score:.4f} of {fitted.pairs:,} pairs"
    )
