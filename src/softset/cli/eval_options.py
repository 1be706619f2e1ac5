"""The options that all tasks of `softset eval` share, and the output of their tables."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softset.cli.options import SAMPLES, add_options, seed_option
from softset.cli.output import note

if TYPE_CHECKING:
    from softset.evaluation.tables import ResultTable

__all__ = ["DATASETS", "TEXT_FORM", "TRANSPORT", "VECTORS", "EvalOptions", "eval_options", "split_commas"]

DATASETS = click.option("--dataset", "datasets", multiple=True, help="Dataset, such as STS12; repeat for more.")
TEXT_FORM = click.option(
    "--text-form", type=click.Choice(["raw", "tokenised"]), help="Form of the sentences.  [default: raw]"
)
TRANSPORT = click.option("--transport", is_flag=True, help="Include wmd and wrd in all, although they are slow.")
VECTORS = click.option("--vectors", "names", multiple=True, help="Word vectors, by name or folder; repeat for more.")

_options = add_options(
    click.option("--data", type=click.Path(), help="Folder of evaluation data.  [default: SOFTSET_DATA]"),
    click.option("--limit", type=click.IntRange(1), help="Use only the first N rows of each dataset."),
    SAMPLES,
    seed_option(12345),
    click.option("--json", "form", flag_value="json", help="Print JSON."),
    click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
    click.option("--latex", "form", flag_value="latex", help="Print a LaTeX table for the package booktabs."),
    click.option("--plot", type=click.Path(), help="Write a chart to a .png, .svg or .pdf file."),
    click.option("--out", type=click.Path(), help="Output folder for NAME.json and NAME.md."),
    click.option("--resume", is_flag=True, help="Continue an interrupted run with the same --out."),
)


@dataclass(frozen=True)
class EvalOptions:
    """The values of the shared options."""

    data: str | None
    limit: int | None
    samples: int
    seed: int
    form: str | None
    plot: str | None
    out: str | None
    resume: bool

    def __post_init__(self) -> None:
        if self.plot:
            from softset.evaluation.plots import check_plot

            check_plot(Path(self.plot))
        if self.resume and not self.out:
            raise click.UsageError("--resume continues a folder: name it with --out")

    def checkpoint_folder(self, name: str) -> Path | None:
        """Return the checkpoint folder of a table, or None if the table is not written to a file."""
        return Path(self.out, f"{name}.partial") if self.out else None

    def save(self, table: "ResultTable", name: str) -> None:
        """Write a table to the output folder, if there is one."""
        for path in table.save(self.out, name) if self.out else []:
            note(f"wrote {path}")

    def show(self, table: "ResultTable") -> None:
        """Print a table, and write its chart if --plot is given."""
        if self.plot:
            from softset.evaluation.plots import save_plot

            save_plot(table, Path(self.plot))
            note(f"wrote {self.plot}")
        click.echo(getattr(table, f"to_{self.form or 'text'}")())


def eval_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options; the command gets them as one argument `shared`."""

    @wraps(command)
    def with_shared(**options: Any) -> Any:
        shared = EvalOptions(**{field.name: options.pop(field.name) for field in fields(EvalOptions)})
        return command(shared=shared, **options)

    return _options(with_shared)


def split_commas(values: tuple[str, ...]) -> list[str]:
    """Return the parts of comma-separated values."""
    return [part.strip() for value in values for part in value.split(",")]
