"""`softset explain`: the score of two texts, token by token."""

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import note
from softset.errors import InputError


@click.command(short_help="Explain the score of two texts.")
@click.argument("candidate")
@click.argument("reference")
@opt.metrics("bertscore", "softset")
@opt.option("--html", type=click.Path(), help="Write an HTML page for at most 200 tokens per text.")
@opt.option("--png", type=click.Path(), help="Write a heat map (.png) for at most 1,000 tokens per text and 6 metrics.")
@opt.JSON
@opt.option("--color/--no-color", default=None)
@opt.encoder_options
def explain(
    candidate: str,
    reference: str,
    metrics: tuple[str, ...],
    html: str | None,
    png: str | None,
    as_json: bool,
    color: bool | None,
    **options: Any,
) -> None:
    """Explain the score of CANDIDATE and REFERENCE: print the membership of each token in the other text.

    With bertscore, the membership of a token is its cosine with the nearest token of the other text. With subspace and
    softset, it is the membership in the set of all tokens of the other text.

    \b
    Examples:
      softset explain 'royalty' 'We are the king and queen'
      softset explain 'A red book.' 'The book is red.' --html why.html
      softset explain 'A red book.' 'The book is red.' --metric 'subspace(weights=l2)' --json
      softset explain 'A red book.' 'The book is red.' --png why.png
    """
    from softset.io.atomic import write_atomically
    from softset.similarity.explain.plot import as_png
    from softset.similarity.metrics import metric
    from softset.similarity.scorer import Scorer

    _check_outputs(html, png)
    distinct = list(dict.fromkeys(metric(name) for name in metrics))
    explanation = Scorer(metric=distinct[0], **options).explain(candidate, reference, metrics=distinct)
    for name, side in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if not side.tokens:
            raise InputError(f"no token of the {name} is in the model's vocabulary: there is nothing to explain")
    contents = {html: explanation.to_html().encode()} if html is not None else {}
    if png is not None:
        contents[png] = as_png(explanation)
    for path, content in contents.items():  # if one of them cannot be computed, neither is written
        write_atomically(path, content)
        note(f"wrote {path}")
    if as_json:
        click.echo(explanation.to_json())
        return
    if color is None:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    click.echo(explanation.to_text(colour=color, width=shutil.get_terminal_size().columns), color=color)


def _check_outputs(html: str | None, png: str | None) -> None:
    """Raise an error for an output that cannot be written, before the texts are encoded."""
    for path in filter(None, (html, png)):
        if not Path(path).resolve().parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if Path(path).exists() and not Path(path).is_file():
            raise InputError(f"{path} is not a regular file: name another one")
    if html is not None and png is not None and Path(html).resolve() == Path(png).resolve():
        raise InputError(f"{html} is given for --html and for --png: name two files")
    if png is not None:
        if Path(png).suffix.lower() not in (".png", ""):
            raise InputError(f"--png writes an image in PNG format, but {png} was given: name a .png file")
        from softset.similarity.explain.plot import require_matplotlib

        require_matplotlib()
