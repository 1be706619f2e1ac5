"""`softset eval`: evaluate metrics and sets on data with human judgements."""

from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.eval_options import EvalOptions, eval_options
from softset.cli.output import ProgressBar, note
from softset.errors import MissingExtraError

COLUMNS = ("R@10", "R@100", "R@1k", "median", "nDCG", "A outside B", "leak", "difference", "seconds")
dataset_options = opt.add_options(
    opt.option("--dataset", "datasets", multiple=True),
    opt.option("--text-form", type=click.Choice(["raw", "tokenised"]), default="raw"),
)
TRANSPORT = opt.option("--transport", is_flag=True, help="Include the slow metrics wmd and wrd in --metric all.")
VECTORS_HELP = "Word vectors, by name or folder; repeat for more.  [default: glove-840b-300d, bundled]"
VECTORS = opt.option("--vectors", "names", multiple=True, help=VECTORS_HELP)


@click.group(short_help="Evaluate metrics and set queries on the paper's datasets.")
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
@dataset_options
@opt.metrics(note="  [default: all]")
@TRANSPORT
@opt.option("--all-correlations", is_flag=True, help="Also compute Pearson's r and the mean over sub-datasets.")
@opt.option("--table", type=click.Choice(["1", "6"]), default="1")
@opt.option("--paper-code", "padded_batch", type=click.IntRange(1), metavar="BATCH")
@opt.encoder_options
@eval_options("Use only the first N pairs of each dataset.")
def sts(metrics: tuple[str, ...], transport: bool, table: str, shared: EvalOptions, **options: Any) -> None:
    """Correlate metrics with human judgements of sentence pairs: Spearman's rho over all pairs of a dataset.

    DIR holds sts/raw/STS12.tsv and so on, with the columns score, sentence1, sentence2 and source; or DIR is
    SentEval's folder "data". "METRIC P" and "METRIC R" are precision and recall; METRIC+chance applies chance
    rescaling. "all" means every metric except wmd and wrd; the default of --table 6 is cls, average, bertscore and
    subspace. Marks show significant differences from bertscore (paired tests).

    \b
    Examples:
      softset eval sts --data DIR
      softset eval sts --data DIR --dataset STSB-dev --metric bertscore --metric subspace+chance
      softset eval sts --data DIR --out results --resume
      softset eval sts --data DIR --metric bertscore --metric subspace --paper-code 32
      softset eval sts --data DIR --table 6
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.sts import LAYER_METHODS, LAYERS, StsEvaluation, compare_layers

    is_layers = table == "6"
    options["datasets"] = options["datasets"] or (["STS-B"] if is_layers else [])
    data, facts = _read_sts(shared, options, shared.limit)
    facts["limit"] = shared.limit
    methods = choose_methods(metrics or (LAYER_METHODS if is_layers else ["all"]), transport=transport, note=note)
    more = {name: options.pop(name) for name in ("all_correlations", "padded_batch")}
    if not is_layers:
        shared.evaluate(StsEvaluation, methods, data, facts, options, **more)
        return
    if len(data) > 1:
        raise click.UsageError("--table 6 is for one dataset: name it with --dataset")
    if options.pop("layer") != "last":
        raise click.UsageError("--table 6 compares two fixed layers: leave out --layer")
    with ProgressBar("sentences") as progress:
        settings = (methods, shared.samples, shared.seed, note, progress, facts)
        evaluations = [StsEvaluation(load_encoder(layer=layer, **options), *settings, **more) for layer in LAYERS]
        made_by = {"evaluations": [evaluation.settings() for evaluation in evaluations]}
        shared.run("sts-layers", made_by, lambda parts: compare_layers(evaluations, data[0], parts=parts))


def _read_sts(shared: EvalOptions, options: dict[str, Any], limit: int | None) -> tuple[Any, dict[str, Any]]:
    """Remove the dataset options from `options`; return the datasets and the facts about their files."""
    from softset.evaluation.data import DataFolder
    from softset.evaluation.sts_data import choose_datasets, read_datasets, senteval_folder

    folder, text_form = DataFolder(shared.data), options.pop("text_form")
    names = choose_datasets([name.strip() for value in options.pop("datasets") for name in value.split(",")])
    data = read_datasets(folder, names, text_form, limit)
    form = text_form if senteval_folder(folder) is None else "as in SentEval's folder"
    return data, {"text": form, "datasets": names, "data": dict(sorted(folder.checksums.items()))}


@eval.command(short_help="Evaluate on word sets: expansion, union, intersection, difference.")
@VECTORS
@opt.option("--split", type=click.Choice(["test", "val", "train"]), default="test", help="Split of the data.")
@opt.option("--method", "patterns", multiple=True)
@opt.option("--against")
@opt.option("--column", "columns", type=click.Choice(COLUMNS), multiple=True)
@opt.option("--ranks", type=click.Path())
@eval_options("Use at most N queries per task.")
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

    DIR holds lda-1k/vocab.txt with one word per line, and lda-1k/sets_test.tsv, sets_val.tsv and sets_train.tsv with
    one set per line, its words separated by tabs.

    A query gives 5 words of a set, and the other words of the set must be found among 17,016 words. Methods are named
    preprocessing/leaf/logic: how vectors are preprocessed, how a set is represented, and how sets are combined. Recall
    counts all words of a set, including words without a vector. The task A BUT NOT B has three columns: the recall of
    words in A but not in B, the recall of words in both (leak), and the difference of the two.

    \b
    Examples:
      softset eval sets --data DIR
      softset eval sets --data DIR --vectors glove-6b-100d --method '*/crisp/*' --column R@100
      softset eval sets --data DIR --split val --out results
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.plots import save_ranks
    from softset.evaluation.tables import ResultRow, ResultTable
    from softset.evaluation.word_sets.data import read_concepts
    from softset.evaluation.word_sets.evaluation import WordSetEvaluation
    from softset.evaluation.word_sets.methods import BASELINE, choose_methods
    from softset.search.words import load_words

    if ranks and shared.resume:
        raise click.UsageError("--ranks cannot be combined with --resume: an interrupted run does not store all ranks")
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
    ranks_by_method: dict[str, Any] = {}

    def compute(parts: Any) -> ResultTable:
        rows: list[ResultRow] = []
        for source in vectors:
            title = source.name if len(vectors) > 1 else ""
            evaluation = WordSetEvaluation(source, concepts, title=title, baseline=baseline, **options)
            rows += evaluation.rows(methods, parts, progress)
            ranks_by_method.update(evaluation.ranks("Set"))
        return ResultTable(f"Text concept set retrieval on LDA-1k, {split} sets", tuple(rows), baseline.name, facts)

    made_by = {**facts, "methods": [method.name for method in methods], "baseline": baseline.name}
    with ProgressBar("methods") as progress:
        shared.run("sets", made_by, compute, columns)
    if ranks:
        save_ranks(ranks_by_method, Path(ranks))
        note(f"wrote {ranks}")


@eval.command(short_help="Evaluate on judgements of translations: WMT18 to English.")
@opt.option("--pair", "pairs", multiple=True, required=True)
@opt.metrics(note="  [default: softset, average, and variants of bertscore and subspace]")
@TRANSPORT
@opt.encoder_options
@eval_options("Use only the first N judged segments of each language pair.")
def wmt(pairs: tuple[str, ...], metrics: tuple[str, ...], transport: bool, shared: EvalOptions, **options: Any) -> None:
    """Measure Kendall's tau between metrics and human judgements of translations into English.

    tau is 1 if a metric always scores the better of two translations higher, and -1 if it never does. Each metric has
    rows for its score, its precision P and its recall R; METRIC+chance applies chance rescaling. DIR has a folder for
    each language pair, such as wmt18/cs-en, with the references (ref.txt), the translations (hyp/SYSTEM.txt) and the
    human judgements (darr.tsv). Marks show significant differences from bertscore (paired tests).

    \b
    Examples:
      softset eval wmt --data DIR --pair cs-en
      softset eval wmt --data DIR --pair cs-en --pair tr-en --metric bertscore --metric 'subspace(weights=l2)'
      softset eval wmt --data DIR --pair all --out results --resume
    """
    from importlib.metadata import version

    from softset.evaluation import translations
    from softset.evaluation.data import DataFolder
    from softset.evaluation.methods import choose_methods

    chosen = choose_methods(metrics or translations.METRICS, transport=transport, note=note)
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


@eval.command(short_help="Measure how scores depend on the length of texts.")
@dataset_options
@opt.metrics(note="  [default: softset, subspace, bertscore, average]")
@TRANSPORT
@opt.encoder_options
@eval_options("Use at most N pairs of each kind, unrelated and alike.")
def lengths(metrics: tuple[str, ...], transport: bool, shared: EvalOptions, **options: Any) -> None:
    """Correlate scores with the number of tokens of the references and of the candidates.

    Pairs are unrelated (random sentences of the STS datasets) or alike (pairs that people rated 4 or more out of 5).
    Means are given for references of 1-8, 9-16, 17-32, and 33 or more tokens. "METRIC P" and "METRIC R" are precision
    and recall; METRIC+chance applies chance rescaling.

    \b
    Examples:
      softset eval lengths --data DIR
      softset eval lengths --data DIR --metric 'bertscore R' --metric 'subspace+chance R' --limit 3000
      softset eval lengths --data DIR --out results --resume
    """
    from softset.evaluation.lengths import METRICS, LengthEvaluation
    from softset.evaluation.methods import choose_methods

    methods = choose_methods(metrics or METRICS, transport=transport, note=note)
    data, facts = _read_sts(shared, options, None)
    shared.evaluate(LengthEvaluation, methods, data, facts, options, limit=shared.limit)


@eval.command(short_help="Measure the coverage and speed of word vectors.")
@VECTORS
@eval_options("Use only the first N test sets of LDA-1k.", resampled=False)
def words(names: tuple[str, ...], shared: EvalOptions) -> None:
    """Compute which share of the datasets' words has a vector, and the speed of lookup and search.

    For LDA-1k, the words are those of the vocabulary, of the test queries and of the sets to be found. For STS, every
    occurrence of a word in the test pairs counts.

    \b
    Example:
      softset eval words --data DIR --vectors glove-840b-300d --vectors glove-6b-100d
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.tables import ResultTable
    from softset.evaluation.word_sets.coverage import coverage, sts_words
    from softset.evaluation.word_sets.data import read_concepts
    from softset.search.words import load_words

    folder = DataFolder(shared.data)
    concepts, texts = read_concepts(folder), sts_words(folder)
    vectors = [load_words(name) for name in names or [None]]
    rows = [row for source in vectors for row in coverage(source, concepts, texts, limit=shared.limit)]
    signatures = [source.signature for source in vectors]
    facts = {"vectors": signatures, "limit": shared.limit, "data": dict(folder.checksums)}
    table = ResultTable("Word vectors: share of words with a vector, and speed", tuple(rows), facts=facts)
    shared.run("words", facts, lambda _: table)


@eval.command(short_help="Draw figure 1 of the paper from two tables.")
@opt.option("--sts-table", type=click.Path(), required=True, help="File sts.json of `softset eval sts --out`.")
@opt.option("--sets-table", type=click.Path(), required=True, help="File sets.json of `softset eval sets --out`.")
@opt.option("--out", type=click.Path(), required=True, help="Output file: .png, .svg or .pdf.")
def figure(sts_table: str, sets_table: str, out: str) -> None:
    """Draw figure 1 of the paper: single vectors compared with subspaces, for text similarity and set retrieval.

    \b
    Example:
      softset eval figure --sts-table results/sts.json --sets-table results/sets.json --out figure-1.png
    """
    from softset.evaluation.plots import save_figure_1
    from softset.evaluation.tables import ResultTable

    save_figure_1(ResultTable.load(sts_table), ResultTable.load(sets_table), Path(out))
    note(f"wrote {out}")
