"""`softset fit`: idf weights and calibrations, computed on texts and stored in a file."""

from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import VerbGroup
from softset.io.lines import TextFile

OUT = opt.option("--out", required=True, type=click.Path(), help="Output file (JSON).")


@click.group(cls=VerbGroup, short_help="Compute idf weights or a calibration from texts.")
def fit() -> None:
    """Compute the files that `softset score` reads with --idf and --rescale.

    \b
    Examples:
      softset fit idf corpus.txt --out idf.json
      softset fit calibration corpus.txt --metric bertscore --out level.json
    """


@fit.command(short_help="Compute idf weights.")
@click.argument("texts", type=opt.TEXT_FILE)
@OUT
@opt.encoder_options
def idf(texts: str, out: str, model: str, **options: Any) -> None:
    """Compute idf weights from the document frequencies of tokens in TEXTS, a file with one text per line.

    \b
    Examples:
      softset fit idf corpus.txt --out idf.json
      softset score -c system.txt -r reference.txt --metric 'subspace(weights=idf)' --idf idf.json
    """
    from softset.similarity.idf import Idf

    fitted = Idf.fit(TextFile(texts), model=model, **options)
    fitted.save(out)
    click.echo(f"{out}: {fitted}")


@fit.command(short_help="Measure the scores of unrelated texts.")
@click.argument("texts", type=opt.TEXT_FILE)
@OUT
@opt.METRIC
@opt.option("--rounds", type=int, default=4, help="Number of random partners for each text.")
@opt.seed(0)
@opt.encoder_options
def calibration(texts: str, out: str, model: str, **options: Any) -> None:
    """Measure the scores of unrelated texts: score each line of the file TEXTS against random other lines.

    \b
    Examples:
      softset fit calibration corpus.txt --metric bertscore --out level.json
      softset score -c system.txt -r reference.txt --metric bertscore --rescale level.json
    """
    from softset.similarity.rescaling import Calibration

    fitted = Calibration.fit(list(TextFile(texts)), model=model, **options)
    fitted.save(out)
    numbers = f"precision {fitted.precision:.4f}  recall {fitted.recall:.4f}  score {fitted.score:.4f}"
    click.echo(f"{out}: {numbers}  (means of {fitted.pairs:,} pairs)")
