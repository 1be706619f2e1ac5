"""`softset eval figure`: the paper's figure 1 from tables that were kept."""

from pathlib import Path

import click

__all__ = ["figure"]


@click.command(short_help="The paper's figure 1, from two tables.")
@click.option("--sts", type=click.Path(), required=True, help="What `softset eval sts --out` wrote: sts.json.")
@click.option("--sets", type=click.Path(), required=True, help="What `softset eval sets --out` wrote: sets.json.")
@click.option("--out", type=click.Path(), required=True, help="The picture: .png, .svg or .pdf.")
def figure(sts: str, sets: str, out: str) -> None:
    """Draw sets of vectors beside subspaces, on similarity of texts and on retrieval of sets (the paper's figure 1).

    \b
    Example:
      softset eval figure --sts results/sts.json --sets results/sets.json --out figure-1.png
    """
    from softset.evaluation.plots import save_figure_1
    from softset.evaluation.tables import ResultTable

    save_figure_1(ResultTable.load(sts), ResultTable.load(sets), Path(out))
    click.echo(f"softset: wrote {out}", err=True)
