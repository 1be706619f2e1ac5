"""The options that all tasks of `softset eval` share, and the output of their tables."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softset.cli import options as opt
from softset.cli.output import note

if TYPE_CHECKING:
    from softset.evaluation.tables import ResultTable

__all__ = ["DATASETS", "TEXT_FORM", "TRANSPORT", "VECTORS", "EvalOptions", "eval_options", "split_commas"]

DATASETS = opt.option("--dataset", "datasets", multiple=True, help="Dataset, such as STS12; repeat for more.")
TEXT_FORM = opt.option(
    "--text-form", type=click.Choice(["raw", "tokenised"]), default="raw", help="Form of the sentences."
)
TRANSPORT = opt.option("--transport", is_flag=True, help="Include wmd and wrd in all, although they are slow.")
VECTORS = opt.option("--vectors", "names", multiple=True, help="Word vectors, by name or folder; repeat for more.")

_options = opt.add_options(
    opt.option("--data", type=click.Path(), help="Folder of evaluation data.  [default: SOFTSET_DATA]"),
    opt.option("--limit", type=click.IntRange(1), help="Use only the first N rows of each dataset."),
    opt.SAMPLES,
    opt.seed(12345),
    opt.option("--json", "form", flag_value="json", help="Print JSON."),
    opt.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
    opt.option("--latex", "form", flag_value="latex", help="Print a LaTeX table for the package booktabs."),
    opt.option("--plot", type=click.Path(), help="Write a chart to a .png, .svg or .pdf file."),
    opt.option("--out", type=click.Path(), help="Output folder for NAME.json and NAME.md."),
    opt.option("--resume", is_flag=True, help="Continue an interrupted run with the same --out."),
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

    def run(self, name: str, settings: dict[str, Any], compute: "Callable[[Any], ResultTable]") -> None:
        """Compute a table with a checkpoint in the output folder, save it and print it."""
        with self.checkpoint(name, settings) as parts:
            table = compute(parts)
            self.save(table, name)
        self.show(table)

    def checkpoint(self, name: str, settings: dict[str, Any]) -> Any:
        """Return the checkpoint of a table; nothing is stored without --out."""
        from softset.io.checkpoint import checkpoint

        return checkpoint(Path(self.out, f"{name}.partial") if self.out else None, settings, resume=self.resume)

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
