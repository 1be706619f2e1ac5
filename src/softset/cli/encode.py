"""`softset encode`: the token vectors of texts, in a file."""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.lines import read_lines
from softset.cli.progress import Progress

__all__ = ["encode"]


@click.command(short_help="Turn texts into sets of token vectors.")
@click.argument("texts", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(), help="A new folder, or a file that ends in .safetensors.")
@encoder_options
@click.option("--float16", is_flag=True, help="Store half as many bytes, and three digits.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def encode(texts: str, out: str, float16: bool, as_json: bool, model: str, **options: Any) -> None:
    """Encode TEXTS, one a line, once; softset.TokenSets.open reads what was written.

    \b
    Examples:
      softset encode sentences.txt --out sentences.safetensors
      softset encode sentences.txt --layer 4 --unit word --out sentences.sets
      softset encode - --model words --out lines.sets < lines.txt
    """
    from softset.encoders.loading import load_encoder

    _check_place(Path(out))
    lines = read_lines(texts)
    encoder = load_encoder(model, **options)
    progress = Progress("texts") if sys.stderr.isatty() else None
    sets = encoder.encode(lines, progress=progress)
    if progress:
        progress.done()
    (sets.astype("float16") if float16 else sets).save(out)
    facts = {
        "signature": sets.signature,
        "texts": len(sets),
        "tokens": len(sets.vectors),
        "dimensions": sets.dimensions,
        "empty": int(sets.empty.sum()),
        "truncated": int(sets.truncated.sum()),
        "unknown": int(sets.unknown.sum()),
    }
    click.echo(json.dumps(facts) if as_json else f"{out}: {sets}")
    _warn(facts)


def _check_place(out: Path) -> None:
    """Refuse a place where nothing can be written before the work is done, and not after it."""
    if out.exists() and (out.is_dir() or out.suffix != ".safetensors"):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(out))
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(out.parent))


def _warn(facts: dict[str, Any]) -> None:
    """Say what did not get into the sets."""
    if facts["truncated"]:
        click.echo(f"softset: {facts['truncated']} tokens were cut away: --overflow window encodes all", err=True)
    if facts["unknown"]:
        click.echo(f"softset: {facts['unknown']} tokens are unknown to the model, and in no set", err=True)
    if facts["empty"]:
        click.echo(f"softset: {facts['empty']} texts have an empty set", err=True)
