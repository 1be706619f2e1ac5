"""Command-line options that several verbs share; each is declared once, so that it means the same everywhere."""

from collections.abc import Callable
from typing import Any

import click

from softset.query.logic import Logic

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path()
TEXT_FILE = click.Path(allow_dash=True)  # - is standard input
MODEL = "Model: a name (`softset models list`), a folder, or the name of a model on the Hugging Face Hub"

LOGIC = Logic()  # for its defaults
HELP = {  # of the options with long help texts; short ones are next to their options
    "--baseline": "Baseline method for the significance tests.  [default: none/crisp/lattice(alpha=0.5), the paper's]",
    "--alpha": "Tolerance of AND in the lattice logic, from 0 (only directions in both sets) to below 1.  "
    f"[default: {LOGIC.alpha:g}]",
    "--aperture": "Aperture of the sets in the graded logic, above 0; inf gives crisp sets.  "
    f"[default: {LOGIC.aperture:g}]",
    "--batch-tokens": "Maximum number of tokens per batch; affects only speed and memory.",
    "--candidates": "Candidate file, one text per line; - is standard input.",
    "--chunks": "Parts of texts that have vectors of their own: sentences, windows of about 60 words, or tokens.",
    "--collection": "Collection: a folder, milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME.  [default: word vectors]",
    "--collection-out": "Output folder for a collection that `softset find --collection` searches.  [default: none]",
    "--color": "Colour memberships.  [default: on a terminal, unless NO_COLOR is set]",
    "--column": "Column to print; repeat for more.  [default: all]",
    "--data": "Folder with the datasets, in subfolders sts, lda-1k, wmt18 and text-sets.  [default: $SOFTSET_DATA]",
    "--dataset": "Dataset, such as STS12, STS-B or STSB-dev; repeat for more.  [default: the seven test sets]",
    "--distinct": "Leave out items whose cosine with a better item is at least this value, such as 0.95.  "
    "[default: keep all]",
    "--filter": 'Condition that items must meet, such as \'year > 1900 and lang in ("en", "de")\'.',
    "--floor": f"Minimum grade for AND in the graded logic, between 0 and 1.  [default: {LOGIC.floor:g}]",
    "--header": "Column names, separated by commas, for a CSV or TSV file that has no header line.",
    "--host-name": "Additional host name that requests may use, such as that of a proxy; repeat for more.",
    "--idf": "File of `softset fit idf`, for metrics with weights=idf.  "
    "[default: computed on the references; `softset jobs score` needs the file]",
    "--input": "Input files (Parquet): a path or a quoted pattern, such as 'data/*.parquet'.",
    "--kind": "Kind of model to import, if SOURCE has several kinds of files.  [default: detected]",
    "--language": "Language of the lexical index, such as english or german; none leaves words unchanged.",
    "--latex": "Print a LaTeX table; it needs the package booktabs.",
    "--layer": "Layer: a number (0: the embeddings, -1: the last layer), a fraction of the depth such as 0.5, or last.",
    "--logic": "How sets are combined: by log-odds (logistic), as graded subspaces (graded) or as subspaces, as in the "
    f"paper (lattice).  [default: {LOGIC.name}]",
    "--max-length": "Maximum number of tokens per window, special tokens included.  [default: the model's limit]",
    "--method": "Method or pattern, such as 'none/crisp/*'; repeat for more.  [default: all]",
    "--multi-reference": "How to combine several references: best score, mean score, or union of their tokens.",
    "--named-sets": "File (TOML or JSON) or folder of .txt files with named sets, which a query uses as @name.",
    "--overflow": "Encode texts longer than --max-length in overlapping windows, truncate them, or report an error.",
    "--pair": "Language pair, such as cs-en, or all; repeat for more.",
    "--preprocessing": "Preprocessing of the vectors: none, centre, all-but-the-top(K) or whiten(POWER).  "
    "[default: whiten(0.2) for word vectors in the logistic logic, otherwise none]",
    "--queries": "File with one query per line; - is standard input.",
    "--recall-check": "Report the share of the exact results that the approximate search finds.",
    "--references": "Reference file, one text per line; repeat for several references per candidate.",
    "--rescale": "Rescale scores so that unrelated texts score about 0: by the expected score of random tokens "
    "(chance), or by a FILE of `softset fit calibration`.  [default: no rescaling]",
    "--restrict-vocab": "Search only the first N words; most files list frequent words first.",
    "--resume": "Continue an interrupted run with the same --out.",
    "--score": "Number to compare: the score, precision or recall of the metric.",
    "--skip-unknown": "Skip examples that have no vector, and report them, instead of stopping with an error.",
    "--swaps": "Number of permutations in the approximate randomisation test.",
    "--text-form": "Form of the sentences: as written, or tokenised.",
    "--threads": "Number of threads.  [default: $OMP_NUM_THREADS, or all cores]",
    "--tsv": "Print tab-separated lines: query, id, membership, and the percentile with --percentile.",
    "--type": "Type of a field: text, integer, number, boolean, date or datetime, such as year=text; repeat for more.  "
    "[default: inferred]",
    "--unit": "Build sets from tokens, or from words (the mean of each word's tokens).",
    "--vectors": "Word vectors, by name (`softset vectors list`) or folder.  [default: glove-840b-300d, bundled]",
    "--vectors-file": "Array file (.npy) with one row per item, used instead of encoding the texts.",
}


def add_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options to a command."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class SingleOption(click.Option):
    """An option that is refused if it is given twice; click would silently use the last value."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser collect all values, so that a second one is noticed."""
        if self.multiple or self.count or self.is_flag:
            super().add_to_parser(parser, ctx)
        else:
            parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=self.nargs)

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> Any:
        """Replace the list of one value by the value."""
        values = opts.get(self.name)
        if isinstance(values, list) and not self.multiple:
            if len(values) > 1:
                flags = " or ".join(self.opts)
                raise click.UsageError(f"{flags} is given {len(values)} times, but takes one value: give it once", ctx)
            opts = {**opts, self.name: values[0]}
        return super().handle_parse_result(ctx, opts, args)


def option(*names: str, **settings: Any) -> Decorator:
    """Return an option with its text in `HELP`, or with `help`; it shows the default, if there is one."""
    flag = next(name for name in names if name.startswith("--")).partition("/")[0]
    shows_default = settings.get("default") is not None
    return click.option(*names, cls=SingleOption, show_default=shows_default, **{"help": HELP.get(flag), **settings})


def metrics(*default: str, note: str = "") -> Decorator:
    """Return the option --metric for verbs that take several metrics."""
    sentence = f"Metric, such as 'subspace(weights=l2)'; repeat for more.{note}"
    return option("--metric", "metrics", multiple=True, default=default or None, help=sentence)


def seed(default: int) -> Decorator:
    """Return the option --seed with a default."""
    return option("--seed", type=click.IntRange(0), default=default, help="Random seed.")


def add_remove(group: click.Group, noun: str, registry: Callable[[], Any]) -> None:
    """Add the command that removes an import to the group of a registry, such as `softset models`."""
    example = f"softset {group.name} remove mine"
    text = f"Delete the imported {noun} called NAME.\n\n\b\nExample:\n  {example}"

    @group.command("remove", short_help=f"Remove imported {group.name}.", help=text)
    @click.argument("name")
    def remove(name: str) -> None:
        registry().remove(name)
        click.echo(f"{name}: removed")


JSON = option("--json", "as_json", is_flag=True, help="Print JSON.")
TOP = option("--top", type=int, default=10, help="Number of items to print.")
INCLUDE_EXAMPLES = option("--include-examples", is_flag=True, help="Include the query's examples in the results.")
THREADS = option("--threads", type=click.IntRange(1))
NO_LEXICAL = option(
    "--no-lexical", "lexical", is_flag=True, flag_value=False, default=True, help="Use vectors only, and no words."
)
SAMPLES = option("--samples", type=click.IntRange(1), default=1000, help="Number of bootstrap samples.")
METRIC = option("--metric", default="softset", help="Metric, such as 'subspace(weights=l2)'.")
REFERENCES = option(*("-r", "--references"), type=TEXT_FILE, multiple=True, required=True)
NAME = option("--name", required=True, help="Name for the import, which other commands then use.")
REPLACE = option("--replace", is_flag=True, help="Replace existing data of the same name.")
VERIFY = option("--verify", is_flag=True, help="Check every file against its SHA-256 checksum.")

# The arguments of `softset.load_encoder`.
_encoder_options = (
    option("--model", default="minilm", help=f"{MODEL}."),
    option("--layer", default="last"),
    option("--unit", type=click.Choice(["token", "word"]), default="token"),
    option("--special-tokens", is_flag=True, help="Include special tokens such as [CLS] in the sets."),
    option("--overflow", type=click.Choice(["window", "truncate", "error"]), default="window"),
    option("--max-length", type=int),
    option("--batch-tokens", type=int, default=512),
    option("--device", help="Device for torch models, such as cuda.  [default: the best available]"),
    option("--dtype", help="Data type for torch models: float32, bfloat16 or float16.  [default: float32]"),
    option("--cache", type=PATH, help="Folder in which encoded texts are cached.  [default: no cache]"),
)
encoder_options = add_options(*_encoder_options, THREADS)
worker_options = add_options(
    *_encoder_options, option("--threads", type=click.IntRange(1), default=1, help="Number of threads per worker.")
)

# The arguments of `softset.Scorer`; `open_scorers` takes them.
scorer_options = add_options(
    option("--rescale", metavar="chance|FILE"),
    option("--multi-reference", type=click.Choice(["best", "mean", "union"]), default="best"),
    option("--idf", type=PATH),
)

# How sets are made and combined; `read_query_options` takes them.
query_options = add_options(
    option("--logic", type=click.Choice(Logic.NAMES)),
    option("--alpha", type=float),
    option("--aperture", type=float),
    option("--floor", type=float),
    option("--preprocessing"),
    option("--named-sets", type=PATH),
    option("--skip-unknown", is_flag=True),
    option(
        "--plain", is_flag=True, help='Read the query as a question in plain words, with "but not", "or" and so on.'
    ),
    NO_LEXICAL,
    option("--explain", is_flag=True, help="Show the membership in each set and the nearest examples."),
)

COLLECTION_MODEL = option("--model", help="Model that encoded the collection; needed unless it is bundled or imported.")

# What is searched; `open_source` takes them.
source_options = add_options(option("--collection"), COLLECTION_MODEL, option("--vectors"))


def read_scorer_options(*, rescale: str | None, idf: str | None, **options: Any) -> dict[str, Any]:
    """Return the arguments of `Scorer` for the scorer and encoder options; files are read."""
    from softset.similarity.idf import Idf
    from softset.similarity.rescaling import Calibration

    return {
        "rescale": rescale if rescale in (None, "chance") else Calibration.load(str(rescale)),
        "idf": None if idf is None else Idf.load(idf),
        **options,
    }


def open_scorers(names: tuple[str, ...], **options: Any) -> list[Any]:
    """Return a scorer for each metric, which share the encoder; idf weights that no metric uses are refused."""
    from softset.similarity.functions import open_scorers as open_with_arguments

    return open_with_arguments(names, **read_scorer_options(**options))


def read_query_options(
    *, logic: str | None, preprocessing: str | None, named_sets: str | None, **options: Any
) -> dict[str, Any]:
    """Return the arguments of `find_many` for the query options; a parameter that the logic ignores is refused."""
    from softset.query.named_sets import Sets

    parameters = {name: options.pop(name) for name in ("alpha", "aperture", "floor")}
    chosen = {name: value for name, value in parameters.items() if value is not None}
    name = logic or Logic().name
    unused = [parameter for parameter in chosen if parameter not in Logic(name).parameters]
    if unused:
        others = " or ".join(other for other in Logic.NAMES if unused[0] in Logic(other).parameters)
        raise click.UsageError(f"--{unused[0]} has no effect in the logic {name}: use --logic {others}")
    sets = Sets.load(named_sets) if named_sets else None
    return {"logic": logic, "preprocessing": preprocessing, "sets": sets, **chosen, **options}


def open_source(options: dict[str, Any]) -> Any:
    """Remove the source options from `options` and return what they name: a collection or word vectors."""
    collection, vectors, model = (options.pop(name) for name in ("collection", "vectors", "model"))
    if collection is None:
        if model:
            raise click.UsageError("--model needs a --collection: choose word vectors by --vectors")
        from softset.search.words import load_words

        return load_words(vectors)
    if vectors:
        raise click.UsageError("--vectors has no effect with --collection: a collection has its own vectors")
    if "://" in collection:
        from softset.stores import open_store

        return open_store(collection, encoder=model)
    from softset.collections.collection import open_collection

    return open_collection(collection, encoder=model)
