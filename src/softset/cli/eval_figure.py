"""`softset eval figure`: figure 1 of the paper."""

from pathlib import Path

import click

from softset.cli.output import note


@click.command(short_help="Draw figure 1 of the paper from two tables.")
@click.option("--sts-table", type=click.Path(), required=True, help="File sts.json of `softset eval sts --out`.")
@click.option("--sets-table", type=click.Path(), required=True, help="File sets.json of `softset eval sets --out`.")
@click.option("--out", type=click.Path(), required=True, help="Output file: .png, .svg or .pdf.")
def figure(sts_table: str, sets_table: str, out: str) -> None:
    """Draw single vectors and subspaces side by side, on text similarity and on set retrieval (figure 1 of the paper).

    \b
    Example:
      softset eval figure --sts-table results/sts.json --sets-table results/sets.json --out figure-1.png
    """
    from softset.evaluation.plots import save_figure_1
    from softset.evaluation.tables import ResultTable

    save_figure_1(ResultTable.load(sts_table), ResultTable.load(sets_table), Path(out))
    note(f"wrote {out}")
