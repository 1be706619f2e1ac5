"""What every task of `softset eval` has in common: where data are, how the table is shown and kept."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from softset.cli.progress import Progress
from softset.evaluation.tables import ResultTable

__all__ = ["Asked", "asked_options", "check_ends", "eval_options", "note", "noted", "show"]

OPTIONS = (
    click.option("--data", type=click.Path(), help="The folder of evaluation data.  [default: SOFTSET_DATA]"),
    click.option("--limit", type=click.IntRange(1), help="Only the first N of each dataset, for a quick look."),
    click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Draws of the bootstrap."),
    click.option("--seed", type=click.IntRange(0), default=12345, show_default=True, help="Of all that is drawn."),
    click.option("--json", "form", flag_value="json", help="Print a JSON list of rows."),
    click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
    click.option("--latex", "form", flag_value="latex", help="Print a LaTeX table, for the package booktabs."),
    click.option("--plot", type=click.Path(), help="Draw the table to a file: .png, .svg or .pdf."),
    click.option("--out", type=click.Path(), help="Write NAME.json and NAME.md to this folder as well."),
    click.option("--resume", is_flag=True, help="Go on with an --out that was interrupted."),
)


def eval_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Asked:
    """What the options of a long evaluation say, in one piece."""

    data: str | None
    limit: int | None
    samples: int
    seed: int
    form: str | None
    plot: str | None
    out: str | None
    resume: bool

    def part(self, name: str) -> Path | None:
        """Return the checkpoint folder of a table, or None if the table is not written to a file."""
        return Path(self.out, f"{name}.partial") if self.out else None

    def show(self, table: ResultTable, name: str) -> None:
        """Print a table, and keep it and its picture where that is wanted."""
        show(table, name=name, form=self.form, plot=self.plot, out=self.out)


def asked_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, and hand them over as one `asked`; what could not be done with the table is refused first."""

    @wraps(command)
    def packed(**options: Any) -> Any:
        asked = Asked(**{one.name: options.pop(one.name) for one in fields(Asked)})
        check_ends(asked.plot, asked.out, resume=asked.resume)
        return command(asked=asked, **options)

    return eval_options(packed)


def check_ends(plot: str | None, out: str | None, *, resume: bool) -> None:
    """Refuse what could not be done with a table, before the work that makes it."""
    if plot:
        from softset.evaluation.plots import check_plot

        check_plot(Path(plot))
    if resume and not out:
        raise click.UsageError("--resume goes on with a folder: name it with --out")


def note(sentence: str) -> None:
    """Tell a person something, beside the table."""
    click.echo(f"softset: {sentence}", err=True)


def noted(progress: Progress | None) -> Callable[[str], None]:
    """Return what tells a sentence below a line of progress that is done."""

    def tell(sentence: str) -> None:
        if progress is not None:
            progress.done()
        note(sentence)

    return tell


def show(table: ResultTable, *, name: str, form: str | None, plot: str | None, out: str | None) -> None:
    """Print a table in one of its forms, and keep it and its picture where that is wanted."""
    if out:
        for path in table.save(out, name):
            click.echo(f"softset: wrote {path}", err=True)
    if plot:
        from softset.evaluation.plots import save_plot

        save_plot(table, Path(plot))
        click.echo(f"softset: wrote {plot}", err=True)
    forms: dict[str | None, Callable[[ResultTable], str]] = {
        "json": ResultTable.to_json,
        "markdown": ResultTable.to_markdown,
        "latex": ResultTable.to_latex,
    }
    click.echo(forms.get(form, ResultTable.to_text)(table))
