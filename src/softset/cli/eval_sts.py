"""`softset eval sts`: how well metrics agree with people on how alike two sentences are."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.eval_options import Asked, asked_options, note, noted
from softset.cli.progress import Progress

__all__ = ["sts"]


@click.command(short_help="Similarity of sentences: STS12 to STS16, STS-B, SICK-R.")
@click.option("--datasets", multiple=True, help="Some of them, as STS12,STS-B; STSB-dev and others for tuning.")
@click.option("--text", type=click.Choice(["raw", "tokenised"]), help="How sentences are spelled.  [default: raw]")
@click.option(
    "--metrics", multiple=True, default=("all",), show_default="all", help="Some of them, as 'average,subspace P'."
)
@click.option("--transport", is_flag=True, help="Let all include wmd and wrd, which take long.")
@click.option("--all-correlations", is_flag=True, help="Pearson's r and the mean over sub-datasets as well.")
@click.option("--table", "number", type=click.Choice(["1", "6"]), default="1", help="The paper's table 6 instead of 1.")
@click.option("--paper-code", type=click.IntRange(1), metavar="BATCH", help="Also with marks and padding as tokens.")
@encoder_options
@asked_options
def sts(
    datasets: tuple[str, ...],
    text: Any,
    metrics: tuple[str, ...],
    transport: bool,
    all_correlations: bool,
    number: str,
    paper_code: int | None,
    asked: Asked,
    **options: Any,
) -> None:
    """Correlate metrics with people's judgements of pairs of sentences: Spearman's rho over all pairs of a dataset.

    DIR holds sts/raw/STS12.tsv and so on, or is SentEval's own folder. A metric may be followed by P or R for its
    precision or recall, and +chance counts it from its chance level. Marks are of paired tests against bertscore.

    \b
    Examples:
      softset eval sts --data DIR --layer 4
      softset eval sts --data DIR --datasets STSB-dev --metrics 'bertscore,subspace(weights=l2),subspace+chance'
      softset eval sts --data DIR --out results --resume
      softset eval sts --data DIR --metrics bertscore,subspace --paper-code 32
      softset eval sts --data DIR --table 6
    """
    from softset.evaluation.data import DataFolder
    from softset.evaluation.sts_data import choose_datasets, read_datasets, text_form

    folder = DataFolder(asked.data)
    names = choose_datasets([part.strip() for one in datasets for part in one.split(",")])
    given = read_datasets(folder, ["STS-B"] if number == "6" and not datasets else names, text, asked.limit)
    about = {"text": text_form(folder, text), "limit": asked.limit, "data": dict(sorted(folder.checksums.items()))}
    make = Maker(metrics, transport, all_correlations, paper_code, asked.samples, asked.seed, options)
    name = "sts" if number == "1" else "sts-layers"
    make_table = make.table if number == "1" else make.layers
    with make_table(given, about, asked.part(name), asked.resume) as table:
        asked.show(table, name)


@dataclass(frozen=True)
class Maker:
    """Makes the table that the options ask for."""

    metrics: tuple[str, ...]
    transport: bool
    every: bool
    batch: int | None
    samples: int
    seed: int
    options: dict[str, Any]

    @contextmanager
    def table(self, given: Any, about: dict[str, Any], folder: Path | None, resume: bool) -> Iterator[Any]:
        """Yield the table of metrics on datasets; its checkpoint is deleted after the block."""
        from softset.io.checkpoint import checkpoint

        run = self._run(self.metrics, self.options)
        made_by = run.settings({**about, "datasets": [one.name for one in given]})
        with checkpoint(folder, made_by, resume=resume) as parts:
            yield run.table(given, parts=parts, facts=about)

    @contextmanager
    def layers(self, given: Any, about: dict[str, Any], folder: Path | None, resume: bool) -> Iterator[Any]:
        """Yield the table of single vectors and sets of vectors on two layers; its checkpoint is deleted afterwards."""
        from softset.evaluation.sts import LAYER_METHODS, LAYERS, compare_layers
        from softset.io.checkpoint import checkpoint

        if len(given) > 1:
            raise click.UsageError("--table 6 has one dataset: name one with --datasets")
        if self.options["layer"] != "last":
            raise click.UsageError("--table 6 compares two layers of its own: leave --layer")
        metrics = LAYER_METHODS if self.metrics == ("all",) else self.metrics
        runs = [self._run(metrics, {**self.options, "layer": layer}) for layer in LAYERS]
        made_by = {"layers": [run.settings(about) for run in runs], "datasets": [one.name for one in given]}
        with checkpoint(folder, made_by, resume=resume) as parts:
            yield compare_layers(runs, given[0], parts=parts, facts=about)

    def _run(self, metrics: tuple[str, ...], options: dict[str, Any]) -> Any:
        from softset.encoders.loading import load_encoder
        from softset.evaluation.methods import choose_methods
        from softset.evaluation.sts import StsEvaluation

        methods = choose_methods(metrics, transport=self.transport, note=note)
        encoder = load_encoder(**options)
        progress = Progress("sentences") if sys.stderr.isatty() else None
        return StsEvaluation(
            encoder,
            methods,
            self.samples,
            self.seed,
            noted(progress),
            progress,
            all_correlations=self.every,
            padded_batch=self.batch,
        )
