"""`softset eval sets`: retrieval of word sets by examples."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from softset.cli.eval_options import VECTORS, EvalOptions, eval_options
from softset.cli.output import ProgressBar, note

TITLE = "Text concept set retrieval on LDA-1k, {split} sets"
COLUMNS = ("R@10", "R@100", "R@1k", "median", "nDCG", "A outside B", "leak", "difference", "seconds")


@click.command(short_help="Evaluate on word sets: expansion, union, intersection, difference.")
@VECTORS
@click.option(
    "--split",
    type=click.Choice(["test", "val", "train"]),
    default="test",
    show_default=True,
    help="Split of the data; tune on val or train.",
)
@click.option("--method", "patterns", multiple=True, help="Method or pattern, such as 'none/crisp/*'; repeat for more.")
@click.option("--against", help="Baseline method of the significance tests.  [default: the paper's]")
@click.option(
    "--column", "columns", type=click.Choice(COLUMNS), multiple=True, help="Column to print; repeat for more."
)
@click.option("--ranks", type=click.Path(), help="Write a chart of the ranks of Set to a .png, .svg or .pdf file.")
@eval_options
def sets(
    names: tuple[str, ...],
    split: str,
    patterns: tuple[str, ...],
    against: str | None,
    columns: tuple[str, ...],
    ranks: str | None,
    shared: EvalOptions,
) -> None:
    """Evaluate word sets on text concept set retrieval (LDA-1k).

    A query gives 5 words of a set, and the other words must be found among 17,016. Methods are called
    preprocessing/leaf/logic: the transformation of the vectors, how a set is built, and how sets are combined. Recall
    counts all words of a set, including words without a vector. A difference A BUT NOT B has three columns: recall of
    A outside B, leak of B, and their difference.

    \b
    Examples:
      softset eval sets --data DIR
      softset eval sets --data DIR --vectors glove-6b-100d --method '*/crisp/*' --column R@100
      softset eval sets --data DIR --split val --out results
    """
    if ranks and shared.resume:
        raise click.UsageError("--ranks needs all ranks, which an interrupted run has lost: leave out --resume")
    table, ranks_by_method = _evaluate(names, split, patterns, against, shared)
    shared.show(replace(table, rows=tuple(row for row in table.rows if not columns or row.metric in columns)))
    if ranks:
        from softset.evaluation.plots import save_ranks

        save_ranks(ranks_by_method, Path(ranks))
        note(f"wrote {ranks}")


def _evaluate(
    names: tuple[str, ...], split: str, patterns: tuple[str, ...], against: str | None, shared: EvalOptions
) -> tuple[Any, dict[str, Any]]:
    """Return the table, saved to the output folder, and the ranks of the words of Set by method."""
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultRow, ResultTable
    from softset.evaluation.word_sets.data import read_concepts
    from softset.evaluation.word_sets.evaluation import WordSetEvaluation
    from softset.evaluation.word_sets.methods import BASELINE, choose_methods
    from softset.search.words import load_words

    baseline, folder = choose_methods([against or BASELINE.name])[0], DataFolder(shared.data)
    methods = choose_methods(patterns, baseline=baseline)
    concepts = read_concepts(folder)
    vectors = [load_words(name) for name in names or [None]]
    options: dict[str, Any] = {"split": split, "limit": shared.limit, "seed": shared.seed, "samples": shared.samples}
    facts = {
        "vectors": [source.signature for source in vectors],
        **options,
        "test": "intervals by bootstrap, p by approximate randomisation, both over queries",
        "data": dict(folder.checksums),
    }
    made_by = {**facts, "methods": [method.name for method in methods], "baseline": baseline.name}
    rows: list[ResultRow] = []
    ranks: dict[str, Any] = {}
    with ProgressBar("methods") as progress, shared.checkpoint("sets", made_by) as parts:
        for source in vectors:
            title = source.name if len(vectors) > 1 else ""
            evaluation = WordSetEvaluation(source, concepts, title=title, baseline=baseline, **options)
            rows += evaluation.rows(methods, parts, progress)
            for name, values in evaluation.ranks("Set").items():
                ranks[f"{title}: {name}" if title else name] = values
        table = ResultTable(TITLE.format(split=split), tuple(rows), baseline.name, facts)
        shared.save(table, "sets")  # with all columns
    return table, ranks
