"""`softset vectors`: import word vectors once, then use them by name."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, VerbGroup, note, print_facts
from softset.errors import SoftsetError
from softset.io.text import counted


@click.group(cls=VerbGroup, short_help="Import, list, describe and remove word vectors.")
def vectors() -> None:
    """Import, list, describe and remove word vectors.

    \b
    Examples:
      softset vectors import glove.6B.zip --member glove.6B.100d.txt --name glove-6b-100d
      softset find '{red, blue} & fruit' --vectors glove-6b-100d
    """


@vectors.command("import", short_help="Import word vectors.")
@click.argument("file", type=click.Path())
@opt.NAME
@opt.option("--words", type=click.Path(), help="File with one word per line, for a .npy or .safetensors file.")
@opt.option("--format", help="Format: text, word2vec-binary, npy, safetensors or model2vec.  [default: detected]")
@opt.option("--member", help="File to read from an archive with several files.")
@opt.option("--skip-bad", is_flag=True, help="Skip malformed and repeated lines, and report their number.")
@opt.REPLACE
def import_(file: str, name: str, **options: Any) -> None:
    """Import the word vectors in FILE: convert them once, so that they open in milliseconds.

    Reads GloVe, word2vec (text and binary) and fastText .vec files, .npy or .safetensors files with a list of
    words, and model2vec folders. Files may be compressed (.gz or .zip).

    \b
    Examples:
      softset vectors import glove.6B.zip --member glove.6B.100d.txt --name glove-6b
      softset vectors import vectors.npy --words words.txt --name mine
    """
    from softset.vectors.registry import import_vectors

    with ProgressBar("words") as progress:
        facts = import_vectors(file, name, progress=progress, **options)
    for reason, count in facts["skipped"].items():
        note(f"skipped {counted(count, 'line')}: {reason}")
    click.echo(f"{name}: {facts['words']} words, {facts['dimensions']} dimensions")


@vectors.command("list", short_help="List the word vectors.")
@opt.JSON
def list_(as_json: bool) -> None:
    """List the word vectors that can be used by name.

    \b
    Example:
      softset vectors list
    """
    from softset.vectors.registry import BUNDLED, REGISTRY, vectors_folder
    from softset.vectors.storage import open_vectors

    rows: list[dict[str, Any]] = []
    for name, folder in [(BUNDLED, vectors_folder()), *REGISTRY.items()]:
        try:
            facts = open_vectors(folder).metadata if folder is not None else {}
        except (SoftsetError, OSError):
            facts = {}
        rows.append({"name": name, **{key: facts[key] for key in ("words", "dimensions", "dtype") if key in facts}})
        line = "damaged: remove it and import it again"
        if facts:
            line = f"{facts['words']:>10,} words {facts['dimensions']:>6} dimensions"
        if not as_json:
            click.echo(f"{name:30} {line}")
    if as_json:
        click.echo(json.dumps(rows))


@vectors.command("info", short_help="Describe word vectors.")
@click.argument("name")
@opt.VERIFY
@opt.JSON
def info(name: str, verify: bool, as_json: bool) -> None:
    """Describe the word vectors called NAME.

    \b
    Example:
      softset vectors info glove-840b-300d --verify
    """
    from softset.vectors.registry import vectors_folder
    from softset.vectors.storage import MANIFEST, open_vectors

    folder = vectors_folder(name)
    facts = dict(open_vectors(folder).metadata)
    if verify:
        MANIFEST.verify(folder)
    files = facts.pop("files")
    facts["folder"] = str(Path(folder).resolve())
    facts["bytes"] = sum(file["bytes"] for file in files.values())
    print_facts(facts, verified=verify, as_json=as_json)


opt.add_remove(vectors, "word vectors", lambda: import_module("softset.vectors.registry").REGISTRY)
