"""`softset models`: import a model once, then use it by name."""

import json
from importlib import import_module
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, VerbGroup, print_facts
from softset.io.text import counted


@click.group(cls=VerbGroup, short_help="Import, list, describe and remove models.")
def models() -> None:
    """Import, list, describe and remove models that encode texts.

    \b
    Examples:
      softset models import path/to/model --name mine
      softset models info mine
    """


@models.command("import", short_help="Import a model.")
@click.argument("source", type=click.Path())
@opt.NAME
@opt.REPLACE
@opt.option("--kind", type=click.Choice(["onnx", "transformers", "model2vec"]))
@opt.JSON
def import_(source: str, name: str, as_json: bool, **options: Any) -> None:
    """Copy the model in SOURCE, so that softset.load_encoder("NAME") opens it.

    SOURCE is a folder (transformers, ONNX or model2vec), or the name of a model on the Hugging Face Hub. Only
    safetensors, ONNX, tokenizer and configuration files are copied, never pickles or code. As a test, softset encodes a
    text with the copy.

    \b
    Examples:
      softset models import path/to/model --name mine
      softset models import roberta-large --name roberta
      softset models import path/to/model --name quick --kind onnx
    """
    from softset.encoders.model_management import import_model

    with ProgressBar("MB") as bar:
        facts = import_model(source, name, progress=lambda *sizes: bar(*(n // 1_000_000 for n in sizes)), **options)
    known = [counted(facts[f"{noun}s"], noun) for noun in ("dimension", "layer") if f"{noun}s" in facts]
    click.echo(json.dumps(facts) if as_json else f"{name}: " + ", ".join([facts["kind"], *known]))


@models.command("list", short_help="List the models.")
@opt.JSON
def list_(as_json: bool) -> None:
    """List the models that can be used by name; words:NAME encodes with word vectors.

    \b
    Examples:
      softset models list
      softset models list --json
    """
    from softset.encoders.model_management import list_models

    rows = list_models()
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        facts = row.get("problem")
        if facts is None:
            layers = f"{row['layers']:>3} layers" if "layers" in row else ""
            size = f"{row['bytes'] / 1e9:,.1f} GB" if row["bytes"] >= 1e9 else f"{row['bytes'] / 1e6:.1f} MB"
            facts = f"{row.get('kind', '?'):12} {row.get('dimensions', '?'):>6} dimensions {layers:10} {size:>9}"
        click.echo(f"{row['name']:30} {facts}")


@models.command("info", short_help="Describe a model.")
@click.argument("name")
@opt.VERIFY
@opt.JSON
def info(name: str, verify: bool, as_json: bool) -> None:
    """Describe the model called NAME, or the model in the folder NAME.

    \b
    Examples:
      softset models info minilm --verify
      softset models info words:glove-6b-100d
      softset models info path/to/model --json
    """
    from softset.encoders.model_management import describe_model, verify_model

    if verify:
        verify_model(name)  # before it is opened
    facts = describe_model(name)
    shown = {key: value for key, value in facts.items() if value is not None or key in ("licence", "source")}
    print_facts(facts if as_json else shown, verified=verify, as_json=as_json)


opt.add_remove(models, "model", lambda: import_module("softset.encoders.models").REGISTRY)
