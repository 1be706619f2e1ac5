"""`softset score`: the similarity of candidates and references, line by line."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import FLAGS, ProgressBar, note, on_interrupt, read_columns, warn_of_flags
from softset.errors import InputError
from softset.io.checkpoint import count_finished_rows, count_kept_rows, resumable_file
from softset.io.text import counted

PAIR_BLOCK = 1_024  # pairs that are scored together, and written together with --out
NUMBERS = ("precision", "recall", "score")
NOTHING = "nothing was written"
INPUT_HELP = "Input file with one pair per row: .csv, .tsv, .jsonl, .ndjson (each also with .gz) or .parquet."
REFERENCE_HELP = (
    "Column with the references: texts, or lists of texts; repeat for several references.  [default: reference]"
)

input_options = opt.add_options(
    opt.option("-c", "--candidates", type=opt.TEXT_FILE),
    opt.option("-r", "--references", type=opt.TEXT_FILE, multiple=True),
    opt.option("--inline", is_flag=True, help="Read the values of -c and -r as texts, not as file names."),
    opt.option("--input", "path", type=opt.PATH, help=INPUT_HELP),
    opt.option("--candidate-field", help="Column with the candidates.  [default: candidate]"),
    opt.option("--reference-field", "reference_fields", multiple=True, help=REFERENCE_HELP),
    opt.option("--header", metavar="NAMES"),
)

INPUT_OPTIONS = ("candidates", "references", "inline", "path", "candidate_field", "reference_fields", "header")


@click.command(short_help="Score texts against references.")
@input_options
@opt.METRIC
@opt.scorer_options
@opt.encoder_options
@opt.option("--jsonl", "as_jsonl", is_flag=True, help="Print one JSON object per pair, line by line.")
@opt.option("--json", "as_json", is_flag=True, help="Print one JSON object with the means and all pairs.")
@opt.option("--only-summary", is_flag=True, help="Print only the mean scores.")
@opt.option("--out", type=opt.PATH, help="Output file, created when the run is complete.  [default: standard output]")
@opt.option("--resume", is_flag=True)
def score(
    metric: str,
    out: str | None,
    resume: bool,
    as_jsonl: bool,
    as_json: bool,
    only_summary: bool,
    **options: Any,
) -> None:
    """Score each candidate against its reference.

    Candidates and references are lines of text files (-c, -r), texts (--inline), or columns of one file (--input).
    Text files may be compressed (.gz).

    Prints three numbers per pair: precision (over the candidate's tokens), recall (over the reference's tokens) and
    the score. With several references, a fourth column is the index of the best one, from 0; it is -1 for
    --multi-reference mean and union.

    \b
    Examples:
      softset score -c system.txt -r reference.txt
      softset score -c system.txt -r one.txt -r two.txt --multi-reference union --json
      softset score --input pairs.csv --candidate-field system --reference-field human
      softset score --input pairs.tsv.gz --header candidate,reference
      softset score -c system.txt -r reference.txt --metric 'subspace(weights=l2)' --rescale chance
      softset score --inline -c 'A red book.' -r 'The book is red.'
      softset score -c system.txt -r reference.txt --out scores.tsv --resume
    """
    if as_jsonl and as_json:
        raise click.UsageError("give --json or --jsonl, not both")
    if resume and not out:
        raise click.UsageError("--resume needs --out: it continues the run that writes this file")
    if out and (only_summary or as_json):
        raise click.UsageError("--out cannot be combined with --json or --only-summary: it writes one row per pair")
    texts = read_score_input(**{name: options.pop(name) for name in INPUT_OPTIONS})
    if out:
        texts.check_output(out)
        if resume and _is_complete(out, texts.size):
            return
    printer = ScorePrinter(
        multiple_references=texts.multiple_references, as_jsonl=as_jsonl, as_json=as_json, only_summary=only_summary
    )
    with on_interrupt(lambda: _kept_rows(out, printer, texts.size)):
        (scorer,) = opt.open_scorers((metric,), **options)
        idf = scorer.resolve_idf(texts.references())
        scorer = scorer.with_options(idf=idf)
        signature = scorer.signature(idf=idf, multiple_references=texts.multiple_references)
        made_by = {"signature": signature, "format": "jsonl" if as_jsonl else "tsv", **texts.made_by}
        with resumable_file(out, made_by, resume=resume) if out else nullcontext() as file:
            _score_rows(scorer, texts, printer, file)
    printer.print_summary(signature)


def _score_rows(scorer: Any, texts: "ScoreInput", printer: "ScorePrinter", file: Any) -> None:
    """Score the pairs block by block, after those that an interrupted run has finished."""
    with ProgressBar("pairs") as progress:
        printer.resume(file, texts.size)
        pairs = islice(texts.read(), printer.count, None)
        rows = scorer.stream(
            ((text, many if texts.multiple_references else many[0]) for text, many in pairs), block=PAIR_BLOCK
        )
        while block := list(islice(rows, PAIR_BLOCK)):
            printer.print_rows(block, file)
            progress(printer.count, texts.size)


def _is_complete(out: str, size: int) -> bool:
    """Return whether an earlier run has finished the output; a file with another number of rows is refused."""
    rows = count_finished_rows(out)
    if rows is None:
        return False
    if rows != size:
        raise InputError(
            f"{out} is complete with {counted(rows, 'row')}, but the input has {counted(size, 'pair')}: leave out "
            "--resume to replace it, or name another file"
        )
    note(f"{out} is complete already with {counted(rows, 'row')}: leave out --resume to compute it again")
    return True


def _kept_rows(out: str | None, printer: "ScorePrinter", size: int) -> str:
    """Return the sentence after an interruption: how many rows are kept, and how to continue."""
    if out:
        kept = count_kept_rows(out)
        return f"{kept:,} of {size:,} rows are in {out}.partial; add --resume to continue" if kept else NOTHING
    if printer.count and printer.prints_rows:
        return f"{printer.count:,} of {size:,} rows were printed; a run with --out FILE can be continued by --resume"
    return NOTHING


class ScorePrinter:
    """Prints rows to standard output or to a file, and the means at the end."""

    def __init__(self, *, multiple_references: bool, as_jsonl: bool, as_json: bool, only_summary: bool) -> None:
        self.multiple_references, self.prints_rows = multiple_references, not as_json and not only_summary
        self.as_jsonl, self.as_json, self.only_summary = as_jsonl, as_json, only_summary
        self.count, self.sums = 0, dict.fromkeys((*NUMBERS, *FLAGS), 0.0)
        self.segments: list[dict[str, Any]] = []

    def resume(self, file: Any, total: int) -> None:
        """Continue after the finished rows of an interrupted run."""
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
        elif self.prints_rows:
            click.echo("\n".join(map(self._line, fields)))

    def _line(self, fields: dict[str, Any]) -> str:
        if self.as_jsonl:
            return json.dumps(fields)
        numbers = [f"{fields[name]:.6f}" for name in NUMBERS]
        return "\t".join([*numbers, str(fields["best_reference"])] if self.multiple_references else numbers)

    def print_summary(self, signature: str) -> None:
        """Print the means: to standard error after rows, otherwise to standard output."""
        means = {name: self.sums[name] / self.count for name in NUMBERS}
        shown = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        if self.as_json:
            facts = {"signature": signature, **means, "pairs": self.count}
            click.echo(json.dumps(facts if self.only_summary else {**facts, "segments": self.segments}))
        elif self.only_summary:
            click.echo(shown)
        else:
            note(f"{counted(self.count, 'pair')}  {shown}")
        note(signature)
        warn_of_flags(self.sums)


@dataclass(frozen=True, eq=False)
class ScoreInput:
    """The pairs to score, read as often as needed.

    Attributes:
        read: returns an iterator over the pairs (candidate, references).
        size: the number of pairs.
        multiple_references: whether a candidate has several references.
        made_by: checksums of the input.
        paths: the input files.
    """

    read: Callable[[], Iterator[tuple[str, list[str]]]]
    size: int
    multiple_references: bool
    made_by: dict[str, str]
    paths: tuple[str, ...] = ()

    def references(self) -> Iterator[str]:
        """Yield all references."""
        return (text for _, texts in self.read() for text in texts)

    def check_output(self, out: str) -> None:
        """Raise InputError if the output would replace an input."""
        if out == "-":
            raise InputError("--out needs a file name: leave it out to print the scores")
        for path in self.paths:
            if path != "-" and Path(out).exists() and Path(out).samefile(path):
                raise InputError(f"--out {out} is the input file {path}: name another file")


def read_score_input(
    *,
    candidates: str | None,
    references: tuple[str, ...],
    inline: bool,
    path: str | None,
    candidate_field: str | None,
    reference_fields: tuple[str, ...],
    header: str | None,
) -> ScoreInput:
    """Return the input that the options name; two kinds of input at once are refused."""
    fields = {"--candidate-field": candidate_field, "--reference-field": reference_fields, "--header": header}
    if path is not None:
        given = {"-c": candidates, "-r": references, "--inline": inline}
        _refuse(given, "cannot be combined with --input: name its columns by --candidate-field and --reference-field")
        return _read_fields(path, candidate_field, reference_fields, header)
    _refuse(fields, "needs --input FILE")
    if candidates is None or not references:
        raise click.UsageError("give candidates (-c) and references (-r), or one file with both: --input FILE")
    texts = (candidates, *references)
    columns: list[Any] = [[text] for text in texts] if inline else _read_files(texts)
    keys = [repr(column) if inline else column.checksum for column in columns]
    made_by = {"candidates": keys[0], "references": " ".join(keys[1:])}
    paths = () if inline else texts

    def read() -> Iterator[tuple[str, list[str]]]:
        return ((candidate, others) for candidate, *others in zip(*columns, strict=True))

    return ScoreInput(read, len(columns[0]), len(references) > 1, made_by, paths)


def _read_files(paths: tuple[str, ...]) -> list[Any]:
    try:
        return list(read_columns(paths))
    except FileNotFoundError as error:
        if " " not in str(error.filename):
            raise
        raise InputError(f"{error.filename}: {error.strerror}; add --inline if this is a text") from error


def _refuse(options: dict[str, Any], reason: str) -> None:
    for flag, value in options.items():
        if value:
            raise click.UsageError(f"{flag} {reason}")


def _read_fields(path: str, candidate: str | None, references: tuple[str, ...], header: str | None) -> ScoreInput:
    from softset.collections.pair_file import PairFile

    names = None if header is None else [name.strip() for name in header.split(",")]
    pairs = PairFile(path, candidate or "candidate", references or ("reference",), header=names)
    return ScoreInput(pairs.__iter__, len(pairs), pairs.has_multiple_references, {"input": pairs.checksum}, (path,))
