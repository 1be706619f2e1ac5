"""`softset eval sets`: how well sets of words are expanded, joined, intersected and told apart."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from softset.cli.eval_options import check_ends, eval_options, show
from softset.cli.progress import Progress

__all__ = ["sets"]

TITLE = "Text concept set retrieval on LDA-1k, {split} sets"
METRICS = ("R@10", "R@100", "R@1k", "median", "nDCG", "A outside B", "leak", "difference", "seconds")


@click.command(short_help="Sets of words: expansion, union, intersection, difference.")
@click.option("--vectors", "names", multiple=True, help="Word vectors by name or folder; again for others.")
@click.option(
    "--split",
    type=click.Choice(["test", "val", "train"]),
    default="test",
    show_default=True,
    help="Whose sets are asked; tune on the others.",
)
@click.option("--method", "patterns", multiple=True, help="Only methods with such names, as 'none/crisp/*'; again.")
@click.option("--against", help="The method that others are tested against.  [default: the paper's]")
@click.option("--metric", "metrics", type=click.Choice(METRICS), multiple=True, help="Only these columns; again.")
@click.option("--ranks", type=click.Path(), help="Draw where the words of Set stand: .png, .svg or .pdf.")
@eval_options
def sets(
    names: tuple[str, ...],
    split: str,
    patterns: tuple[str, ...],
    against: str | None,
    metrics: tuple[str, ...],
    ranks: str | None,
    form: str | None,
    plot: str | None,
    out: str | None,
    **options: Any,
) -> None:
    """Evaluate sets of words on text concept set retrieval (LDA-1k).

    A query shows 5 words of a set, and the others have to be found among 17,016. Methods are called
    preprocessing/leaf/logic: what is done to the vectors, how a set is made of its words, and how sets combine.
    Recall counts every word that is to be found, also those that have no vector. Of a difference A BUT NOT B three
    numbers tell: what is found of A outside B, what leaks of both, and the one less the other.

    \b
    Examples:
      softset eval sets --data DIR
      softset eval sets --data DIR --vectors glove-6b-100d --method '*/crisp/*' --metric R@100
      softset eval sets --data DIR --split val --out results
    """
    check_ends(plot, out, resume=options["resume"])
    if ranks and options["resume"]:
        raise click.UsageError("--ranks needs all ranks, and those of an interrupted run are lost: leave out --resume")
    table, found = _evaluated(names, split, patterns, against, out, **options)
    shown = tuple(row for row in table.rows if not metrics or row.metric in metrics)
    show(replace(table, rows=shown), name="sets", form=form, plot=plot, out=None)
    if ranks:
        from softset.evaluation.plots import save_ranks

        save_ranks(found, Path(ranks))
        click.echo(f"softset: wrote {ranks}", err=True)


def _evaluated(
    names: tuple[str, ...],
    split: str,
    patterns: tuple[str, ...],
    against: str | None,
    out: str | None,
    *,
    data: str | None,
    limit: int | None,
    samples: int,
    seed: int,
    resume: bool,
) -> tuple[Any, dict[str, Any]]:
    """Return the table, kept in the folder where there is one, and the ranks of Set's words by method."""
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultRow, ResultTable
    from softset.evaluation.word_sets.data import read_concepts
    from softset.evaluation.word_sets.evaluation import WordSetEvaluation
    from softset.evaluation.word_sets.methods import BASELINE, choose_methods, get_method
    from softset.io.checkpoint import checkpoint
    from softset.search.words import load_words

    baseline, folder = get_method(against or BASELINE.name), DataFolder(data)
    methods = choose_methods(patterns, baseline=baseline)
    concepts = read_concepts(folder)
    vectors = [load_words(name) for name in names or [None]]
    facts = {
        "vectors": [one.signature for one in vectors],
        "split": split,
        "limit": limit,
        "seed": seed,
        "samples": samples,
        "test": "intervals by bootstrap, p by approximate randomisation, both over queries",
        "data": dict(folder.checksums),
    }
    made_by = {**facts, "methods": [method.name for method in methods], "baseline": baseline.name}
    progress = Progress("methods") if sys.stderr.isatty() else None
    rows: list[ResultRow] = []
    ranks: dict[str, Any] = {}
    with checkpoint(Path(out) / "sets.partial" if out else None, made_by, resume=resume) as parts:
        for one in vectors:
            title = one.name if len(vectors) > 1 else ""
            evaluation = WordSetEvaluation(
                one, concepts, split=split, limit=limit, seed=seed, samples=samples, title=title, baseline=baseline
            )
            rows += evaluation.rows(methods, parts, progress)
            ranks |= {f"{title}: {name}" if title else name: found for name, found in evaluation.ranks("Set").items()}
        if progress:
            progress.done()
        table = ResultTable(TITLE.format(split=split), tuple(rows), baseline.name, facts)
        for path in table.save(out, "sets") if out else []:  # all of it, whatever columns are shown
            click.echo(f"softset: wrote {path}", err=True)
    return table, ranks
