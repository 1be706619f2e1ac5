"""`softset serve`: the web page and the HTTP API."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.errors import FileError, InputError, MissingExtraError
from softset.server.settings import ServerLimits, Settings

DEFAULT = ServerLimits()
MAX_KEY_BYTES = 4_096


def _limit(flag: str, name: str, help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = getattr(DEFAULT, name)
    return opt.option(flag, name, type=type(default), default=default, help=help_text)


@click.command(short_help="Serve the web page and the HTTP API.")
@opt.option("--host", default=Settings.host, help="Address to listen on.")
@opt.option("--port", default=Settings.port, help="Port; 0 takes a free one.")
@opt.option("--key-file", type=click.Path(), help="File with the API key.  [default: SOFTSET_API_KEY, or no key]")
@opt.option("--collection", "collections", multiple=True, help="Collection: a folder, or NAME=FOLDER; repeat for more.")
@opt.option("--vectors", multiple=True, help="Word vectors, opt.NAME or NAME=FOLDER; repeat for more.  [default: all]")
@opt.option("--model", "models", multiple=True, help="Model: opt.NAME or NAME=FOLDER; repeat for more.  [default: all]")
@opt.option("--host-name", "hosts", multiple=True, help="Additional host name, such as that of a proxy.")
@opt.THREADS
@_limit("--concurrency", "concurrency", "Requests that are processed at the same time.")
@_limit("--queue", "queue", "Requests that may wait.")
@_limit("--timeout", "timeout", "Seconds that a request may take.")
@_limit("--max-body", "body", "Bytes in a request.")
@_limit("--max-texts", "texts", "Texts or queries in a request.")
@_limit("--max-tokens", "tokens", "Tokens of all texts in a request.")
@_limit("--max-text-tokens", "text_tokens", "Tokens of one text.")
@_limit("--max-query", "query", "Characters of all queries and named sets in a request.")
@_limit("--max-cells", "cells", "Cells of a matrix or an explanation, and results of all queries.")
@_limit("--max-items", "items", "Items in a temporary collection.")
@_limit("--max-item-bytes", "item_bytes", "Bytes of all texts in a temporary collection.")
@_limit("--max-collections", "temporary_collections", "Temporary collections at the same time.")
@_limit("--max-models", "loaded_models", "Models in memory.")
@opt.option("--quiet", is_flag=True, help="Print only warnings and errors.")
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
    """Serve a web page for sets and sentences, and the same functions as an HTTP API under /v1.

    The server listens on this machine only, makes no network calls and stores nothing. Listening on other addresses
    requires an API key.

    \b
    Examples:
      softset serve
      softset serve --port 8080 --collection books.softset
      softset serve --host 0.0.0.0 --key-file key.txt
      curl localhost:8000/v1/find -H 'content-type: application/json' -d '{"query": "{red, blue} & fruit"}'
    """
    settings = Settings(
        host=host,
        port=port,
        key=_key(key_file),
        vectors=_named(vectors) if vectors else None,
        models=_named(models) if models else None,
        collections={name: Path(folder).resolve() for name, folder in _named(collections).items()},
        hosts=hosts,
        threads=threads,
        limits=ServerLimits(**limits),
    )
    try:
        from softset.server.uvicorn_runner import serve as run
    except ImportError as error:
        raise MissingExtraError("the server needs FastAPI and uvicorn: pip install 'softset[serve]'") from error
    run(settings, quiet=quiet)


def _key(path: str | None) -> str | None:
    """Return the API key in a file or in the environment, or None."""
    if path is None:
        return os.environ.get("SOFTSET_API_KEY") or None
    with Path(path).open("rb") as file:
        content = file.read(MAX_KEY_BYTES)
    try:
        key = content.decode("ascii").strip()
    except UnicodeDecodeError:
        key = ""
    if not key or any(char.isspace() for char in key):
        raise FileError(f"{path} does not hold an API key: one line of ASCII is expected")
    return key


def _named(values: Iterable[str]) -> dict[str, str]:
    """Return {name: folder} of values such as NAME=FOLDER, or FOLDER, whose last component is then the name."""
    named: dict[str, str] = {}
    for value in values:
        name, equals, folder = value.partition("=")
        if not equals:
            name, folder = (Path(value).name if Path(value).is_dir() else value), value
        if not name or not folder:
            raise InputError(f"{value!r} was given, but NAME=FOLDER, or a name or folder alone, is expected")
        if name in named:
            raise InputError(f"the name {name!r} is used twice: choose another name, as in other={folder}")
        named[name] = folder
    return named
