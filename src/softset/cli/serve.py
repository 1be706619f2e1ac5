"""`softset serve`: the web page and the HTTP API."""

import os
from collections.abc import Iterable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.errors import InputError
from softset.io.text import import_extra
from softset.server.settings import ServerLimits, Settings

MAX_KEY_BYTES = 4_096
ALL = "[default: all that are bundled or imported]"


def _limit(limit: Field[Any]) -> opt.Decorator:
    """Return the option that sets a limit."""
    settings: dict[str, Any] = {"type": type(limit.default), "default": limit.default, "help": limit.metadata["help"]}
    return opt.option(limit.metadata["flag"], limit.name, **settings)


@click.command(short_help="Serve the web page and the HTTP API.")
@opt.option("--host", default=Settings.host, help="Address to listen on.")
@opt.option("--port", default=Settings.port, help="Port to listen on; 0 chooses a free one.")
@opt.option("--key-file", type=click.Path(), help="File with the API key.  [default: $SOFTSET_API_KEY, or no key]")
@opt.option("--collection", "collections", multiple=True, help="Collection: a folder, or NAME=FOLDER; repeat for more.")
@opt.option("--vectors", multiple=True, help=f"Word vectors: NAME or NAME=FOLDER; repeat for more.  {ALL}")
@opt.option("--model", "models", multiple=True, help=f"Model: NAME or NAME=FOLDER; repeat for more.  {ALL}")
@opt.option("--host-name", "hosts", multiple=True)
@opt.THREADS
@opt.add_options(*(_limit(limit) for limit in fields(ServerLimits)))
@opt.option("--quiet", is_flag=True, help="Print only warnings and errors.")
def serve(
    key_file: str | None,
    collections: tuple[str, ...],
    vectors: tuple[str, ...],
    models: tuple[str, ...],
    quiet: bool,
    **options: Any,
) -> None:
    """Serve a web page for set queries and text comparison, and an HTTP API with the same functions under /v1.

    By default the server accepts connections from this machine only. A --host that other machines can reach requires
    an API key. The server opens no outgoing connections. It deletes uploaded texts when they have not been used for
    --lifetime seconds, and when it stops.

    \b
    Examples:
      softset serve
      softset serve --port 8080 --collection books.softset
      softset serve --host 0.0.0.0 --key-file key.txt
      curl localhost:8000/v1/find -H 'content-type: application/json' -d '{"query": "{red, blue} & fruit"}'
    """
    limits = {field.name: options.pop(field.name) for field in fields(ServerLimits)}
    settings = Settings(
        key=_key(key_file),
        vectors=_named(vectors) if vectors else None,
        models=_named(models) if models else None,
        collections={name: Path(folder).resolve() for name, folder in _named(collections).items()},
        limits=ServerLimits(**limits),
        **options,
    )
    message = "the server needs FastAPI and uvicorn: pip install 'softset[serve]'"
    import_extra("softset.server.uvicorn_runner", message).serve(settings, quiet=quiet)


def _key(path: str | None) -> str | None:
    """Return the API key in a file or in the environment, or None."""
    if path is None:
        return os.environ.get("SOFTSET_API_KEY") or None
    with Path(path).open("rb") as file:
        return file.read(MAX_KEY_BYTES).decode("ascii", errors="replace").strip()


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
