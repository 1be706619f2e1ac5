"""`softset eval wmt`: agreement of metrics with people on the better of two translations."""

from collections.abc import Callable
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.eval_options import TRANSPORT, EvalOptions, eval_options
from softset.cli.output import ProgressBar, note


@click.command(short_help="Evaluate on judgements of translations: WMT18 to English.")
@opt.option("--pair", "pairs", multiple=True, required=True, help="Language pair such as cs-en, or all.")
@opt.metrics(note="  [default: bertscore and subspace in their variants, average]")
@TRANSPORT
@opt.encoder_options
@eval_options
def wmt(pairs: tuple[str, ...], metrics: tuple[str, ...], transport: bool, shared: EvalOptions, **options: Any) -> None:
    """Measure the agreement of metrics with human judgements of translations into English by Kendall's tau.

    tau is 1 if a metric always scores the better of two translations higher, and -1 if it never does. Each metric has
    rows for its score, its precision P and its recall R; METRIC+chance is rescaled from the chance level. DIR holds
    wmt18/cs-en/ref.txt, hyp/SYSTEM.txt, darr.tsv and so on. Marks show paired tests against bertscore.

    \b
    Examples:
      softset eval wmt --data DIR --pair cs-en
      softset eval wmt --data DIR --pair cs-en --pair tr-en --metric bertscore --metric 'subspace(weights=l2)'
      softset eval wmt --data DIR --pair all --out results --resume
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.data import DataFolder
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.translations import METRICS, TranslationEvaluation, all_parts
    from softset.evaluation.translations_data import choose_pairs, read_pair

    methods = all_parts(choose_methods(metrics or METRICS, transport=transport, note=note))
    folder = DataFolder(shared.data)
    data = [read_pair(folder, name, shared.limit) for name in choose_pairs(folder, pairs)]
    chrf, sacrebleu = _chrf()
    facts = {"limit": shared.limit, "sacrebleu": sacrebleu, "data": dict(sorted(folder.checksums.items()))}
    with ProgressBar("translations") as progress:
        encoder = load_encoder(**options)
        evaluation = TranslationEvaluation(
            encoder, methods, shared.samples, shared.seed, progress.note, progress, chrf=chrf
        )
        known = {name: value for name, value in facts.items() if value is not None}
        settings = evaluation.settings(facts)
        shared.run("wmt", settings, lambda parts: evaluation.table(data, parts=parts, facts=known))


def _chrf() -> tuple[Callable[[str, str], float] | None, str | None]:
    """Return sacrebleu's chrF and its version, or report that sacrebleu is not installed."""
    from importlib.metadata import version

    from softset.errors import MissingExtraError
    from softset.evaluation.translations import CHRF, sentence_chrf

    try:
        return sentence_chrf(), version("sacrebleu")
    except MissingExtraError as error:
        note(f"left out: {CHRF} ({error})")
        return None, None
