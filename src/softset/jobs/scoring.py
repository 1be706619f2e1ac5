"""Score many pairs on Ray: each worker has a `Scorer`, which scores tables of ids, candidates and references."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Unpack

from softset.errors import InputError
from softset.jobs.inputs import ROWS_PER_BLOCK, column_values, compute_rows, text_problem
from softset.jobs.run import JobReport, JobSettings, Progress, run_job
from softset.similarity.scorer import Scorer, ScoringOptions
from softset.similarity.scores import ScoreRow

__all__ = ["Columns", "TableScorer", "score_files"]


class Columns(NamedTuple):
    """The names of the columns with ids, candidates and references; a reference may be a list of texts."""

    id: str = "id"
    candidate: str = "candidate"
    reference: str = "reference"


class TableScorer:
    """The scorer in a worker: a function from a table of texts to a table of scores.

    Args:
        columns: the names of the columns with ids and texts.
        model: as in `softset.Scorer`.
        **options: options of `softset.Scorer`; the number of threads is 1 unless it is given.
    """

    def __init__(
        self, columns: Sequence[str] = Columns(), *, model: Any = "minilm", **options: Unpack[ScoringOptions]
    ) -> None:
        self.columns = Columns(*columns)
        options.setdefault("threads", 1)
        self.scorer = Scorer(model, **options)
        if self.scorer.metric.needs_idf and self.scorer.idf is None:
            metric = self.scorer.metric
            raise InputError(f"{metric} needs idf weights of all texts: fit them first, and give idf (--idf FILE)")

    def __call__(self, table: Any) -> Any:
        """Return the scores in the order of the rows; a row that cannot be scored gets a problem."""
        import pyarrow as pa

        candidates, references = (column_values(table.column(name)) for name in self.columns[1:])

        def compute(indices: Sequence[int]) -> list[ScoreRow]:
            texts = [candidates[index] for index in indices]
            return list(self.scorer.score(texts, [references[index] for index in indices]).rows())

        rows, problems = compute_rows([_problem(*pair) for pair in zip(candidates, references, strict=True)], compute)
        types = {float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
        scores = {
            name: pa.array([None if row is None else getattr(row, name) for row in rows], types[kind])
            for name, kind in ScoreRow.__annotations__.items()
        }
        several = any(isinstance(reference, list) for reference in references)
        signature = self.scorer.signature(idf=self.scorer.idf, multiple_references=several)
        columns = {"id": table.column(self.columns.id), **scores, "problem": pa.array(problems, pa.string())}
        return pa.table(columns).replace_schema_metadata({"softset": signature})


def _problem(candidate: Any, reference: Any) -> str | None:
    """Return why a row cannot be scored, or None."""
    if reference == []:
        return "the list of references is empty"
    references = reference if isinstance(reference, list) else [reference]
    texts = (("candidate", candidate), *(("reference", text) for text in references))
    return next((problem for noun, text in texts if (problem := text_problem(noun, text))), None)


def score_files(
    pattern: str,
    output: str | os.PathLike[str],
    *,
    model: Any = "minilm",
    address: str | None = None,
    workers: int = 2,
    columns: Sequence[str] = Columns(),
    block: int = ROWS_PER_BLOCK,
    progress: Progress | None = None,
    drop: bool = False,
    **options: Unpack[ScoringOptions],
) -> JobReport:
    """Score the pairs of Parquet files into a folder of Parquet files.

    Blocks that an earlier run has finished are not computed again.

    Args:
        pattern: the input files, such as "pairs/*.parquet".
        output: the folder; every worker must be able to reach it and the input.
        model: as in `softset.Scorer`.
        address: the address of a Ray cluster, "auto" for that of this machine; None starts one for the job.
        workers: the number of actors, each with the model and one thread; at most as many as the cluster has CPUs.
        columns: the names of the columns with ids, candidates and references.
        block: rows that are scored and written together; bounds the memory, and the work that a crash loses.
        progress: called with the number of finished tasks and of all tasks.
        drop: delete the results of rows that are no longer in the input; otherwise these are an error.
        **options: options of `softset.Scorer`: metric, rescale, multi_reference, idf, and those of
            `softset.load_encoder`, such as layer=4.
    """
    names = Columns(*columns)
    make = partial(TableScorer, names, model=model, **options)
    scorer = make().scorer
    settings = f"multi_reference:{scorer.multi_reference}|columns:{','.join(names)}|block:{block}"
    job = JobSettings(output, f"{scorer.signature(idf=scorer.idf)}|{settings}", names, block, make)
    return run_job(job, pattern, address=address, workers=workers, progress=progress, drop=drop)
