"""`softset serve`: the page and the interface for programs, on this machine."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from softset.errors import FileError, InputError, MissingExtraError
from softset.server.settings import ServerLimits, Settings

__all__ = ["serve"]

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT = ServerLimits()
LARGEST_KEY_FILE = 4_096


def _limit(flag: str, name: str, about: str) -> Callable[[Command], Command]:
    kind = type(getattr(DEFAULT, name))
    return click.option(flag, name, type=kind, default=getattr(DEFAULT, name), show_default=True, help=about)


@click.command(short_help="Serve a page, and an interface for programs.")
@click.option("--host", default=Settings.host, show_default=True, help="The address to listen at.")
@click.option("--port", default=Settings.port, show_default=True, help="The port; 0 takes any that is free.")
@click.option("--key-file", type=click.Path(), help="A file with the API key.  [default: SOFTSET_API_KEY, or none]")
@click.option(
    "--in", "collections", multiple=True, help="Offer a collection: FOLDER, or NAME=FOLDER; again for others."
)
@click.option("--vectors", multiple=True, help="Offer these word vectors only: NAME, or NAME=FOLDER.  [default: all]")
@click.option("--model", "models", multiple=True, help="Offer these models only: NAME, or NAME=FOLDER.  [default: all]")
@click.option("--host-name", "hosts", multiple=True, help="A further name of the server, such as that of a proxy.")
@click.option("--threads", type=int, help="Threads of models.  [default: all]")
@_limit("--workers", "workers", "Requests that are worked on at once.")
@_limit("--queue", "queue", "Further requests that wait for their turn.")
@_limit("--timeout", "timeout", "How long a request may take.")
@_limit("--max-body", "body", "Bytes of a request.")
@_limit("--max-texts", "texts", "Texts, or queries, of a request.")
@_limit("--max-tokens", "tokens", "Tokens of all texts of a request.")
@_limit("--max-text-tokens", "text_tokens", "Tokens of one text.")
@_limit("--max-query", "query", "Characters of all queries and named sets of a request.")
@_limit("--max-cells", "cells", "Cells of a matrix or an explanation, and results of all queries.")
@_limit("--max-items", "items", "Items of a collection dropped on the page.")
@_limit("--max-item-bytes", "item_bytes", "Bytes of its texts.")
@_limit("--max-collections", "temporary_collections", "Collections dropped on the page that are kept.")
@_limit("--max-models", "loaded_models", "Models in memory.")
@click.option("--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def serve(
    host: str,
    port: int,
    key_file: str | None,
    collections: tuple[str, ...],
    vectors: tuple[str, ...],
    models: tuple[str, ...],
    hosts: tuple[str, ...],
    threads: int | None,
    quiet: bool,
    **limits: Any,
) -> None:
    """Serve a page to explore sets and compare sentences, and the same engine for programs under /v1.

    It listens to this machine alone, calls nobody, and keeps nothing. To let other machines reach it, give it an API
    key.

    \b
    Examples:
      softset serve
      softset serve --port 8080 --in books.softset
      softset serve --host 0.0.0.0 --key-file key.txt
      curl localhost:8000/v1/find -H 'content-type: application/json' -d '{"query": "{red, blue} & fruit"}'
    """
    settings = Settings(
        host=host,
        port=port,
        key=_key(key_file),
        vectors=_named(vectors) if vectors else None,
        models=_named(models) if models else None,
        collections={name: Path(where).resolve() for name, where in _named(collections).items()},
        hosts=hosts,
        threads=threads,
        limits=ServerLimits(**limits),
    )
    try:
        from softset.server.uvicorn_runner import serve as run
    except ImportError as error:
        raise MissingExtraError("a server needs FastAPI and uvicorn: pip install 'softset[serve]'") from error
    run(settings, quiet=quiet)


def _key(path: str | None) -> str | None:
    """Return the key of a file, or of the environment, or None."""
    if path is None:
        return os.environ.get("SOFTSET_API_KEY") or None
    with Path(path).open("rb") as file:
        content = file.read(LARGEST_KEY_FILE)
    try:
        key = content.decode("ascii").strip()
    except UnicodeDecodeError:
        key = ""
    if not key or any(one.isspace() for one in key):
        raise FileError(f"{path} does not hold an API key: one line of ASCII was wanted")
    return key


def _named(given: Iterable[str]) -> dict[str, str]:
    """Return names and places from NAME=PLACE, or PLACE alone, whose last step is its name."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, where = one.partition("=")
        if not equals:
            name, where = (Path(one).name if Path(one).is_dir() else one), one
        if not name or not where:
            raise InputError(f"{one!r} was given, but NAME=FOLDER, or a name or folder alone, was wanted")
        if name in found:
            raise InputError(f"two are named {name!r}: name one of them otherwise, as in other={where}")
        found[name] = where
    return found
