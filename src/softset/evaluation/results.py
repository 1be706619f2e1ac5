"""What an evaluation finds: rows of numbers with intervals, and what made them."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from softset import __version__
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.checkpoint import PartFolder, load_or_compute

__all__ = ["Row", "Table", "load_rows"]


@dataclass(frozen=True)
class Row:
    """One number: what a method reaches on a dataset.

    Attributes:
        task: sts, sets or wmt.
        dataset: its name.
        method: what was measured.
        metric: in what, such as spearman or R@100.
        value: the number.
        n: over how many pairs, queries or judgements.
        low: where its interval begins.
        high: where it ends.
        p: of a paired test against the table's baseline.
        seconds: how long the method took, without encoding.
        default: whether this is what softset does unless told otherwise.
    """

    task: str
    dataset: str
    method: str
    metric: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    p: float | None = None
    seconds: float | None = None
    default: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it.

        >>> Row("sts", "STS12", "subspace", "spearman", 0.5, 100).to_dict()["value"]
        0.5
        """
        return asdict(self)


@dataclass(frozen=True)
class Table:
    """Rows and what made them: signatures, checksums of the data, seed, date.

    >>> table = Table("STS", (Row("sts", "STS12", "subspace", "spearman", 0.5, 100),), baseline="bertscore")
    >>> table.value("subspace", "STS12", "spearman")
    0.5
    """

    title: str
    rows: tuple[Row, ...]
    baseline: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of their first row."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each dataset with each metric, in the order of their first row."""
        return list(dict.fromkeys((row.dataset, row.metric) for row in self.rows))

    def row(self, method: str, dataset: str, metric: str) -> Row | None:
        """Return one row, if there is one.

        >>> Table("empty", ()).row("subspace", "STS12", "spearman") is None
        True
        """
        return next(
            (one for one in self.rows if (one.method, one.dataset, one.metric) == (method, dataset, metric)), None
        )

    def value(self, method: str, dataset: str, metric: str) -> float:
        """Return one number; a row that is not there is refused.

        >>> Table("empty", ()).value("subspace", "STS12", "spearman")
        Traceback (most recent call last):
        softset.errors.InputError: there is no spearman of subspace on STS12 in this table
        """
        found = self.row(method, dataset, metric)
        if found is None:
            raise InputError(f"there is no {metric} of {method} on {dataset} in this table")
        return found.value

    def to_json(self) -> str:
        """Return the rows as a JSON list.

        >>> Table("empty", ()).to_json()
        '[]'
        """
        return json.dumps([row.to_dict() for row in self.rows], allow_nan=False)

    def save(self, folder: str | os.PathLike[str], name: str) -> list[Path]:
        """Write NAME.json, with what made the numbers, and NAME.md to a folder; return the two paths.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Table("STS", (Row("sts", "STS12", "average", "spearman", 0.5, 100),)).save(folder, "sts")
        ...     Table.load(f"{folder}/sts.json").value("average", "STS12", "spearman")
        0.5
        """
        from softset.evaluation.rendering import as_markdown

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        facts = {"softset": __version__, "date": f"{datetime.now(UTC):%Y-%m-%d}", **self.facts}
        content = {"title": self.title, "baseline": self.baseline, "facts": facts}
        lines = ",\n".join(json.dumps(_short(row), allow_nan=False) for row in self.rows)  # one a line: diffs show it
        text = json.dumps(content, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]\n}}\n'
        paths = [target / f"{name}.json", target / f"{name}.md"]
        write_atomically(paths[0], text.encode())
        write_atomically(paths[1], as_markdown(Table(self.title, self.rows, self.baseline, facts)).encode())
        return paths

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Table":
        """Read the JSON file that `save` wrote.

        >>> Table.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        try:
            content = json.loads(Path(path).read_bytes())
            rows = tuple(Row(**row) for row in content["rows"])
            return cls(content["title"], rows, content["baseline"], content["facts"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"{path} holds no table of results ({error}): make it again") from None

    @classmethod
    def joined(cls, title: str, parts: Iterable["Table"], facts: dict[str, Any] | None = None) -> "Table":
        """Return the rows of several tables in one.

        >>> len(Table.joined("both", [Table("a", ()), Table("b", ())]).rows)
        0
        """
        tables: Sequence[Table] = list(parts)
        rows = tuple(row for table in tables for row in table.rows)
        return cls(title, rows, tables[0].baseline if tables else None, facts or {})


def _short(row: Row) -> dict[str, Any]:
    """Return what a row says beyond its defaults, with as many digits as the resampling tells."""
    said = {name: value for name, value in row.to_dict().items() if value is not None and value is not False}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in said.items()}


def load_rows(parts: PartFolder | None, key: str, compute: Callable[[], Sequence[Row]]) -> list[Row]:
    """Return the rows of a finished part of a run; those of a missing part are computed and written.

    >>> load_rows(None, "STS12", lambda: [Row("sts", "STS12", "average", "spearman", 0.5, 100)])[0].value
    0.5
    """
    return [Row(**row) for row in load_or_compute(parts, key, lambda: [row.to_dict() for row in compute()])]
