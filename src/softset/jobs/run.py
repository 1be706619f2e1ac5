"""Connect to Ray, and run a job on it: blocks of Parquet rows in, one Parquet file for each block out.

Each Ray actor loads the model once, as a function from a table of input rows to a table of results. A result table has
the ids of the rows, and a problem for each row without a result. The output is a folder of Parquet files, each named by
the hash of its block, so that a second run finds what is finished.
"""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from softset.errors import InputError, SoftsetError
from softset.io.checkpoint import PartFolder
from softset.io.text import first_line, import_extra
from softset.jobs.inputs import BlockSpan, content_hash, list_spans, read_blocks

CONNECT_TIMEOUT = 5.0  # seconds; Ray itself would try for more than a minute


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster; a cluster that was started here is stopped afterwards.

    If the caller has called `ray.init`, that cluster is used. Without an address, a cluster of local processes is
    started, which communicate over 127.0.0.1. Ray's usage statistics are switched off.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, but {workers} was given")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # otherwise each actor writes to standard error
    message = "jobs on a cluster need Ray: pip install 'softset[ray]'"
    _, ray = import_extra("pyarrow", message), import_extra("ray", message)
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
    own = {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1"}  # overrides RAY_ADDRESS
    target: dict[str, Any] = {"num_cpus": workers, **own}
    if address is not None:
        target = {"address": address}
        if address != "auto":
            _check_reachable(address)
    handler = signal.getsignal(signal.SIGTERM)
    with _silenced():
        ray.init(**target, **quiet)
    with suppress(ValueError):  # not in the main thread, where Ray has not set a handler
        signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _silenced() -> Iterator[None]:
    """Discard what Ray's processes write to standard error while they start; it is also in Ray's logs."""
    sys.stderr.flush()
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def _check_reachable(address: str) -> None:
    """Raise InputError if nothing listens at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise InputError(
            f"the address {address!r} of a Ray cluster is neither HOST:PORT nor auto (the cluster on this machine)"
        )
    try:
        with closing(socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT)):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"no Ray cluster answers at {address} ({reason}): is it running?") from error


INPUT_ERRORS = (SoftsetError, OSError, MemoryError)  # errors of the data and the disk, not of the code or the cluster
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
    """The settings of a worker: the output folder, the signature of the results, the input columns, and how to compute.

    `make` is called once in each worker; it returns the function from input tables to result tables.
    """

    output: str | os.PathLike[str]
    signature: str
    columns: tuple[str, ...]
    block: int
    make: Callable[[], Callable[[Any], Any]]


class BlockOutcome(NamedTuple):
    """The hash of a block, its number of rows, whether this run has computed it, and (id, message) of its problems."""

    key: str
    rows: int
    is_new: bool
    problems: list[tuple[str, str]]


class _JobWorker:
    """A Ray actor that reads spans, computes the missing blocks, and writes them."""

    def __init__(self, job: JobSettings) -> None:
        self.job, self.parts = job, PartFolder(job.output, ".parquet")
        self.compute: Callable[[Any], Any] | None = None  # loaded when the first block is missing

    def run(self, span: BlockSpan) -> list[BlockOutcome] | str:
        """Return the outcome of each block, or the message of the error that ended the span."""
        try:
            blocks = read_blocks(span, self.job.columns, block=self.job.block)
            return [self._block(content_hash(self.job.signature, span, n, table), table) for n, table in blocks]
        except INPUT_ERRORS as error:
            return f"{span.name}: {first_line(error)[:300]}"

    def _block(self, key: str, table: Any) -> BlockOutcome:
        """Write the part of a block if it is missing."""
        problems = _read_problems(self.parts.path(key), table.num_rows)
        if problems is not None:
            return BlockOutcome(key, table.num_rows, False, problems)
        self.compute = self.compute or self.job.make()
        results = self.compute(table).replace_schema_metadata({"softset": self.job.signature})
        with self.parts.new_part(key) as path:
            _write_table(path, results)
        return BlockOutcome(key, table.num_rows, True, _problems(results))


def _problems(table: Any) -> list[tuple[str, str]]:
    """Return the id of each row without a result, and the reason."""
    pairs = zip(table["id"].to_pylist(), table["problem"].to_pylist(), strict=True)
    return [(str(name), problem) for name, problem in pairs if problem is not None]


def _read_problems(path: Path, rows: int) -> list[tuple[str, str]] | None:
    """Return the problems of a part, or None if it is missing, damaged or incomplete."""
    import pyarrow.parquet as pq
    from pyarrow.lib import ArrowException

    try:
        table = pq.read_table(path, columns=["id", "problem"])
    except (OSError, ArrowException):
        return None
    return _problems(table) if table.num_rows == rows else None


def _write_table(path: Path, table: Any) -> None:
    """Write a Parquet file. BYTE_STREAM_SPLIT makes a file of vectors 45 % smaller."""
    import pyarrow.parquet as pq

    vectors = ["vector.list.element"] if "vector" in table.column_names else []
    others = [name for name in table.column_names if name != "vector"]
    pq.write_table(table, path, compression="zstd", use_dictionary=others, use_byte_stream_split=vectors)


def run_job(
    job: JobSettings, pattern: str, *, address: str | None, workers: int, progress: Progress | None, drop: bool
) -> JobReport:
    """Run a job over the files that match a pattern; finished blocks are not computed again."""
    if job.block < 1:
        raise InputError(f"a block must have at least 1 row, but {job.block} were given")
    spans = list_spans(pattern, job.columns, block=job.block)
    job = replace(job, output=Path(job.output).resolve())  # workers have other working directories
    parts = PartFolder(job.output, ".parquet")
    blocks: list[BlockOutcome] = []
    with parts.locked({"signature": job.signature}):
        with cluster(address, workers) as ray, closing(map_spans(ray, _JobWorker, spans, workers, job)) as outcomes:
            for done, outcome in enumerate(outcomes, start=1):
                if isinstance(outcome, str):
                    raise InputError(f"{outcome}; finished parts are kept: run the job again to continue")
                blocks += outcome
                if progress is not None:
                    progress(done, len(spans))
        dropped = _delete_outdated(parts, [block.key for block in blocks], drop=drop)
        rows, made = sum(block.rows for block in blocks), sum(block.rows for block in blocks if block.is_new)
        problems = [problem for block in blocks for problem in block.problems]
        parts.write_header({"signature": job.signature, "finished": True, "rows": rows, "rejected": len(problems)})
    return JobReport(rows, made, len(problems), tuple(problems[:MAX_PROBLEMS]), dropped, job.signature)


def _delete_outdated(parts: PartFolder, keys: Iterable[str], *, drop: bool) -> int:
    """Delete the parts that belong to none of the keys, if `drop` is true; otherwise they are an error."""
    outdated = set(parts.paths()) - {parts.path(key) for key in keys}
    if outdated and not drop:
        raise InputError(
            f"{parts.folder} also has {len(outdated):,} results of rows that are not in this input: "
            "choose another folder, or delete them with --drop"
        )
    for path in outdated:
        path.unlink()
    return len(outdated)


def map_spans(
    ray: Any, worker: type, spans: Sequence[BlockSpan], workers: int, *arguments: Any
) -> Generator[Any, None, None]:
    """Yield `worker(*arguments).run(span)` for each span, as they come; Ray replaces actors that die.

    If the caller stops early or a span fails, running spans are finished first, so that no actor writes after a lock is
    released.
    """
    cpus = int(ray.cluster_resources().get("CPU", 1))  # an actor without a CPU would wait forever
    actor_class = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=3)(worker)
    actors = [actor_class.remote(*arguments) for _ in range(max(1, min(workers, len(spans), cpus)))]
    remaining = iter(spans)
    running = {actor.run.remote(span): actor for actor, span in zip(actors, remaining, strict=False)}
    try:
        while running:
            [done], _ = ray.wait(list(running), num_returns=1)
            actor = running.pop(done)
            running |= {actor.run.remote(span): actor for span in islice(remaining, 1)}
            yield ray.get(done)
    except (Exception, GeneratorExit):
        if running:
            ray.wait(list(running), num_returns=len(running))
        raise
