"""`softset eval lengths`: how scores move with the length of the texts."""

import sys
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.eval_options import Asked, asked_options, note, noted
from softset.cli.progress import Progress

__all__ = ["lengths"]


@click.command(short_help="How scores move with the length of the texts.")
@click.option("--datasets", multiple=True, help="Whose sentences, as STS12,STS-B.  [default: those of eval sts]")
@click.option("--text", type=click.Choice(["raw", "tokenised"]), help="How sentences are spelled.  [default: raw]")
@click.option(
    "--metrics",
    multiple=True,
    help="Some of them, as 'average,subspace P', or all.  [default: softset, subspace, bertscore, average]",
)
@click.option("--transport", is_flag=True, help="Let all include wmd and wrd, which take long.")
@encoder_options
@asked_options
def lengths(
    datasets: tuple[str, ...],
    text: Any,
    metrics: tuple[str, ...],
    transport: bool,
    asked: Asked,
    **options: Any,
) -> None:
    """Correlate scores with the number of tokens, of the reference and of the candidate: 0 if length does not matter.

    Pairs are unrelated, which are sentences of the STS datasets with random others, or alike, which are pairs of these
    datasets that people scored 4 or more of 5. Means are by the tokens of the reference: 1-8, 9-16, 17-32, 33 and more.
    --limit is of pairs of each kind, drawn by the seed. A metric may be followed by P or R for its precision or recall,
    and +chance counts it from its chance level.

    \b
    Examples:
      softset eval lengths --data DIR --layer 4
      softset eval lengths --data DIR --metrics 'bertscore R,subspace R,subspace+chance R' --limit 3000
      softset eval lengths --data DIR --out results --resume
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.data import DataFolder
    from softset.evaluation.lengths import METRICS, LengthEvaluation
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.sts_data import choose_datasets, read_datasets, text_form
    from softset.io.checkpoint import checkpoint

    methods = choose_methods(metrics or METRICS, transport=transport, note=note)
    folder = DataFolder(asked.data)
    names = choose_datasets([part.strip() for one in datasets for part in one.split(",")])
    given = read_datasets(folder, names, text, None)
    about = {"text": text_form(folder, text), "datasets": names, "data": dict(sorted(folder.checksums.items()))}
    progress = Progress("sentences") if sys.stderr.isatty() else None
    run = LengthEvaluation(
        load_encoder(**options), methods, asked.samples, asked.seed, noted(progress), progress, limit=asked.limit
    )
    with checkpoint(asked.part("lengths"), run.settings(about), resume=asked.resume) as parts:
        asked.show(run.table(given, parts=parts, facts=about), "lengths")
