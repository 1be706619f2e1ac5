"""`softset score`: the similarity of candidates and references, line by line."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import FLAGS, ProgressBar, note, on_interrupt, read_columns, warn_of_flags
from softset.errors import InputError
from softset.io.text import counted

PAIR_BLOCK = 1_024  # pairs that are scored, and with --out written, together
NUMBERS = ("precision", "recall", "score")


@click.command(short_help="Score texts against references.")
@opt.CANDIDATES
@opt.REFERENCES
@opt.option("--inline", is_flag=True, help="Read the values of -c and -r as texts, not as file names.")
@opt.METRIC
@opt.scorer_options
@opt.encoder_options
@opt.option("--jsonl", "as_jsonl", is_flag=True, help="Print one JSON object per pair, line by line.")
@opt.option("--json", "as_json", is_flag=True, help="Print one JSON object with the means and all pairs.")
@opt.option("--only-summary", is_flag=True, help="Print only the mean scores.")
@opt.option("--out", type=opt.PATH, help="Output file, created when the run is complete.  [default: standard output]")
@opt.option("--resume", is_flag=True)
def score(
    candidates: str,
    references: tuple[str, ...],
    inline: bool,
    metric: str,
    out: str | None,
    resume: bool,
    as_jsonl: bool,
    as_json: bool,
    only_summary: bool,
    **options: Any,
) -> None:
    """Score each candidate against its reference.

    Prints three numbers per pair: precision (over the candidate's tokens), recall (over the reference's tokens) and
    the score. With several references, a fourth column is the index of the best one, from 0; it is -1 for
    --multi-reference mean and union.

    \b
    Examples:
      softset score -c system.txt -r reference.txt
      softset score -c system.txt -r one.txt -r two.txt --multi-reference union --json
      softset score -c system.txt -r reference.txt --metric 'subspace(weights=l2)' --rescale chance
      softset score --inline -c 'A red book.' -r 'The book is red.'
      softset score -c system.txt -r reference.txt --out scores.tsv --resume
    """
    from softset.io.checkpoint import resumable_file

    if as_jsonl and as_json:
        raise click.UsageError("give --json or --jsonl, not both")
    if resume and not out:
        raise click.UsageError("--resume needs --out: it continues the run that writes this file")
    if out and (only_summary or as_json):
        raise click.UsageError("--out cannot be combined with --json or --only-summary: it writes one row per pair")
    paths = (candidates, *references)
    columns: list[Any] = [[text] for text in paths] if inline else list(read_columns(paths))
    if out:
        _check_output(out, () if inline else paths)
    (scorer,) = opt.open_scorers((metric,), **options)
    weights = scorer.resolve_idf(line for column in columns[1:] for line in column)
    several = len(references) > 1
    signature = scorer.signature(idf=weights, multiple_references=several)
    printer = ScorePrinter(signature, several=several, as_jsonl=as_jsonl, as_json=as_json, only_summary=only_summary)
    keys = [repr(column) if inline else column.checksum for column in columns]
    made_by = {"signature": signature, "format": "jsonl" if as_jsonl else "tsv"}
    made_by |= {"candidates": keys[0], "references": " ".join(keys[1:])}
    output = resumable_file(out, made_by, resume=resume) if out else nullcontext()

    def finished() -> str:
        if not out or not printer.count:
            return "nothing was written"
        return f"{printer.count:,} of {len(columns[0]):,} rows are in {out}.partial; add --resume to continue"

    with on_interrupt(finished), output as file, ProgressBar("pairs") as progress:
        printer.resume(file, len(columns[0]))
        lines = islice(zip(*columns, strict=True), printer.count, None)
        pairs = ((candidate, list(texts) if several else texts[0]) for candidate, *texts in lines)
        rows = scorer.with_options(idf=weights).stream(pairs, block=PAIR_BLOCK)
        while block := list(islice(rows, PAIR_BLOCK)):
            printer.print_rows(block, file)
            progress(printer.count, len(columns[0]))
    printer.print_summary()


def _check_output(out: str, paths: Sequence[str]) -> None:
    """Raise InputError if the output would replace an input."""
    if out == "-":
        raise InputError("--out needs a file name: leave it out to print the scores")
    for path in paths:
        if path != "-" and Path(out).exists() and Path(out).samefile(path):
            raise InputError(f"--out {out} is the input file {path}: name another file")


class ScorePrinter:
    """Prints rows to standard output or to a file, and the means at the end."""

    def __init__(self, signature: str, *, several: bool, as_jsonl: bool, as_json: bool, only_summary: bool) -> None:
        self.signature, self.several = signature, several
        self.as_jsonl, self.as_json, self.only_summary = as_jsonl, as_json, only_summary
        self.count, self.sums = 0, dict.fromkeys((*NUMBERS, *FLAGS), 0.0)
        self.segments: list[dict[str, Any]] = []

    def resume(self, file: Any, total: int) -> None:
        """Take over the finished rows of an interrupted run."""
        if file is not None and file.rows:
            note(f"continuing after {file.rows:,} of {total:,} rows")
            self.count, self.sums = file.rows, {name: file.counts.get(name, 0.0) for name in self.sums}

    def print_rows(self, rows: Sequence[Any], file: Any) -> None:
        """Print rows, or write them to the file, and add them to the means."""
        fields = [row._asdict() for row in rows]
        self.count += len(rows)
        for name in self.sums:
            self.sums[name] += sum(row.get(name, 0) for row in fields)
        if file is not None:
            file.append(map(self._line, fields), self.sums)
        elif self.as_json:
            self.segments += fields
        elif not self.only_summary:
            click.echo("\n".join(map(self._line, fields)))

    def _line(self, fields: dict[str, Any]) -> str:
        if self.as_jsonl:
            return json.dumps(fields)
        numbers = [f"{fields[name]:.6f}" for name in NUMBERS]
        return "\t".join([*numbers, str(fields["best_reference"])] if self.several else numbers)

    def print_summary(self) -> None:
        """Print the means: to standard error after rows, otherwise to standard output."""
        means = {name: self.sums[name] / self.count for name in NUMBERS}
        shown = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        if self.as_json:
            facts = {"signature": self.signature, **means, "pairs": self.count}
            click.echo(json.dumps(facts if self.only_summary else {**facts, "segments": self.segments}))
        elif self.only_summary:
            click.echo(shown)
        else:
            note(f"{counted(self.count, 'pair')}  {shown}")
        note(self.signature)
        warn_of_flags(self.sums)
