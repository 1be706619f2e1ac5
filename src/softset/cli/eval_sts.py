"""`softset eval sts`: agreement of metrics with people on the similarity of sentences."""

from typing import Any

import click

from softset.cli import options as opt
from softset.cli.eval_options import DATASETS, TEXT_FORM, TRANSPORT, EvalOptions, eval_options, split_commas
from softset.cli.output import ProgressBar, note


@click.command(short_help="Evaluate on sentence similarity: STS12 to STS16, STS-B, SICK-R.")
@DATASETS
@TEXT_FORM
@opt.metrics(note="  [default: all]")
@TRANSPORT
@opt.option("--all-correlations", is_flag=True, help="Also compute Pearson's r and the mean over sub-datasets.")
@opt.option("--table", type=click.Choice(["1", "6"]), default="1", help="Table of the paper.")
@opt.option(
    "--paper-code", type=click.IntRange(1), metavar="BATCH", help="Also count special tokens and padding as tokens."
)
@opt.encoder_options
@eval_options
def sts(datasets: tuple[str, ...], text_form: Any, table: str, shared: EvalOptions, **options: Any) -> None:
    """Correlate metrics with human judgements of sentence pairs: Spearman's rho over all pairs of a dataset.

    DIR holds sts/raw/STS12.tsv and so on, with the columns score, sentence1, sentence2 and source. "METRIC P" and
    "METRIC R" are precision and recall; METRIC+chance is rescaled from the chance level. Marks show paired tests
    against bertscore.

    \b
    Examples:
      softset eval sts --data DIR
      softset eval sts --data DIR --dataset STSB-dev --metric bertscore --metric subspace+chance
      softset eval sts --data DIR --out results --resume
      softset eval sts --data DIR --metric bertscore --metric subspace --paper-code 32
      softset eval sts --data DIR --table 6
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.sts import compare_layers
    from softset.evaluation.sts_data import choose_datasets, read_datasets

    folder = DataFolder(shared.data)
    names = choose_datasets(split_commas(datasets)) if table == "1" or datasets else ["STS-B"]
    data = read_datasets(folder, names, text_form, shared.limit)
    facts = {"text": text_form, "limit": shared.limit, "data": dict(sorted(folder.checksums.items()))}
    name = "sts" if table == "1" else "sts-layers"
    with ProgressBar("sentences") as progress:
        evaluations = _evaluations(table, len(data), shared, progress, **options)
        settings = [evaluation.settings(facts) for evaluation in evaluations]
        made_by = {"evaluations": settings, "datasets": [dataset.name for dataset in data]}
        if table == "1":
            shared.run(name, made_by, lambda parts: evaluations[0].table(data, parts=parts, facts=facts))
        else:
            shared.run(name, made_by, lambda parts: compare_layers(evaluations, data[0], parts=parts, facts=facts))


def _evaluations(
    table: str,
    datasets: int,
    shared: EvalOptions,
    progress: ProgressBar,
    *,
    metrics: tuple[str, ...],
    transport: bool,
    all_correlations: bool,
    paper_code: int | None,
    **options: Any,
) -> list[Any]:
    """Return the evaluation of table 1, or the evaluations of the layers of table 6."""
    from softset.encoders.loading import load_encoder
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.sts import LAYER_METHODS, LAYERS, StsEvaluation

    if table == "6" and datasets > 1:
        raise click.UsageError("--table 6 is for one dataset: name it with --dataset")
    if table == "6" and options["layer"] != "last":
        raise click.UsageError("--table 6 compares two fixed layers: leave out --layer")
    default = ("all",) if table == "1" else LAYER_METHODS
    methods = choose_methods(metrics or default, transport=transport, note=note)
    return [
        StsEvaluation(
            load_encoder(**{**options, "layer": layer}),
            methods,
            shared.samples,
            shared.seed,
            progress.note,
            progress,
            all_correlations=all_correlations,
            padded_batch=paper_code,
        )
        for layer in ([options["layer"]] if table == "1" else LAYERS)
    ]
