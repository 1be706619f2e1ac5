"""`softset score`: how alike candidates are to their references, line by line."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from softset.cli.encoder_options import encoder_options
from softset.cli.flags import FLAGS, told_flags
from softset.cli.lines import TextFile
from softset.cli.metric_options import metric_options, read_metric_options
from softset.cli.progress import Progress
from softset.errors import InputError

__all__ = ["score"]

BLOCK = 1_024  # pairs: what is scored, and with --out written, at once
PARTS = ("precision", "recall", "score")


@click.command(short_help="Score texts against references.")
@click.option("-c", "--candidates", required=True, help="A file with one candidate a line; - is standard input.")
@click.option(
    "-r", "--references", multiple=True, required=True, help="Its references, line by line; again for others."
)
@click.option("--text", is_flag=True, help="What -c and -r give are the texts themselves, not files.")
@click.option("--metric", default="softset", show_default=True, help="A metric, such as 'subspace(weights=l2)'.")
@metric_options
@encoder_options
@click.option(
    "--jsonl", "as_lines", is_flag=True, help="Print one JSON object a pair instead of tab-separated numbers."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: means, signature and all segments.")
@click.option("--only-summary", is_flag=True, help="Print the means alone.")
@click.option("--out", type=click.Path(), help="Write the rows to a file, which appears when it is whole.")
@click.option("--resume", is_flag=True, help="Go on with the --out of a run that was interrupted.")
def score(
    candidates: str,
    references: tuple[str, ...],
    text: bool,
    metric: str,
    rescale: str | None,
    multi_reference: str,
    idf: str | None,
    as_lines: bool,
    as_json: bool,
    only_summary: bool,
    out: str | None,
    resume: bool,
    model: str,
    **options: Any,
) -> None:
    """Score each candidate against its reference: precision over its tokens, recall over the reference's, and F.

    Prints precision, recall and F of each pair, and with several references which of them counted (from 0).

    \b
    Examples:
      softset score -c system.txt -r reference.txt
      softset score -c system.txt -r one.txt -r two.txt --multi-reference union --json
      softset score -c system.txt -r reference.txt --metric 'subspace(weights=l2)' --layer 4 --rescale chance
      softset score --text -c 'A red book.' -r 'The book is red.'
      softset score -c system.txt -r reference.txt --out scores.tsv --resume
    """
    from softset.similarity.scorer import Scorer

    _check_options(as_lines=as_lines, as_json=as_json, only_summary=only_summary, out=out, resume=resume)
    columns = _columns(candidates, references, literal=text)
    if out:
        _check_not_read(out, () if text else (candidates, *references))
    scorer = Scorer(model, metric=metric, **read_metric_options(rescale, multi_reference, idf), **options)
    if idf and not scorer.metric.needs_idf:
        raise click.UsageError(f"--idf has no effect on {scorer.metric}: give it weights=idf, or leave --idf out")
    scorer.idf = scorer.weights_for(line for column in columns[1:] for line in column)
    show = Printer(as_lines=as_lines, as_json=as_json, only_summary=only_summary, multi_reference=len(references) > 1)
    show.signature = scorer.signature(idf=scorer.idf, multi_reference=len(references) > 1)
    rows = _rows(scorer, columns)
    if out:
        show.to_file(rows, out, _inputs(columns), len(columns[0]), resume=resume)
    else:
        show.all(rows(0))
    show.summary()


def _check_options(*, as_lines: bool, as_json: bool, only_summary: bool, out: str | None, resume: bool) -> None:
    if as_lines and as_json:
        raise click.UsageError("give --json or --jsonl, not both")
    if resume and not out:
        raise click.UsageError("--resume goes on with a file: name it with --out")
    if out and (only_summary or as_json):
        raise click.UsageError("--out takes rows, as tab-separated numbers or with --jsonl")


def _columns(candidates: str, references: Sequence[str], *, literal: bool) -> list[Any]:
    """Return the candidates and each column of references, of which each must have as many."""
    if literal:
        return [[candidates], *([one] for one in references)]
    if (candidates, *references).count("-") > 1:
        raise InputError("standard input can be read only once: name files for the others")
    columns = [TextFile(path) for path in (candidates, *references)]
    for column in columns[1:]:
        if len(column) != len(columns[0]):
            raise InputError(
                f"{columns[0].name} has {len(columns[0]):,} lines but {column.name} has {len(column):,}: as many were "
                "wanted in each (texts themselves are given with --text)"
            )
    if not len(columns[0]):
        raise InputError(f"{columns[0].name} is empty: one text a line was wanted")
    return columns


def _check_not_read(out: str, paths: Sequence[str]) -> None:
    """Refuse to write the scores over the texts."""
    if out == "-":
        raise InputError("--out - names no file: without --out the scores go to standard output")
    for path in paths:
        if path != "-" and Path(out).exists() and Path(out).samefile(path):
            raise InputError(f"--out {out} is the file {path} that is read: name another one")


def _inputs(columns: Sequence[Any]) -> dict[str, str]:
    """Return what tells these inputs from others."""
    if not isinstance(columns[0], TextFile):
        return {"candidates": repr(columns[0]), "references": repr(columns[1:])}
    return {"candidates": columns[0].checksum, "references": " ".join(one.checksum for one in columns[1:])}


def _rows(scorer: Any, columns: Sequence[Any]) -> Any:
    """Return a function that yields the scores of the lines from one on, in blocks."""

    def scored(start: int) -> Iterator[list[Any]]:
        progress = Progress("pairs") if sys.stderr.isatty() else None
        lines, done, total = islice(zip(*columns, strict=True), start, None), start, len(columns[0])
        while some := list(islice(lines, BLOCK)):
            references = [one[1] for one in some] if len(columns) == 2 else [list(one[1:]) for one in some]
            yield list(scorer.score([one[0] for one in some], references))
            done += len(some)
            if progress:
                progress(done, total)
        if progress:
            progress.done()

    return scored


class Printer:
    """Prints rows as they come, and counts what the summary tells."""

    def __init__(self, *, as_lines: bool, as_json: bool, only_summary: bool, multi_reference: bool) -> None:
        self.as_lines, self.as_json, self.only_summary, self.multi_reference = (
            as_lines,
            as_json,
            only_summary,
            multi_reference,
        )
        self.signature = ""
        self.count, self.sums = 0, dict.fromkeys((*PARTS, *FLAGS), 0.0)
        self.kept: list[dict[str, Any]] = []

    def all(self, blocks: Iterable[list[Any]]) -> None:
        """Print the rows of all blocks, unless only the summary is wanted."""
        for rows in blocks:
            for row in rows:
                fields = row._asdict()
                self._count(fields)
                if self.as_json and not self.only_summary:
                    self.kept.append(fields)
                elif not self.as_json and not self.only_summary:
                    click.echo(self._line(fields))

    def to_file(self, rows: Any, out: str, inputs: dict[str, str], total: int, *, resume: bool) -> None:
        """Write the rows to a file, and go on where it ends."""
        from softset.io.checkpoint import resumable_file

        made_by = {"signature": self.signature, "format": "jsonl" if self.as_lines else "tsv", **inputs}
        with resumable_file(out, made_by, resume=resume) as file:
            if file.rows:
                click.echo(f"softset: {file.rows:,} of {total:,} rows were there already", err=True)
                self.count, self.sums = file.rows, {name: file.counts.get(name, 0.0) for name in self.sums}
            for block in rows(file.rows):
                fields = [row._asdict() for row in block]
                for one in fields:
                    self._count(one)
                file.append((self._line(one) for one in fields), self.sums)

    def _line(self, fields: dict[str, Any]) -> str:
        if self.as_lines:
            return json.dumps(fields)
        numbers = [f"{fields[name]:.6f}" for name in PARTS]
        return "\t".join([*numbers, str(fields["best_reference"])] if self.multi_reference else numbers)

    def _count(self, fields: dict[str, Any]) -> None:
        self.count += 1
        for name in self.sums:
            self.sums[name] += fields.get(name, 0)

    def summary(self) -> None:
        """Tell the means: on standard error beside rows, on standard output where they are all that is asked for."""
        means = {name: self.sums[name] / self.count for name in PARTS}
        told = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        if self.as_json:
            facts = {"signature": self.signature, **means, "pairs": self.count}
            click.echo(json.dumps(facts if self.only_summary else {**facts, "segments": self.kept}))
        elif self.only_summary:
            click.echo(told)
        if not self.as_json and not self.only_summary:
            click.echo(f"softset: {self.count:,} pair{'s' * (self.count != 1)}  {told}", err=True)
        click.echo(f"softset: {self.signature}", err=True)
        self._warn()

    def _warn(self) -> None:
        """Say what a person should know before trusting the means."""
        for sentence in told_flags({name: int(self.sums[name]) for name in FLAGS}):
            click.echo(f"softset: {sentence}", err=True)
