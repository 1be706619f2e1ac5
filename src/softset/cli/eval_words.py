"""`softset eval words`: which word vectors know the words of the evaluation data, and how fast they are."""

from typing import Any

import click

from softset.cli.eval_options import eval_options, show

__all__ = ["words"]


@click.command(short_help="Which word vectors know the words of the data.")
@click.option("--vectors", "names", multiple=True, help="Word vectors by name or folder; again for others.")
@eval_options
def words(
    names: tuple[str, ...],
    data: str | None,
    limit: int | None,
    form: str | None,
    plot: str | None,
    out: str | None,
    **options: Any,
) -> None:
    """Tell what share of the data's words have vectors, and how fast these are looked up and searched.

    Of LDA-1k: the vocabulary, the words of the test sets' queries, and the words to be found. Of STS: all words of the
    test pairs as they are tokenised, each occurrence counted.

    \b
    Example:
      softset eval words --data DIR --vectors glove-840b-300d --vectors glove-6b-100d
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultTable
    from softset.evaluation.word_sets.coverage import coverage, sts_words
    from softset.evaluation.word_sets.data import read_concepts
    from softset.search.words import load_words

    if options["resume"]:
        raise click.UsageError("--resume is for long evaluations: this one takes seconds")
    folder = DataFolder(data)
    concepts, texts = read_concepts(folder), sts_words(folder)
    vectors = [load_words(name) for name in names or [None]]
    rows = [row for one in vectors for row in coverage(one, concepts, texts, limit=limit)]
    facts = {"vectors": [one.signature for one in vectors], "limit": limit, "data": dict(folder.checksums)}
    table = ResultTable("Word vectors: share of words with a vector, and speed", tuple(rows), facts=facts)
    show(table, name="words", form=form, plot=plot, out=out)
