"""The public surface: names, signatures, commands, paths and file formats, one per line.

`python -m tests.stability.surface` writes it to surface.txt. A change must be in CHANGELOG.md; a removal needs a new
version.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack, get_args, get_origin

import click

import softset
import softset.jobs

RECORD = Path(__file__).parent / "surface.txt"


def surface() -> Iterator[str]:
    yield from _python()
    yield from _commands()
    yield from _paths()
    yield from _formats()


def _python() -> Iterator[str]:
    from softset.integrations import bert_score

    for module in (softset, softset.jobs, bert_score):
        for name in sorted(module.__all__):
            yield from _described(f"{module.__name__}.{name}", getattr(module, name))
    from softset import errors

    for name in errors.__all__:
        yield f"softset.errors.{name}({', '.join(base.__name__ for base in getattr(errors, name).__bases__)})"


def _described(name: str, value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{name}{_signature(value)}" if callable(value) else name
        return
    if issubclass(value, BaseException):
        yield name
        return
    yield f"{name}{_signature(value)}"
    ours = {one for kind in value.__mro__ if kind.__module__.startswith("softset") for one in vars(kind)}
    for method in sorted(ours):
        found = inspect.getattr_static(value, method)
        if not method.startswith("_"):
            kind = getattr(found, "__func__", found)
            yield f"{name}.{method}" + (_signature(kind) if inspect.isfunction(kind) else "")


def _signature(value: object) -> str:
    """Return the names and defaults of arguments, without types; options of a TypedDict are listed by name."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return "(...)"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    options = [name for one in signature.parameters.values() for name in _unpacked(one.annotation)]
    shown = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return shown + (f" options: {', '.join(options)}" if options else "")


def _unpacked(annotation: object) -> Iterator[str]:
    """Yield the names of the options that `**options: Unpack[Options]` declares."""
    if get_origin(annotation) is Unpack:
        yield from get_args(annotation)[0].__annotations__


def _commands() -> Iterator[str]:
    from softset.cli import softset as command_line

    def walk(command: click.Command, name: str) -> Iterator[str]:
        options = sorted(one for option in command.params for one in (*option.opts, *option.secondary_opts))
        yield f"$ {name} {' '.join(options)}".rstrip()
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for one in sorted(command.list_commands(context)):
                    found = command.get_command(context, one)
                    assert found is not None
                    yield from walk(found, f"{name} {one}")

    yield from walk(command_line, "softset")


def _paths() -> Iterator[str]:
    from softset.server import create_app

    for path, methods in sorted(create_app().openapi()["paths"].items()):
        yield f"HTTP {' '.join(sorted(methods)).upper()} {path}"


def _formats() -> Iterator[str]:
    from softset.collections.manifest import VERSION as COLLECTION
    from softset.encoders.models import MANIFEST as MODELS
    from softset.encoders.tokensets_file import MANIFEST as TOKENS
    from softset.vectors.storage import MANIFEST as WORDS

    for seal in (MODELS, WORDS, TOKENS):
        yield f"folder {seal.kind} {seal.version}"
    yield f"folder Collection {COLLECTION}"
    yield f"signature {softset.score(['a red book'], ['a blue book'], model='words').signature}".replace(
        softset.__version__, "VERSION"
    )
    yield f"signature {softset.load_words().find('red', 1).signature}".replace(softset.__version__, "VERSION")


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in surface()), "utf-8")
