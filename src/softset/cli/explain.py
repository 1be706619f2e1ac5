"""`softset explain`: the score of two texts, token by token."""

import errno
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from softset.cli import options as opt
from softset.cli.output import note
from softset.errors import InputError

if TYPE_CHECKING:
    from softset.similarity.explain import Explanation


@click.command(short_help="Explain the score of two texts.")
@click.argument("candidate")
@click.argument("reference")
@opt.metrics("bertscore", "softset")
@opt.option("--html", type=click.Path(), help="Write an HTML page for at most 200 tokens per text.")
@opt.option("--png", type=click.Path(), help="Write a heat map for at most 1,000 tokens per text and 6 metrics.")
@opt.JSON
@opt.option("--color/--no-color", default=None, help="Colour memberships.  [default: on a terminal, unless NO_COLOR]")
@opt.encoder_options
def explain(
    candidate: str,
    reference: str,
    metrics: tuple[str, ...],
    html: str | None,
    png: str | None,
    as_json: bool,
    color: bool | None,
    model: str,
    **options: Any,
) -> None:
    """Explain the membership of CANDIDATE's tokens in REFERENCE, and of REFERENCE's tokens in CANDIDATE.

    With bertscore, a token's membership is the cosine of its closest counterpart. With subspace and softset, it is the
    membership in the set of all tokens of the other text.

    \b
    Examples:
      softset explain 'royalty' 'We are the king and queen'
      softset explain 'A red book.' 'The book is red.' --html why.html
      softset explain 'A red book.' 'The book is red.' --metric 'subspace(weights=l2)' --json
      softset explain 'A red book.' 'The book is red.' --png why.png
    """
    from softset.similarity.metrics import metric
    from softset.similarity.scorer import Scorer

    _check_outputs(html, png)
    _check_texts({"candidate": candidate, "reference": reference})
    distinct = list(dict.fromkeys(metric(name) for name in metrics))
    explanation = Scorer(model, metric=distinct[0], **options).explain(candidate, reference, metrics=distinct)
    for name, text in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if not text.tokens:
            raise InputError(f"the model knows no token of the {name}: there is nothing to explain")
    _write(explanation, html, png)
    if as_json:
        click.echo(explanation.to_json())
        return
    if color is None:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    click.echo(explanation.to_text(colour=color, width=shutil.get_terminal_size().columns), color=color)


def _check_outputs(html: str | None, png: str | None) -> None:
    """Raise an error for an output that cannot be written, before the texts are encoded."""
    for name in filter(None, (html, png)):
        path = Path(name)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if path.exists() and not path.is_file():  # a device would be replaced by a file
            raise InputError(f"{name} is not a regular file: name another one")
        try:
            with TemporaryFile(dir=path.resolve().parent):
                pass  # permissions do not tell whether a disk is read-only or full
        except OSError as error:
            raise OSError(error.errno, error.strerror, name) from None
    if html is not None and png is not None and Path(html).resolve() == Path(png).resolve():
        raise InputError(f"{html} is given for --html and for --png: name two files")
    if png is not None:
        from softset.similarity.explain.plot import require_matplotlib

        require_matplotlib()


def _check_texts(texts: dict[str, str]) -> None:
    """Raise InputError for empty texts and for bytes that are not UTF-8, before a model is loaded."""
    for name, text in texts.items():
        if not text.strip():
            raise InputError(f"the {name} is empty: there is nothing to explain without words")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the {name} is not UTF-8 at character {error.start}: convert it first") from None


def _write(explanation: "Explanation", html: str | None, png: str | None) -> None:
    """Write the page and the image; if one of them fails, neither is written."""
    from softset.io.atomic import write_atomically

    contents: dict[str, bytes] = {}
    if html is not None:
        contents[html] = explanation.to_html().encode()
    if png is not None:
        from softset.similarity.explain.plot import as_png

        contents[png] = as_png(explanation)
    for path, content in contents.items():
        write_atomically(path, content)
        note(f"wrote {path}")
