"""The options that go with a metric, for every verb that scores; they are those of `softset.Scorer`."""

import os
from collections.abc import Callable
from typing import Any

import click

__all__ = ["metric_options", "read_metric_options"]

OPTIONS = (
    click.option(
        "--rescale",
        metavar="chance|FILE",
        help="Count from chance: chance for the closed form, or the file of a saved Calibration.",
    ),
    click.option(
        "--multi-reference",
        type=click.Choice(["best", "mean", "union"]),
        default="best",
        show_default=True,
        help="How to combine several references: the best score, the mean, or the union of their sets.",
    ),
    click.option(
        "--idf", type=click.Path(), help="Weights for weights=idf, a saved Idf.  [default: of the references]"
    ),
)


def metric_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; `read_metric_options` turns what they hold into the arguments of `Scorer`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read_metric_options(
    rescale: str | None, multi_reference: str, idf: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Return the arguments of `Scorer` that the options stand for; files are read."""
    from softset.similarity.calibration import Calibration
    from softset.similarity.idf import Idf

    known = rescale in (None, "chance")
    return {
        "rescale": rescale if known else Calibration.load(str(rescale)),
        "multi_reference": multi_reference,
        "idf": None if idf is None else Idf.load(idf),
    }
