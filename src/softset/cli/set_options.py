"""The options that say where a query's sets are found and how they combine, for every verb that reads a query."""

from collections.abc import Callable
from typing import Any

import click

from softset.query.logic import Logic

__all__ = ["opened_items", "read_set_options", "set_options", "source_options"]

DEFAULT = Logic()
OPTIONS = (
    click.option("--logic", type=click.Choice(Logic.NAMES), help=f"How sets combine.  [default: {DEFAULT.name}]"),
    click.option("--alpha", type=float, help=f"Tolerance of AND in the lattice.  [default: {DEFAULT.alpha:g}]"),
    click.option("--aperture", type=float, help=f"How graded sets are; inf is crisp.  [default: {DEFAULT.aperture:g}]"),
    click.option("--floor", type=float, help=f"What AND of graded sets stands on.  [default: {DEFAULT.floor:g}]"),
    click.option(
        "--preprocessing",
        help="What is done to word vectors first: none, centre, all-but-the-top, whiten.  [default: whiten(0.2) for "
        "logistic, else none]",
    ),
    click.option(
        "--sets", "sets_file", type=click.Path(), help="Named sets for @name: TOML, JSON, or a folder of .txt files."
    ),
    click.option("--skip-unknown", is_flag=True, help="Leave out words that have no vector, and say how many."),
)
SOURCES = (
    click.option(
        "--in",
        "collection",
        help="Search a collection of your own items (see softset index): a folder, milvus://FILE_OR_URL#NAME or "
        "lance://FOLDER#NAME.",
    ),
    click.option("--where", help="Search only items that a filter of the store lets through, in its own words."),
    click.option("--vectors", help="Word vectors by name or folder (see softset vectors list)."),
)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is searched; `opened_items` takes what they hold."""
    for option in reversed(SOURCES):
        command = option(command)
    return command


def set_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how sets are made; `read_set_options` takes what they hold."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read_set_options(
    *,
    logic: str | None,
    alpha: float | None,
    aperture: float | None,
    floor: float | None,
    preprocessing: str | None,
    sets_file: str | None,
    skip_unknown: bool,
) -> dict[str, Any]:
    """Return the arguments of `find_many` that the options stand for; a parameter that does nothing is refused."""
    from softset.query.named_sets import read_sets

    given = {name: one for name, one in (("alpha", alpha), ("aperture", aperture), ("floor", floor)) if one is not None}
    idle = [name for name in given if name not in Logic(logic or DEFAULT.name).parameters]
    if idle:
        others = " or ".join(name for name in Logic.NAMES if idle[0] in Logic(name).parameters)
        raise click.UsageError(f"--{idle[0]} does nothing in the logic {logic or DEFAULT.name}: name --logic {others}")
    sets = read_sets(sets_file) if sets_file else None
    return {"logic": logic, "preprocessing": preprocessing, "sets": sets, "skip_unknown": skip_unknown, **given}


def opened_items(collection: str | None, vectors: str | None, where: str | None = None) -> Any:
    """Return what is searched: a collection, in a folder or in a store, or word vectors."""
    stored = collection is not None and "://" in collection  # no folder is named so
    if where is not None and not stored:
        raise click.UsageError("--where is for collections in a store: --in milvus://FILE_OR_URL#NAME")
    if collection is None:
        from softset.search.words import load_words

        return load_words(vectors)
    if vectors:
        raise click.UsageError("--vectors is for word vectors; a collection (--in) has its own")
    if stored:
        from softset.stores import open_store

        return open_store(collection, where=where)
    from softset.collections.collection import open_collection

    return open_collection(collection)
