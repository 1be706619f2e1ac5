"""`softset models`: import a model once, then use it by its name."""

import json
import sys
from collections.abc import Callable

import click

from softset.cli.progress import Progress

__all__ = ["models"]


@click.group()
def models() -> None:
    """Import, list, describe and remove models that encode texts.

    \b
    Example:
      softset models import path/to/model --name mine
      softset models info mine
    """


@models.command("import")
@click.argument("source", type=click.Path())
@click.option("--name", required=True, help="What the model will be called.")
@click.option("--replace", is_flag=True, help="Replace a model of the same name.")
@click.option(
    "--kind",
    type=click.Choice(["onnx", "transformers", "model2vec"]),
    help="Which model is meant, where SOURCE has an ONNX file and safetensors; the safetensors unless it is given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def import_(source: str, name: str, replace: bool, kind: str | None, as_json: bool) -> None:
    """Copy the model of SOURCE, so that softset.load_encoder("NAME") opens it.

    SOURCE is a folder (transformers, ONNX or model2vec) or a hub name, which is downloaded and needs the extra torch.
    Only safetensors, ONNX, tokenizer and config files are copied: never pickles, and no code. The copy is opened and
    encodes a text before it gets its name.

    \b
    Examples:
      softset models import path/to/model --name mine
      softset models import roberta-large --name roberta
      softset models import path/to/model --name quick --kind onnx
    """
    from softset.encoders.model_import import import_model
    from softset.io.text import counted

    shown = Progress("MB") if sys.stderr.isatty() else None
    try:
        facts = import_model(source, name, replace=replace, kind=kind, progress=_in_megabytes(shown))
    finally:
        if shown:
            shown.done()
    if not facts["tried"]:
        click.echo(f"softset: {name} was not opened: pip install 'softset[torch]' to use it", err=True)
    if as_json:
        click.echo(json.dumps(facts))
        return
    known = [
        counted(facts[key], noun) for key, noun in (("dimensions", "dimension"), ("layers", "layer")) if key in facts
    ]
    click.echo(f"{name}: " + ", ".join([facts["kind"], *known]))


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(as_json: bool) -> None:
    """List the models that can be used by name.

    Imported word vectors are models too: words:NAME gives each word of a text its vector.

    \b
    Examples:
      softset models list
      softset models list --json
    """
    from softset.encoders.model_info import list_models

    rows = list_models()
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        shown = row.get("problem")
        if shown is None:
            layers = f"{row['layers']:>3} layers" if "layers" in row else ""
            dimensions = row.get("dimensions", "?")
            shown = f"{row.get('kind', '?'):12} {dimensions:>6} dimensions {layers:10} {_size(row['bytes']):>9}"
        click.echo(f"{row['name']:30} {shown}")


@models.command("info")
@click.argument("name")
@click.option("--verify", is_flag=True, help="Read every file and check it against its SHA-256.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def info(name: str, verify: bool, as_json: bool) -> None:
    """Describe the model called NAME, or the one in a folder of that path.

    \b
    Examples:
      softset models info minilm --verify
      softset models info words:glove-6b-100d
      softset models info path/to/model --json
    """
    from softset.encoders.model_info import describe_model, verify_model
    from softset.io.text import printable

    if verify:
        verify_model(name)  # before it is opened
    facts = describe_model(name)
    if as_json:
        click.echo(json.dumps({**facts, "verified": verify}))
        return
    for key, value in facts.items():
        if value is not None or key in ("licence", "source"):
            click.echo(f"{key:12} {'not known' if value is None else printable(str(value))}")
    if verify:
        click.echo("verified     every file has the SHA-256 it was written with")


@models.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Delete the imported model called NAME.

    \b
    Example:
      softset models remove mine
    """
    from softset.encoders.models import REGISTRY

    REGISTRY.remove(name)
    click.echo(f"{name}: removed")


def _in_megabytes(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(done // 1_000_000, total // 1_000_000)


def _size(count: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
