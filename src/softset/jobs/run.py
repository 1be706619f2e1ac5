"""Run a job on Ray: blocks of Parquet rows in, one Parquet file for each block out.

Each Ray actor loads the model once, as a function from a table of input rows to a table of results. A result table has
the ids of the rows, and a problem for each row without a result.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from softset.encoders.loading import EncoderOptions
from softset.errors import InputError, SoftsetError
from softset.io.text import first_line
from softset.jobs.cluster import cluster
from softset.jobs.inputs import BlockSpan, content_hash, list_spans, read_blocks
from softset.jobs.output import ParquetParts

__all__ = [
    "INPUT_ERRORS",
    "JobReport",
    "JobSettings",
    "Progress",
    "map_spans",
    "output_folder",
    "run_job",
    "with_one_thread",
]

INPUT_ERRORS = (SoftsetError, OSError, ValueError, TypeError, AttributeError, MemoryError)  # not errors of the cluster
MAX_PROBLEMS = 100  # problems that a report lists
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class JobReport:
    """The result of a job.

    Attributes:
        rows: the rows of the output.
        made: the rows that this run has computed; the others were finished before.
        rejected: the rows without a result.
        problems: (id, message) of the first of these.
        dropped: deleted parts of an earlier run, whose rows are no longer in the input.
        signature: everything that the results depend on.
    """

    rows: int
    made: int
    rejected: int
    problems: tuple[tuple[str, str], ...]
    dropped: int
    signature: str


@dataclass(frozen=True)
class JobSettings:
    """What a worker needs: the output folder, the signature of the results, the input columns, and how to compute.

    `make` is called once in each worker with `options`; it returns the function from input tables to result tables.
    """

    output: str
    signature: str
    columns: tuple[str, ...]
    block: int
    make: Callable[..., Callable[[Any], Any]]
    options: dict[str, Any] = field(default_factory=dict)


class _JobWorker:
    """A Ray actor that reads spans, computes the missing blocks, and writes them."""

    def __init__(self, job: JobSettings) -> None:
        self.job, self.parts = job, ParquetParts(job.output)
        self.compute: Callable[[Any], Any] | None = None  # loaded when the first block is missing

    def __call__(self, table: Any) -> Any:
        """Return a row for each span: its counts, or the message of the error that ended it."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._span(BlockSpan(**row)) for row in table.to_pylist()], schema=_schema())

    def _span(self, span: BlockSpan) -> dict[str, Any]:
        outcome: dict[str, Any] = {"keys": [], "rows": 0, "made": 0, "rejected": 0, "problems": [], "error": None}
        try:
            for number, table in read_blocks(span, self.job.columns, block=self.job.block):
                self._block(content_hash(self.job.signature, span, number, table), table, outcome)
        except INPUT_ERRORS as error:
            outcome["error"] = f"{span.name}: {first_line(error)[:300]}"
        return outcome

    def _block(self, key: str, table: Any, outcome: dict[str, Any]) -> None:
        """Write the part of a block if it is missing, and add it to the counts of its span."""
        if not self.parts.has(key, table.num_rows):
            self.compute = self.compute or self.job.make(**self.job.options)
            results = self.compute(table)
            self.parts.write_table(key, results.replace_schema_metadata({"softset": self.job.signature}))
        problems = self.parts.problems(key)
        outcome["keys"].append(key)
        outcome["rows"] += table.num_rows
        outcome["made"] += table.num_rows if self.parts.is_new(key) else 0
        outcome["rejected"] += len(problems)
        outcome["problems"] += [list(problem) for problem in problems[:MAX_PROBLEMS]]


def _schema() -> Any:
    """Return the Arrow schema of the rows that workers return."""
    import pyarrow as pa

    count, texts = pa.int64(), pa.list_(pa.string())
    counts = [("rows", count), ("made", count), ("rejected", count)]
    return pa.schema([("keys", texts), *counts, ("problems", pa.list_(texts)), ("error", pa.string())])


def run_job(
    job: JobSettings, pattern: str, *, address: str | None, workers: int, progress: Progress | None, drop: bool = False
) -> JobReport:
    """Run a job over the files that match a pattern; finished blocks are not computed again."""
    if job.block < 1:
        raise InputError(f"a block must have at least 1 row, but {job.block} were given")
    spans = list_spans(pattern, job.columns, block=job.block)
    parts = ParquetParts(job.output)
    keys: list[str] = []
    totals = dict.fromkeys(("rows", "made", "rejected"), 0)
    problems: list[tuple[str, str]] = []
    with parts.locked({"signature": job.signature}):
        with cluster(address, workers) as ray:
            for done, outcome in enumerate(map_spans(ray, _JobWorker, spans, workers, job), start=1):
                if outcome["error"] is not None:
                    raise InputError(f"{outcome['error']}; finished parts are kept, and the next run continues")
                keys += outcome["keys"]
                totals = {name: total + outcome[name] for name, total in totals.items()}
                problems += [(str(name), str(problem)) for name, problem in outcome["problems"]]
                if progress is not None:
                    progress(done, len(spans))
        header = {"rows": totals["rows"], "rejected": totals["rejected"]}
        dropped = parts.finish(job.signature, keys, header, drop=drop)
    return JobReport(**totals, problems=tuple(problems[:MAX_PROBLEMS]), dropped=dropped, signature=job.signature)


def map_spans(
    ray: Any, actor: type, spans: Sequence[BlockSpan], workers: int, *arguments: Any
) -> Iterator[dict[str, Any]]:
    """Yield the rows that actors return for spans, as they come; Ray replaces actors that die."""
    tasks = ray.data.from_items([asdict(span) for span in spans], override_num_blocks=len(spans))
    results = tasks.map_batches(
        actor,
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(spans))),
        num_cpus=1,
        fn_constructor_args=arguments,
    )
    yield from results.iter_rows()


def with_one_thread(options: EncoderOptions) -> EncoderOptions:
    """Return the options of a worker's encoder: one thread unless the caller chooses a number, as Ray runs several."""
    return {**options, "threads": options.get("threads", 1)}


def output_folder(folder: str | os.PathLike[str]) -> str:
    """Return the absolute path of a folder, which is the same in every worker."""
    return str(Path(folder).resolve())
