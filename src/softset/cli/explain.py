"""`softset explain`: why two texts score what they do, token by token."""

import errno
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from softset.cli.encoder_options import encoder_options
from softset.errors import InputError

if TYPE_CHECKING:
    from softset.similarity.explain import Explanation

__all__ = ["explain"]

METRICS = ("bertscore", "softset")


@click.command(short_help="Show why two texts score what they do.")
@click.argument("candidate")
@click.argument("reference")
@click.option(
    "--metric", "metrics", multiple=True, default=METRICS, show_default=True, help="A metric; again for others."
)
@click.option("--html", type=click.Path(), help="Write a page, too: of at most 200 tokens a text.")
@click.option("--png", type=click.Path(), help="Write a picture, too: of at most 1,000 tokens a text and 6 metrics.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with all numbers.")
@click.option(
    "--color/--no-color", "colour", default=None, help="Mark tokens by colour.  [default: in a terminal, by NO_COLOR]"
)
@encoder_options
def explain(
    candidate: str,
    reference: str,
    metrics: tuple[str, ...],
    html: str | None,
    png: str | None,
    as_json: bool,
    colour: bool | None,
    model: str,
    **options: Any,
) -> None:
    """Explain how much the tokens of CANDIDATE belong to REFERENCE, and those of REFERENCE to CANDIDATE.

    For bertscore a token belongs as much as its one closest counterpart is like it; for subspace and softset it
    belongs to what the other text's tokens make together, a span or a graded set.

    \b
    Examples:
      softset explain 'royalty' 'We are the king and queen'
      softset explain 'A red book.' 'The book is red.' --layer 4 --html why.html
      softset explain 'A red book.' 'The book is red.' --metric 'subspace(weights=l2)' --json
      softset explain 'A red book.' 'The book is red.' --png why.png
    """
    from softset.similarity.metrics import metric
    from softset.similarity.scorer import Scorer

    _check_places(html, png)
    _check_texts(candidate, reference)
    distinct = list(dict.fromkeys(metric(one) for one in metrics))
    explanation = Scorer(model, metric=distinct[0], **options).explain(candidate, reference, metrics=distinct)
    _check_tokens(explanation)
    _write(explanation, html, png)
    if as_json:
        click.echo(explanation.to_json())
        return
    from softset.similarity.explain.text import as_text

    chosen = _colour(colour)
    shown = as_text(explanation, colour=chosen, width=shutil.get_terminal_size().columns)
    click.echo(shown, color=chosen)


def _check_places(html: str | None, png: str | None) -> None:
    """Refuse a place where nothing can be written, or a library that is missing, before the work is done."""
    for place in (one for one in (html, png) if one is not None):
        path = Path(place)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
        if path.exists() and not path.is_file():  # a device would be replaced by a file
            raise InputError(f"{place} is no file that could be written anew: name another")
        try:
            with TemporaryFile(dir=path.resolve().parent):
                pass  # what a folder says of its permissions is not all: a disk may be read-only or full
        except OSError as error:
            raise OSError(error.errno, error.strerror, place) from None
    if html is not None and png is not None and Path(html).resolve() == Path(png).resolve():
        raise InputError(f"{html} is named for the page and for the picture: name two files")
    if png is not None:
        from softset.similarity.explain.plot import require_matplotlib

        require_matplotlib()


def _check_texts(candidate: str, reference: str) -> None:
    """Refuse empty texts, and bytes that are no text, before a model is loaded."""
    given = {"candidate": candidate, "reference": reference}
    empty = [name for name, text in given.items() if not text.strip()]
    if empty:
        are = "is empty" if len(empty) == 1 else "are empty"
        raise InputError(f"the {' and the '.join(empty)} {are}: there is nothing to explain without words")
    for name, text in given.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the {name} is not UTF-8 at character {error.start}: convert it first") from None


def _check_tokens(explanation: "Explanation") -> None:
    """Refuse texts of which the model knows no token."""
    for name, side in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if not side.tokens:
            raise InputError(f"the model knows no token of the {name}: there is nothing to explain")


def _write(explanation: "Explanation", html: str | None, png: str | None) -> None:
    """Write the page and the picture; if one cannot be made, neither is written."""
    from softset.io.atomic import write_atomically

    made: dict[str, bytes] = {}
    if html is not None:
        from softset.similarity.explain.html import as_html

        made[html] = as_html(explanation).encode()
    if png is not None:
        from softset.similarity.explain.plot import as_png

        made[png] = as_png(explanation)
    for place, content in made.items():
        write_atomically(place, content)
        click.echo(f"softset: wrote {place}", err=True)


def _colour(asked: bool | None) -> bool:
    """Return whether to colour: as asked, or in a terminal that has colours and whose user wants them."""
    if asked is not None:
        return asked
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
