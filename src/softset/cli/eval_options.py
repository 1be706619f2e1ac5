"""The options that all tasks of `softset eval` share, and the output of their tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, note, on_interrupt

DATA = opt.option("--data", type=click.Path())
OUTPUTS = (
    opt.option("--json", "form", flag_value="json", help="Print JSON."),
    opt.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
    opt.option("--latex", "form", flag_value="latex"),
    opt.option("--plot", type=click.Path(), help="Write a chart to a .png, .svg or .pdf file."),
    opt.option("--out", type=click.Path(), help="Output folder for the table as .json and .md."),
)


@dataclass(frozen=True)
class EvalOptions:
    """The values of the options that all tasks share."""

    data: str | None
    limit: int | None
    form: str | None
    plot: str | None
    out: str | None
    samples: int = 0
    seed: int = 0
    resume: bool = False

    def __post_init__(self) -> None:
        if self.plot:
            from softset.evaluation.plots import check_plot

            check_plot(Path(self.plot))
        if self.resume and not self.out:
            raise click.UsageError("--resume needs --out: it continues the run that writes this folder")

    def evaluate(self, kind: Any, methods: Any, data: Any, facts: dict[str, Any], options: Any, **more: Any) -> None:
        """Compute, save and print the table of a `MetricEvaluation`; `options` are those of the encoder."""
        from softset.encoders.loading import load_encoder

        with ProgressBar(kind.UNIT) as progress:
            evaluation = kind(load_encoder(**options), methods, self.samples, self.seed, note, progress, facts, **more)
            self.run(kind.TASK, evaluation.settings(), lambda parts: evaluation.table(data, parts=parts))

    def run(
        self, name: str, settings: dict[str, Any], compute: Callable[[Any], Any], columns: Sequence[str] = ()
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


def eval_options(limit: str, *, resampled: bool = True) -> opt.Decorator:
    """Return a decorator that adds the options of a task; the command gets them as one argument `shared`.

    Args:
        limit: the help text of --limit.
        resampled: whether the task has bootstrap samples and a checkpoint.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_shared(**options: Any) -> Any:
            shared = {field.name: options.pop(field.name) for field in fields(EvalOptions) if field.name in options}
            return command(shared=EvalOptions(**shared), **options)

        return opt.add_options(*all_options)(with_shared)

    all_options = [DATA, opt.option("--limit", type=click.IntRange(1), metavar="N", help=limit), *OUTPUTS]
    if resampled:
        all_options += [opt.SAMPLES, opt.seed(12345), opt.option("--resume", is_flag=True)]
    return decorate
