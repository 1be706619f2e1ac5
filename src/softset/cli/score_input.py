"""The input of `softset score`: text files, texts on the command line, or fields of one file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from softset.cli import options as opt
from softset.cli.output import read_columns
from softset.errors import InputError

INPUT_HELP = "Input file with one pair per row: .csv, .tsv, .jsonl, .ndjson (each also with .gz) or .parquet."
REFERENCE_HELP = (
    "Column with the references: texts, or lists of texts; repeat for several references.  [default: reference]"
)

input_options = opt.add_options(
    opt.CANDIDATES,
    opt.option("-r", "--references", type=opt.TEXT_FILE, multiple=True),
    opt.option("--inline", is_flag=True, help="Read the values of -c and -r as texts, not as file names."),
    opt.option("--input", "path", type=opt.PATH, help=INPUT_HELP),
    opt.option("--candidate-field", help="Column with the candidates.  [default: candidate]"),
    opt.option("--reference-field", "reference_fields", multiple=True, help=REFERENCE_HELP),
    opt.option("--header", metavar="NAMES"),
)

INPUT_OPTIONS = ("candidates", "references", "inline", "path", "candidate_field", "reference_fields", "header")


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
