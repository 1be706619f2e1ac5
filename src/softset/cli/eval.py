"""`softset eval`: evaluate metrics and sets on data with human judgements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, VerbGroup, note
from softset.errors import MissingExtraError

COLUMNS = ("R@10", "R@100", "R@1k", "MAP", "median", "nDCG", "A outside B", "leak", "difference")
VECTORS_HELP = "Word vectors, by name or folder; repeat for more.  [default: glove-840b-300d, bundled]"
VECTORS = opt.option("--vectors", "names", multiple=True, help=VECTORS_HELP)
QUERY_METHODS_HELP = "Method: a logic such as lattice, or 'ignore B'; repeat for more.  [default: all]"


TEXT_DATASETS_HELP = "Dataset: quest, comlq, reuters or limit; repeat for more.  [default: all]"
TEXT_METHODS_HELP = "Method, such as softset, bm25 or fusion; repeat for more.  [default: all]"


DATA = opt.option("--data", type=click.Path())
OUTPUTS = (
    opt.option("--json", "form", flag_value="json", help="Print JSON."),
    opt.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
    opt.option("--latex", "form", flag_value="latex"),
    opt.option("--out", type=click.Path(), help="Output folder for the table as .json and .md."),
)


@dataclass(frozen=True)
class EvalOptions:
    """The values of the options that all tasks share."""

    limit: int | None
    form: str | None
    out: str | None
    samples: int
    seed: int
    data: str | None = None

    def evaluate(self, kind: Any, methods: Any, data: Any, facts: dict[str, Any], options: Any, **more: Any) -> None:
        """Compute, save and print the table of a `MetricEvaluation`; `options` are those of the encoder."""
        from softset.encoders.loading import load_encoder

        with ProgressBar(kind.UNIT) as progress:
            evaluation = kind(load_encoder(**options), methods, self.samples, self.seed, note, progress, facts, **more)
            table = evaluation.table(data)
        self.show(kind.TASK, table)

    def show(self, name: str, table: Any, columns: Sequence[str] = ()) -> None:
        """Save a table in the output folder, and print it or some of its columns."""
        for path in table.save(self.out, name) if self.out else []:
            note(f"wrote {path}")
        if columns:
            table = replace(table, rows=tuple(row for row in table.rows if row.metric in columns))
        click.echo(getattr(table, f"to_{self.form or 'text'}")())


def eval_options(limit: str, *, has_data: bool = True) -> opt.Decorator:
    """Return a decorator that adds the options of a task; the command gets them as one argument `shared`.

    Args:
        limit: the help text of --limit.
        has_data: whether the task reads the folder of evaluation data.
    """
    all_options = [
        *([DATA] if has_data else []),
        opt.option("--limit", type=click.IntRange(1), metavar="N", help=limit),
        *OUTPUTS,
        opt.SAMPLES,
        opt.seed(12345),
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_shared(**options: Any) -> Any:
            shared = {field.name: options.pop(field.name) for field in fields(EvalOptions) if field.name in options}
            return command(shared=EvalOptions(**shared), **options)

        return opt.add_options(*all_options)(with_shared)

    return decorate


@click.group(cls=VerbGroup, short_help="Evaluate metrics and set queries on the paper's datasets.")
def eval() -> None:  # noqa: A001 (the verb's name)
    """Reproduce the paper's experiments, or evaluate your models on its datasets.

    DIR is a folder with the subfolders sts, lda-1k and wmt18; docs/results.md describes them.

    \b
    Examples:
      softset eval sts --data DIR
      softset eval sets --data DIR --json
      softset eval wmt --data DIR --pair cs-en
    """


@eval.command(short_help="Evaluate on sentence similarity: STS12 to STS16, STS-B, SICK-R.")
@opt.option("--dataset", "datasets", multiple=True)
@opt.option("--text-form", type=click.Choice(["raw", "tokenised"]), default="raw")
@opt.metrics(note="  [default: all]")
@opt.option("--all-correlations", is_flag=True, help="Also compute Pearson's r and the mean over sub-datasets.")
@opt.encoder_options
@eval_options("Use only the first N pairs of each dataset.")
def sts(metrics: tuple[str, ...], all_correlations: bool, shared: EvalOptions, **options: Any) -> None:
    """Correlate metrics with human judgements of sentence pairs: Spearman's rho over all pairs of a dataset.

    DIR holds sts/raw/STS12.tsv and so on, with the columns score, sentence1, sentence2 and source; or DIR is
    SentEval's folder "data". "METRIC P" and "METRIC R" are precision and recall; METRIC+chance applies chance
    rescaling. "all" means every metric except wmd and wrd. Marks show significant differences from bertscore (paired
    tests).

    \b
    Examples:
      softset eval sts --data DIR
      softset eval sts --data DIR --dataset STSB-dev --metric bertscore --metric subspace+chance
      softset eval sts --data DIR --out results
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.metric_evaluation import choose_methods
    from softset.evaluation.sts import StsEvaluation, choose_datasets, read_datasets, senteval_folder

    folder, text_form = DataFolder(shared.data), options.pop("text_form")
    names = choose_datasets([name.strip() for value in options.pop("datasets") for name in value.split(",")])
    data = read_datasets(folder, names, text_form, shared.limit)
    form = text_form if senteval_folder(folder) is None else "as in SentEval's folder"
    facts = {"text": form, "datasets": names, "data": dict(sorted(folder.checksums.items())), "limit": shared.limit}
    methods = choose_methods(metrics or ["all"], note=note)
    shared.evaluate(StsEvaluation, methods, data, facts, options, all_correlations=all_correlations)


@eval.command(short_help="Evaluate on word sets: expansion, union, intersection, difference.")
@VECTORS
@opt.option("--split", type=click.Choice(["test", "val", "train"]), default="test", help="Split of the data.")
@opt.option("--method", "patterns", multiple=True)
@opt.option("--baseline")
@opt.option("--column", "columns", type=click.Choice(COLUMNS), multiple=True)
@eval_options("Use at most N queries per task.")
def sets(
    names: tuple[str, ...],
    split: str,
    patterns: tuple[str, ...],
    baseline: str | None,
    columns: tuple[str, ...],
    shared: EvalOptions,
) -> None:
    """Evaluate word sets on text concept set retrieval (LDA-1k).

    DIR holds lda-1k/vocab.txt with one word per line, and lda-1k/sets_test.tsv, sets_val.tsv and sets_train.tsv with
    one set per line, its words separated by tabs.

    A query gives 5 words of a set, and the other words of the set must be found among 17,016 words. Methods are named
    preprocessing/leaf/logic: how vectors are preprocessed, how a set is represented, and how sets are combined. Recall
    counts all words of a set, including words without a vector. The task Difference (A BUT NOT B) has MAP and
    three other columns: "A outside B" is the recall of words in A but not in B, "leak" that of words in both, and
    "difference" the first minus the second.

    \b
    Examples:
      softset eval sets --data DIR
      softset eval sets --data DIR --vectors glove-6b-100d --method '*/crisp/*' --column R@100
      softset eval sets --data DIR --split val --out results
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultRow, ResultTable
    from softset.evaluation.word_sets.data import read_concepts
    from softset.evaluation.word_sets.evaluation import WordSetEvaluation
    from softset.evaluation.word_sets.methods import BASELINE, choose_methods
    from softset.search.words import load_words

    baseline_method, folder = choose_methods([baseline or BASELINE.name])[0], DataFolder(shared.data)
    methods = choose_methods(patterns, baseline=baseline_method)
    concepts = read_concepts(folder)
    vectors = [load_words(name) for name in names or [None]]
    options: dict[str, Any] = {"split": split, "limit": shared.limit, "seed": shared.seed, "samples": shared.samples}
    facts = {
        "vectors": [source.signature for source in vectors],
        **options,
        "test": "intervals by bootstrap, p by approximate randomisation, both over queries",
        "data": dict(folder.checksums),
    }

    rows: list[ResultRow] = []
    with ProgressBar("methods") as progress:
        for source in vectors:
            title = source.name if len(vectors) > 1 else ""
            evaluation = WordSetEvaluation(source, concepts, title=title, baseline=baseline_method, **options)
            rows += evaluation.rows(methods, progress)
    title = f"Text concept set retrieval on LDA-1k, {split} sets"
    shared.show("sets", ResultTable(title, tuple(rows), baseline_method.name, facts), columns)


@eval.command(short_help="Evaluate set queries by the words that people expect.")
@click.argument("file", type=click.Path())
@opt.option("--vectors", "names", multiple=True, help=opt.HELP["--vectors"])
@opt.option("--method", "methods", multiple=True, help=QUERY_METHODS_HELP)
@eval_options("Use only the first N queries.", has_data=False)
def queries(file: str, names: tuple[str, ...], methods: tuple[str, ...], shared: EvalOptions) -> None:
    """Evaluate the logics of set queries by a file of queries and expected words.

    FILE is a JSON array. Each query has a task, a query text, and the expected words: "expect" is one list, which is
    measured by the mean average precision of the first 100 words; "sides" are the two lists of an OR, which are
    measured by the harmonic mean of their recall among the first 40 words. The method "ignore B" drops the right side
    of A - B, and the other methods are tested against it.

    \b
    Examples:
      softset eval queries queries.json
      softset eval queries queries.json --method logistic --method lattice --json
    """
    from softset.evaluation.tables import ResultTable
    from softset.evaluation.word_sets.queries import IGNORE_B, choose_query_methods, query_rows, read_queries
    from softset.search.words import load_words

    expected = read_queries(Path(file))[: shared.limit]
    chosen = choose_query_methods(methods)
    if len(names) > 1:
        raise click.UsageError("eval queries takes one --vectors: give it once")
    words = load_words(*names)
    facts = {"vectors": [words.signature], "samples": shared.samples, "seed": shared.seed, "methods": list(chosen)}
    with ProgressBar("queries") as progress:
        rows = query_rows(words, expected, chosen, samples=shared.samples, seed=shared.seed, progress=progress)
    shared.show("queries", ResultTable("Set queries and the words that people expect", tuple(rows), IGNORE_B, facts))


@eval.command(short_help="Evaluate on set queries over texts: QUEST, ComLQ, Reuters, LIMIT.")
@opt.option("--dataset", "datasets", multiple=True, help=TEXT_DATASETS_HELP)
@opt.option("--method", "methods", multiple=True, help=TEXT_METHODS_HELP)
@opt.encoder_options
@eval_options("Use only the first N queries of each dataset or kind.")
def texts(datasets: tuple[str, ...], methods: tuple[str, ...], shared: EvalOptions, **options: Any) -> None:
    """Evaluate the search of texts by set queries and by plain questions.

    DIR holds text-sets/quest-evidence-docs.jsonl.gz and so on. Each question is also a set query over its parts, such
    as A & B - C. The baselines rank by the whole question: cosine, BM25, the sum of their z scores (fusion) and of
    their reciprocal ranks (rrf); rocchio subtracts the vectors of excluded sets, filter keeps the items in the lists of
    all sets, and "ignore B" drops the right side of A - B. "leak" is the share of items in A and B among the first 100.
    Marks show significant differences from fusion (paired tests).

    \b
    Examples:
      softset eval texts --data DIR --cache .cache/encoded
      softset eval texts --data DIR --dataset reuters --method softset --method "ignore B" --json
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultRow, ResultTable
    from softset.evaluation.text_sets.evaluation import BASELINE, choose_text_methods, text_rows
    from softset.evaluation.text_sets.tasks import DATASETS
    from softset.io.text import check_names

    folder, chosen, encoder = DataFolder(shared.data), choose_text_methods(methods), load_encoder(**options)
    rows: list[ResultRow] = []
    check_names(datasets, DATASETS, "dataset")
    for name in datasets or tuple(DATASETS):
        dataset = DATASETS[name](folder, shared.limit)
        with ProgressBar("queries") as progress:
            rows += text_rows(dataset, encoder, chosen, samples=shared.samples, seed=shared.seed, progress=progress)
    facts = {"model": encoder.signature, "samples": shared.samples, "seed": shared.seed, "data": dict(folder.checksums)}
    shared.show("texts", ResultTable("Set queries over texts", tuple(rows), BASELINE, facts))


@eval.command(short_help="Evaluate on judgements of translations: WMT18 into English.")
@opt.option("--pair", "pairs", multiple=True, required=True)
@opt.metrics(note="  [default: softset, average, and variants of bertscore and subspace]")
@opt.encoder_options
@eval_options("Use only the first N judged segments of each language pair.")
def wmt(pairs: tuple[str, ...], metrics: tuple[str, ...], shared: EvalOptions, **options: Any) -> None:
    """Measure Kendall's tau between metrics and human judgements of translations into English.

    tau is 1 if a metric always scores the better of two translations higher, and -1 if it never does. Each metric has
    rows for its score, its precision P and its recall R; METRIC+chance applies chance rescaling. DIR has a folder for
    each language pair, such as wmt18/cs-en, with the references (ref.txt), the translations (hyp/SYSTEM.txt) and the
    human judgements (darr.tsv). Marks show significant differences from bertscore (paired tests).

    \b
    Examples:
      softset eval wmt --data DIR --pair cs-en
      softset eval wmt --data DIR --pair cs-en --pair tr-en --metric bertscore --metric 'subspace(weights=l2)'
      softset eval wmt --data DIR --pair all --out results
    """
    from importlib.metadata import version

    from softset.evaluation import translations
    from softset.evaluation.data import DataFolder
    from softset.evaluation.metric_evaluation import choose_methods

    chosen = choose_methods(metrics or translations.METRICS, note=note)
    methods, folder = translations.all_parts(chosen), DataFolder(shared.data)
    names = translations.choose_pairs(folder, pairs)
    data = [translations.read_pair(folder, name, shared.limit) for name in names]
    facts: dict[str, Any] = {"data": dict(sorted(folder.checksums.items()))}
    if shared.limit:
        facts["limit"] = shared.limit
    try:
        chrf, facts["sacrebleu"] = translations.sentence_chrf(), version("sacrebleu")
    except MissingExtraError as error:
        chrf = None
        note(f"left out: {translations.CHRF} ({error})")
    evaluation = translations.TranslationEvaluation
    shared.evaluate(evaluation, methods, data, facts, options, chrf=chrf)
