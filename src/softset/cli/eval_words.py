"""`softset eval words`: coverage and speed of word vectors."""

import click

from softset.cli.eval_options import VECTORS, EvalOptions, eval_options


@click.command(short_help="Measure the coverage and speed of word vectors.")
@VECTORS
@eval_options
def words(names: tuple[str, ...], shared: EvalOptions) -> None:
    """Compute the share of the data's words that have vectors, and the speed of lookup and search.

    LDA-1k: the vocabulary, the words in the test queries, and the words to be found. STS: all occurrences of words in
    the test pairs.

    \b
    Example:
      softset eval words --data DIR --vectors glove-840b-300d --vectors glove-6b-100d
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultTable
    from softset.evaluation.word_sets.coverage import coverage, sts_words
    from softset.evaluation.word_sets.data import read_concepts
    from softset.search.words import load_words

    if shared.resume:
        raise click.UsageError("--resume is for long evaluations: this one takes seconds")
    folder = DataFolder(shared.data)
    concepts, texts = read_concepts(folder), sts_words(folder)
    vectors = [load_words(name) for name in names or [None]]
    rows = [row for source in vectors for row in coverage(source, concepts, texts, limit=shared.limit)]
    signatures = [source.signature for source in vectors]
    facts = {"vectors": signatures, "limit": shared.limit, "data": dict(folder.checksums)}
    table = ResultTable("Word vectors: share of words with a vector, and speed", tuple(rows), facts=facts)
    shared.save(table, "words")
    shared.show(table)
