"""The options that all tasks of `softset eval` share, and the output of their tables."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softset.cli import options as opt
from softset.cli.output import note, on_interrupt

if TYPE_CHECKING:
    from softset.evaluation.tables import ResultTable


@dataclass(frozen=True)
class EvalOptions:
    """The values of the options that all tasks share."""

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

    def run(
        self,
        name: str,
        settings: dict[str, Any],
        compute: "Callable[[Any], ResultTable]",
        columns: tuple[str, ...] = (),
    ) -> None:
        """Compute a table with a checkpoint in the output folder, save it, and print it or some of its columns."""
        from softset.io.checkpoint import checkpoint

        folder = Path(self.out, f"{name}.partial") if self.out else None

        def progress() -> str:
            finished = folder is not None and folder.exists()
            return f"finished parts are in {folder}; add --resume to continue" if finished else "nothing was written"

        with on_interrupt(progress), checkpoint(folder, settings, resume=self.resume) as parts:
            table = compute(parts)
            for path in table.save(self.out, name) if self.out else []:
                note(f"wrote {path}")
        if columns:
            table = replace(table, rows=tuple(row for row in table.rows if row.metric in columns))
        if self.plot:
            from softset.evaluation.plots import save_plot

            save_plot(table, Path(self.plot))
            note(f"wrote {self.plot}")
        click.echo(getattr(table, f"to_{self.form or 'text'}")())


def eval_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that all tasks share; the command gets them as one argument `shared`."""

    @wraps(command)
    def with_shared(**options: Any) -> Any:
        shared = EvalOptions(**{field.name: options.pop(field.name) for field in fields(EvalOptions)})
        return command(shared=shared, **options)

    return opt.add_options(
        opt.option("--data", type=click.Path(), help="Folder of evaluation data.  [default: $SOFTSET_DATA]"),
        opt.option("--limit", type=click.IntRange(1), help="Use only the first N rows of each dataset."),
        opt.SAMPLES,
        opt.seed(12345),
        opt.option("--json", "form", flag_value="json", help="Print JSON."),
        opt.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
        opt.option("--latex", "form", flag_value="latex", help="Print a LaTeX table for the package booktabs."),
        opt.option("--plot", type=click.Path(), help="Write a chart to a .png, .svg or .pdf file."),
        opt.option("--out", type=click.Path(), help="Output folder for the table as .json and .md."),
        opt.option("--resume", is_flag=True, help="Continue an interrupted run with the same --out."),
    )(with_shared)
