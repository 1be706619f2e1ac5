"""The command-line options that several verbs share; each flag is declared once, so it means the same everywhere."""

from collections.abc import Callable
from typing import Any

import click

from softset.query.logic import Logic

__all__ = [
    "ID_FIELD",
    "INCLUDE_EXAMPLES",
    "JSON",
    "METRIC",
    "REFERENCES",
    "SAMPLES",
    "TEXT_FIELD",
    "THREADS",
    "TOP",
    "add_options",
    "encoder_options",
    "item_options",
    "metrics_option",
    "open_source",
    "query_options",
    "read_query_options",
    "read_scorer_options",
    "scorer_options",
    "seed_option",
    "source_options",
]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path()
DEFAULT_LOGIC = Logic()

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SAMPLES = click.option(
    "--samples", type=click.IntRange(1), default=1000, show_default=True, help="Samples of the bootstrap."
)
TOP = click.option("--top", type=int, default=10, show_default=True, help="Number of items to print.")
EXPLAIN = click.option("--explain", is_flag=True, help="Show the membership in each set and the nearest examples.")
INCLUDE_EXAMPLES = click.option(
    "--include-examples", is_flag=True, help="Include the query's own examples in the results."
)
THREADS = click.option("--threads", type=click.IntRange(1), help="Number of threads.  [default: all cores]")
METRIC_HELP = "Metric, such as 'subspace(weights=l2)'"
METRIC = click.option("--metric", default="softset", show_default=True, help=f"{METRIC_HELP}.")
REFERENCES = click.option(
    *("-r", "--references"),
    type=click.Path(allow_dash=True),
    multiple=True,
    required=True,
    help="Reference file, one text per line; repeat for more references.",
)
ID_FIELD = click.option("--id-field", help="Column or field with the ids.  [default: id, or the row number]")
TEXT_FIELD = click.option("--text-field", help="Column or field with the texts.  [default: text]")


def metrics_option(*default: str, note: str = "") -> Decorator:
    """Return the option --metric for verbs that take several metrics."""
    help_text = f"{METRIC_HELP}; repeat for more.{note}"
    return click.option(
        "--metric", "metrics", multiple=True, default=default, show_default=bool(default), help=help_text
    )


def seed_option(default: int) -> Decorator:
    """Return the option --seed with a default."""
    return click.option("--seed", type=click.IntRange(0), default=default, show_default=True, help="Random seed.")


def add_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options to a command."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# The arguments of `softset.load_encoder`.
encoder_options = add_options(
    click.option("--model", default="minilm", show_default=True, help="Model: a name, a folder or a hub name."),
    click.option("--layer", default="last", show_default=True, help="Layer: a number, a fraction, or last."),
    click.option(
        "--unit",
        type=click.Choice(["token", "word"]),
        default="token",
        show_default=True,
        help="Build sets from tokens or from words.",
    ),
    click.option("--special-tokens", is_flag=True, help="Include special tokens such as [CLS] in the sets."),
    click.option(
        "--overflow",
        type=click.Choice(["window", "truncate", "error"]),
        default="window",
        show_default=True,
        help="Encode long texts in windows, truncate them, or refuse them.",
    ),
    click.option("--max-length", type=int, help="Maximum number of tokens in a window.  [default: the model's limit]"),
    click.option(
        "--batch-tokens", type=int, default=512, show_default=True, help="Tokens in a batch; affects speed and memory."
    ),
    THREADS,
    click.option("--device", help="Device of torch models, such as cuda.  [default: the best available]"),
    click.option("--dtype", help="Data type of torch models: float32, bfloat16 or float16."),
    click.option("--cache", type=PATH, help="Folder in which encoded texts are cached."),
)

# The arguments of `softset.Scorer`; `read_scorer_options` reads their files.
scorer_options = add_options(
    click.option(
        "--rescale", metavar="chance|FILE", help="Rescale from the chance level: closed form, or a calibration file."
    ),
    click.option(
        "--multi-reference",
        type=click.Choice(["best", "mean", "union"]),
        default="best",
        show_default=True,
        help="How to combine several references: the best score, the mean, or the union of their sets.",
    ),
    click.option(
        "--idf", type=PATH, help="File of idf weights for weights=idf.  [default: computed on the references]"
    ),
)

# How sets are made and combined; `read_query_options` checks the values.
query_options = add_options(
    click.option(
        "--logic", type=click.Choice(Logic.NAMES), help=f"How sets are combined.  [default: {DEFAULT_LOGIC.name}]"
    ),
    click.option("--alpha", type=float, help=f"Tolerance of AND in the lattice.  [default: {DEFAULT_LOGIC.alpha:g}]"),
    click.option("--aperture", type=float, help=f"Aperture of graded sets.  [default: {DEFAULT_LOGIC.aperture:g}]"),
    click.option(
        "--floor",
        type=float,
        help=f"Minimum grade in intersections of graded sets.  [default: {DEFAULT_LOGIC.floor:g}]",
    ),
    click.option(
        "--preprocessing",
        help="Transformation of word vectors: none, centre, all-but-the-top or whiten.  [default: whiten(0.2) for the "
        "logistic logic, otherwise none]",
    ),
    click.option("--named-sets", type=PATH, help="File of sets for @name: TOML, JSON, or a folder of .txt files."),
    click.option("--skip-unknown", is_flag=True, help="Skip words that have no vector, and report them."),
    EXPLAIN,
)

# What is searched; `open_source` opens it.
source_options = add_options(
    click.option(
        "--collection", help="Collection: a folder, milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME (see index)."
    ),
    click.option("--where", help="Filter expression, in the store's own syntax."),
    click.option("--vectors", help="Word vectors, by name or folder (see vectors list)."),
)

# What a file of items holds.
item_options = add_options(
    TEXT_FIELD, ID_FIELD, click.option("--vectors-file", type=PATH, help="File .npy with one vector for each item.")
)


def read_scorer_options(rescale: str | None, multi_reference: str, idf: str | None) -> dict[str, Any]:
    """Return the arguments of `Scorer` for the scorer options; files are read."""
    from softset.similarity.calibration import Calibration
    from softset.similarity.idf import Idf

    return {
        "rescale": rescale if rescale in (None, "chance") else Calibration.load(str(rescale)),
        "multi_reference": multi_reference,
        "idf": None if idf is None else Idf.load(idf),
    }


def read_query_options(
    *, logic: str | None, preprocessing: str | None, named_sets: str | None, **options: Any
) -> dict[str, Any]:
    """Return the arguments of `find_many` for the query options; a parameter that the logic ignores is refused."""
    from softset.query.named_sets import read_sets

    parameters = {name: options.pop(name) for name in ("alpha", "aperture", "floor")}
    given = {name: value for name, value in parameters.items() if value is not None}
    name = logic or DEFAULT_LOGIC.name
    unused = [parameter for parameter in given if parameter not in Logic(name).parameters]
    if unused:
        others = " or ".join(other for other in Logic.NAMES if unused[0] in Logic(other).parameters)
        raise click.UsageError(f"--{unused[0]} has no effect in the logic {name}: use --logic {others}")
    sets = read_sets(named_sets) if named_sets else None
    return {"logic": logic, "preprocessing": preprocessing, "sets": sets, **given, **options}


def open_source(collection: str | None, vectors: str | None, where: str | None = None) -> Any:
    """Return what is searched: a collection in a folder or in a store, or word vectors."""
    in_store = collection is not None and "://" in collection
    if where is not None and not in_store:
        raise click.UsageError("--where is for collections in a store: --collection milvus://FILE_OR_URL#NAME")
    if collection is None:
        from softset.search.words import load_words

        return load_words(vectors)
    if vectors:
        raise click.UsageError("--vectors is for word vectors; a --collection has its own")
    if in_store:
        from softset.stores import open_store

        return open_store(collection, where=where)
    from softset.collections.collection import open_collection

    return open_collection(collection)
