"""`softset eval wmt`: how well metrics agree with people on which of two translations is better."""

import sys
from collections.abc import Callable
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.eval_options import Asked, asked_options, note, noted
from softset.cli.progress import Progress

__all__ = ["wmt"]


@click.command(short_help="Judgements of translations: WMT18 to English.")
@click.option("--pair", "pairs", multiple=True, required=True, help="Such as cs-en; again for others, or all.")
@click.option(
    "--metrics",
    multiple=True,
    help="Some of them, as 'average,subspace', or all.  [default: bertscore and subspace in their forms, average]",
)
@click.option("--transport", is_flag=True, help="Let all include wmd and wrd, which take long.")
@encoder_options
@asked_options
def wmt(
    pairs: tuple[str, ...],
    metrics: tuple[str, ...],
    transport: bool,
    asked: Asked,
    **options: Any,
) -> None:
    """Measure how well metrics agree with people's judgements of single translations into English, by Kendall's tau.

    Of two translations that people told apart, a metric agrees if it scores the better one higher: tau is 1 if it
    always does, and -1 if it never does. Rows are F of each metric, its precision P and its recall R; +chance counts
    from the chance level. DIR holds wmt18/cs-en/ref.txt, hyp/SYSTEM.txt, darr.tsv and so on. Marks are of paired tests
    against bertscore, by draws of segments.

    \b
    Examples:
      softset eval wmt --data DIR --pair cs-en --layer 4
      softset eval wmt --data DIR --pair cs-en --pair tr-en --metrics 'bertscore,subspace(weights=l2)'
      softset eval wmt --data DIR --pair all --out results --resume
    """
    from softset.encoders.loading import load_encoder
    from softset.evaluation.data import DataFolder
    from softset.evaluation.methods import choose_methods
    from softset.evaluation.translations import METRICS, TranslationEvaluation, all_parts
    from softset.evaluation.translations_data import choose_pairs, read_pair
    from softset.io.checkpoint import checkpoint

    methods = all_parts(choose_methods(metrics or METRICS, transport=transport, note=note))
    folder = DataFolder(asked.data)
    given = [read_pair(folder, name, asked.limit) for name in choose_pairs(folder, pairs)]
    chrf, sacrebleu = _chrf()
    about = {"limit": asked.limit, "sacrebleu": sacrebleu, "data": dict(sorted(folder.checksums.items()))}
    progress = Progress("translations") if sys.stderr.isatty() else None
    run = TranslationEvaluation(
        load_encoder(**options), methods, asked.samples, asked.seed, noted(progress), progress, chrf=chrf
    )
    with checkpoint(asked.part("wmt"), run.settings(about), resume=asked.resume) as parts:
        table = run.table(given, parts=parts, facts={name: one for name, one in about.items() if one is not None})
        asked.show(table, "wmt")


def _chrf() -> tuple[Callable[[str, str], float] | None, str | None]:
    """Return sacrebleu's chrF and its version; where it is not installed that is told, and there are none."""
    from importlib.metadata import version

    from softset.errors import MissingExtraError
    from softset.evaluation.translations import CHRF, sentence_chrf

    try:
        return sentence_chrf(), version("sacrebleu")
    except MissingExtraError as error:
        note(f"left out: {CHRF} ({error})")
        return None, None
