"""`softset vectors`: import word vectors once, then use them by name."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from softset.cli.progress import Progress
from softset.errors import SoftsetError

__all__ = ["vectors"]


@click.group()
def vectors() -> None:
    """Import, list, describe and remove word vectors.

    \b
    Example:
      softset vectors import glove.6B.zip --member glove.6B.100d.txt --name glove-6b-100d
      softset find '{red, blue} & fruit' --vectors glove-6b-100d
    """


@vectors.command("import")
@click.argument("file", type=click.Path())
@click.option("--name", required=True, help="What the vectors will be called.")
@click.option("--words", type=click.Path(), help="The words of a .npy or .safetensors file, one a line.")
@click.option(
    "--format",
    "kind",
    help="Where it is not recognised: text, word2vec-binary, npy, safetensors or model2vec.",
)
@click.option("--member", help="Which file of an archive to read, where it holds several.")
@click.option("--skip-bad", is_flag=True, help="Leave out lines that are broken or repeated, and say how many.")
@click.option("--replace", is_flag=True, help="Replace vectors of the same name.")
def import_(
    file: str, name: str, words: str | None, kind: str | None, member: str | None, skip_bad: bool, replace: bool
) -> None:
    """Convert FILE once, so that it opens in milliseconds.

    Reads GloVe, word2vec (text and binary) and fastText .vec files, .npy or .safetensors with a list of words,
    and model2vec folders; plain, .gz or .zip.

    \b
    Examples:
      softset vectors import glove.6B.zip --member glove.6B.100d.txt --name glove-6b
      softset vectors import vectors.npy --words words.txt --name mine
    """
    from softset.vectors.registry import import_vectors

    progress = Progress() if sys.stderr.isatty() else None
    facts = import_vectors(
        file, name, replace=replace, progress=progress, words=words, format=kind, member=member, skip_bad=skip_bad
    )
    if progress:
        progress.done()
    for reason, count in facts["skipped"].items():
        click.echo(f"softset: left out {count}: {reason}", err=True)
    click.echo(f"{name}: {facts['words']} words, {facts['dimensions']} dimensions")


@vectors.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(as_json: bool) -> None:
    """List the word vectors that can be used by name."""
    from softset.vectors.registry import BUNDLED, REGISTRY, vectors_folder

    rows = [_row(name, folder) for name, folder in [(BUNDLED, vectors_folder()), *REGISTRY.items()]]
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        counts = "broken: remove it, and import it again"
        if "words" in row:
            counts = f"{row['words']:>10,} words {row['dimensions']:>6} dimensions"
        click.echo(f"{row['name']:30} {counts}")


def _row(name: str, folder: Path | None) -> dict[str, Any]:
    from softset.vectors.storage import open_vectors

    try:
        facts = open_vectors(folder).metadata if folder is not None else {}
    except (SoftsetError, OSError):
        facts = {}
    return {"name": name, **{key: facts[key] for key in ("words", "dimensions", "dtype") if key in facts}}


@vectors.command("info")
@click.argument("name")
@click.option("--verify", is_flag=True, help="Read every file and check it against its SHA-256.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def info(name: str, verify: bool, as_json: bool) -> None:
    """Describe the word vectors called NAME."""
    from softset.vectors.registry import vectors_folder
    from softset.vectors.storage import open_vectors, verify_vectors

    folder = vectors_folder(name)
    facts = dict(open_vectors(folder).metadata)
    if verify:
        verify_vectors(folder)
    files = facts.pop("files")
    facts["folder"] = str(Path(folder).resolve())
    facts["bytes"] = sum(file["bytes"] for file in files.values())
    if as_json:
        click.echo(json.dumps({**facts, "verified": verify}, ensure_ascii=False))
        return
    for key, value in facts.items():
        click.echo(f"{key:12} {value}")
    if verify:
        click.echo("verified     every file has the SHA-256 it was written with")


@vectors.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Delete the imported vectors called NAME."""
    from softset.vectors.registry import REGISTRY

    REGISTRY.remove(name)
    click.echo(f"{name}: removed")
