"""`softset encode`: the token vectors of texts, in a file."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, read_columns, warn_of_flags

NOTES = {
    "empty": ("text", "with an empty set"),
    "truncated": ("token", "truncated: --overflow window encodes whole texts"),
    "unknown": ("token", "unknown to the model and ignored"),
}


@click.command(short_help="Encode texts as sets of token vectors.")
@click.argument("texts", type=opt.TEXT_FILE)
@opt.option("--out", required=True, type=click.Path(), help="Output: a new folder, or a .safetensors file.")
@opt.encoder_options
@opt.option("--float16", is_flag=True, help="Store vectors in half precision.")
@opt.JSON
def encode(texts: str, out: str, float16: bool, as_json: bool, model: str, **options: Any) -> None:
    """Encode each line of the file TEXTS as a set of token vectors; `softset.TokenSets.open` reads the output.

    \b
    Examples:
      softset encode sentences.txt --out sentences.safetensors
      softset encode sentences.txt --unit word --out sentences.sets
      softset encode - --model words --out lines.sets < lines.txt
    """
    from softset.encoders.loading import load_encoder

    _check_output(Path(out))
    lines = [line for column in read_columns((texts,)) for line in column]
    encoder = load_encoder(model, **options)
    with ProgressBar("texts") as progress:
        sets = encoder.encode(lines, progress=progress)
    (sets.astype("float16") if float16 else sets).save(out)
    counts = {name: int(getattr(sets, name).sum()) for name in NOTES}
    size = {"texts": len(sets), "tokens": len(sets.vectors), "dimensions": sets.dimensions}
    click.echo(json.dumps({"signature": sets.signature, **size, **counts}) if as_json else f"{out}: {sets}")
    warn_of_flags(counts, NOTES)


def _check_output(out: Path) -> None:
    """Raise an error for an output that cannot be written, before the texts are encoded."""
    if out.exists() and (out.is_dir() or out.suffix != ".safetensors"):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(out))
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(out.parent))
