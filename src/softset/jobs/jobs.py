"""Jobs from Parquet files to Parquet files: blocks of rows in, a part for each out, by actors on Ray.

A maker turns a table of rows into one of results, with the rows' ids and a problem where there is no result. An actor
keeps it, and with it the model.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from softset.errors import InputError, SoftsetError
from softset.jobs.cluster import cluster
from softset.jobs.inputs import Span, content_hash, read_blocks, spans_of
from softset.jobs.output import ParquetParts

__all__ = ["FAULTS", "Job", "Progress", "Report", "mapped", "output_folder", "run"]

FAULTS = (SoftsetError, OSError, ValueError, TypeError, AttributeError, MemoryError)  # of a file, not of the cluster
TOLD = 100  # rows without a result of which the report says why
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Report:
    """What a job did.

    Attributes:
        rows: rows in the output.
        made: of these, what this run made; the others were there already.
        rejected: rows that have no result.
        problems: (id, sentence) of the first of these.
        dropped: parts of an earlier run whose rows are no longer in the input, and were deleted.
        signature: what made the results.
    """

    rows: int
    made: int
    rejected: int
    problems: tuple[tuple[str, str], ...]
    dropped: int
    signature: str


@dataclass(frozen=True)
class Job:
    """All that a worker must know: where results go, what they depend on, and what makes them."""

    output: str
    signature: str
    columns: tuple[str, ...]
    block: int
    maker: Callable[..., Callable[[Any], Any]]
    options: dict[str, Any] = field(default_factory=dict)


class _Worker:
    """An actor that reads spans, makes what is missing, and writes parts."""

    def __init__(self, job: Job) -> None:
        self.job, self.parts = job, ParquetParts(job.output)
        self.maker: Callable[[Any], Any] | None = None  # made, with its model, when the first block is missing

    def __call__(self, table: Any) -> Any:
        """Return for each span what was done, or the sentence of the error that ended it."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._span(Span(**one)) for one in table.to_pylist()], schema=_outcome())

    def _span(self, span: Span) -> dict[str, Any]:
        done: dict[str, Any] = {"keys": [], "rows": 0, "made": 0, "rejected": 0, "problems": [], "error": None}
        try:
            for at, table in read_blocks(span, self.job.columns, block=self.job.block):
                self._block(span, at, table, done)
        except FAULTS as error:
            done["error"] = f"{span.name}: {_sentence(error)}"
        return done

    def _block(self, span: Span, at: int, table: Any, done: dict[str, Any]) -> None:
        key = content_hash(self.job.signature, span, at, table)
        if not self.parts.has(key, table.num_rows):
            self.maker = self.maker or self.job.maker(**self.job.options)
            made = self.maker(table)
            self.parts.write_table(key, made.replace_schema_metadata({"softset": self.job.signature}))
        done["made"] += table.num_rows if self.parts.is_new(key) else 0
        done["keys"].append(key)
        done["rows"] += table.num_rows
        problems = self.parts.problems(key)
        done["rejected"] += len(problems)
        done["problems"] += [list(one) for one in problems[:TOLD]]


def _sentence(error: BaseException) -> str:
    told = str(error).splitlines()
    return told[0][:300] if told else type(error).__name__


def _outcome() -> Any:
    import pyarrow as pa

    whole, texts = pa.int64(), pa.list_(pa.string())
    counts = [("rows", whole), ("made", whole), ("rejected", whole)]
    return pa.schema([("keys", texts), *counts, ("problems", pa.list_(texts)), ("error", pa.string())])


def run(
    job: Job, pattern: str, *, address: str | None, workers: int, progress: Progress | None, drop: bool = False
) -> Report:
    """Do a job over the files of a pattern; what is finished already is not done again."""
    if job.block < 1:
        raise InputError(f"a block must have 1 row or more, but {job.block} were given")
    spans = spans_of(pattern, job.columns, block=job.block)
    parts = ParquetParts(job.output)
    total = _Total()
    with parts.locked({"signature": job.signature}):
        with cluster(address, workers) as ray:
            for done in mapped(ray, _Worker, spans, workers, job):
                total.add(done)
                if progress is not None:
                    progress(total.spans, len(spans))
        facts = {"rows": total.rows, "rejected": total.rejected}
        dropped = parts.finish(job.signature, total.keys, facts, drop=drop)
    return Report(total.rows, total.made, total.rejected, tuple(total.problems[:TOLD]), dropped, job.signature)


def mapped(ray: Any, actor: type, spans: Sequence[Span], workers: int, *given: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows that actors make of spans, as they come; one that dies is replaced, and its span done again."""
    tasks = ray.data.from_items([asdict(span) for span in spans], override_num_blocks=len(spans))
    found = tasks.map_batches(
        actor,
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(spans))),
        num_cpus=1,
        fn_constructor_args=given,
    )
    yield from found.iter_rows()


class _Total:
    """The sums over all spans."""

    def __init__(self) -> None:
        self.spans = self.rows = self.made = self.rejected = 0
        self.keys: list[str] = []
        self.problems: list[tuple[str, str]] = []

    def add(self, done: dict[str, Any]) -> None:
        """Count what was done for a span; the first error ends the job, and what is written stays."""
        if done["error"] is not None:
            raise InputError(f"{done['error']}; what is finished stays, and a second run goes on from there")
        self.spans += 1
        self.keys += list(done["keys"])
        self.rows, self.made = self.rows + done["rows"], self.made + done["made"]
        self.rejected += done["rejected"]
        self.problems += [(str(name), str(problem)) for name, problem in done["problems"]][: TOLD - len(self.problems)]


def output_folder(folder: str | os.PathLike[str]) -> str:
    """Return a folder as every worker names it."""
    return str(ParquetParts(folder).folder.resolve())
