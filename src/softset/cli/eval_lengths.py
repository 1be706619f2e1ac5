"""`softset eval lengths`: the dependence of scores on the length of texts."""

from typing import Any

import click

from softset.cli import options as opt
from softset.cli.eval_options import DATASETS, TEXT_FORM, TRANSPORT, EvalOptions, eval_options, split_commas
from softset.cli.output import ProgressBar, note


@click.command(short_help="Measure how scores depend on the length of texts.")
@DATASETS
@TEXT_FORM
@opt.metrics(note="  [default: softset, subspace, bertscore, average]")
@TRANSPORT
@opt.encoder_options
@eval_options
def lengths(
    datasets: tuple[str, ...],
    text_form: Any,
    metrics: tuple[str, ...],
    transport: bool,
    shared: EvalOptions,
    **options: Any,
) -> None:
    """Correlate scores with the number of tokens of the references and of the candidates.

    Pairs are unrelated (random sentences of the STS datasets) or alike (pairs that people scored 4 or more of 5).
    Means are given for references of 1-8, 9-16, 17-32, and 33 or more tokens. --limit is the number of pairs of each
    kind. "METRIC P" and "METRIC R" are precision and recall; METRIC+chance is rescaled from the chance level.

    \b
    Examples:
      softset eval lengths --data DIR
      softset eval lengths --data DIR --metric 'bertscore R' --metric 'subspace+chance R' --limit 3000
      softset eval lengths --data DIR --out results --resume
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.data import DataFolder
    from softset.evaluation.lengths import METRICS, LengthEvaluation
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.sts_data import choose_datasets, read_datasets

    methods = choose_methods(metrics or METRICS, transport=transport, note=note)
    folder = DataFolder(shared.data)
    names = choose_datasets(split_commas(datasets))
    data = read_datasets(folder, names, text_form)
    facts = {"text": text_form, "datasets": names, "data": dict(sorted(folder.checksums.items()))}
    with ProgressBar("sentences") as progress:
        evaluation = LengthEvaluation(
            load_encoder(**options), methods, shared.samples, shared.seed, progress.note, progress, limit=shared.limit
        )
        settings = evaluation.settings(facts)
        shared.run("lengths", settings, lambda parts: evaluation.table(data, parts=parts, facts=facts))
