"""Scores of many pairs on Ray: the same `Scorer`, kept by actors, over tables of ids, candidates and references."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from softset.errors import InputError
from softset.jobs.cluster import require_ray
from softset.jobs.inputs import BLOCK, values_of
from softset.jobs.jobs import Job, Progress, Report, output_folder, run
from softset.jobs.rows import outcomes, text_problem
from softset.similarity.scorer import Scorer
from softset.similarity.scores import ScoreRow

__all__ = ["Columns", "Scoring", "score", "score_files"]


class Columns(NamedTuple):
    """Where ids and texts are; a reference may be a list of texts."""

    id: str = "id"
    candidate: str = "candidate"
    reference: str = "reference"


class Scoring:
    """What an actor keeps: the model. Called with a table of texts, it returns one of scores.

    Args:
        columns: where ids and texts are.
        options: those of `softset.Scorer`.
    """

    def __init__(self, columns: Sequence[str] = Columns(), **options: Any) -> None:
        self.columns = Columns(*columns)
        self.scorer = Scorer(**{"threads": 1, **options})
        _check(self.scorer)

    def __call__(self, table: Any) -> Any:
        """Return the scores of a table's rows, in their order; a row that cannot be scored has a problem instead."""
        import pyarrow as pa

        ids = table.column(self.columns.id)
        texts, references = (values_of(table.column(name)) for name in self.columns[1:])
        problems = [_problem(text, other) for text, other in zip(texts, references, strict=True)]
        good = [at for at, problem in enumerate(problems) if problem is None]
        rows: dict[int, ScoreRow] = {}

        def scored(places: Sequence[int]) -> list[ScoreRow]:
            return list(self.scorer.score([texts[at] for at in places], [references[at] for at in places]))

        for at, outcome in outcomes(good, scored):
            if isinstance(outcome, str):
                problems[at] = outcome
            else:
                rows[at] = outcome
        kinds = {float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
        made = {
            name: pa.array([getattr(rows[at], name) if at in rows else None for at in range(len(texts))], kinds[kind])
            for name, kind in ScoreRow.__annotations__.items()
        }
        signature = self.scorer.signature(idf=self.scorer.idf, multiple_references=_several(references))
        found = pa.table({"id": ids, **made, "problem": pa.array(problems, pa.string())})
        return found.replace_schema_metadata({"softset": signature})


def _check(scorer: Scorer) -> None:
    if scorer.metric.needs_idf and scorer.idf is None:
        raise InputError(f"{scorer.metric} needs idf weights of all texts: fit them first, and give idf (--idf FILE)")


def _several(references: Sequence[Any]) -> bool:
    return any(isinstance(one, list) for one in references)


def _problem(candidate: Any, reference: Any) -> str | None:
    """Return why a row cannot be scored, or None."""
    if reference == []:
        return "the list of references is empty"
    several = reference if isinstance(reference, list) else [reference]
    sides = (("candidate", candidate), *(("reference", one) for one in several))
    return next((told for what, text in sides if (told := text_problem(what, text))), None)


def score(dataset: Any, *, workers: int = 2, columns: Sequence[str] = Columns(), **options: Any) -> Any:
    """Return a Ray Dataset of scores for one of pairs, lazily, as Ray's own transformations do.

    Args:
        dataset: a `ray.data.Dataset` with ids, candidates and references.
        workers: how many actors keep the model, each with one thread.
        columns: where ids and texts are: id, candidate and reference.
        options: those of `softset.Scorer`: model, metric, layer and others.
    """
    ray = require_ray()
    _check(Scorer(**options))
    return dataset.map_batches(
        Scoring,
        batch_size=BLOCK,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
        fn_constructor_kwargs={"columns": tuple(columns), **options},
    )


def score_files(
    pattern: str,
    output: str | os.PathLike[str],
    *,
    address: str | None = None,
    workers: int = 2,
    columns: Sequence[str] = Columns(),
    block: int = BLOCK,
    progress: Progress | None = None,
    drop: bool = False,
    **options: Any,
) -> Report:
    """Score the pairs of Parquet files into a folder of Parquet files, and return what was done.

    What is in the folder already, of an earlier run that ended or was killed, is not done again.

    Args:
        pattern: the input files, such as "pairs/*.parquet".
        output: the folder; every worker must be able to reach it and the input.
        address: of a Ray cluster, "auto" for that of this machine; without it, one is made for the job.
        workers: how many actors keep the model, each with one thread.
        columns: where ids and texts are: id, candidate and reference.
        block: rows that are scored and written at once: what memory holds, and what a crash can cost.
        progress: called with the number of tasks that are done, and of all.
        drop: delete what the folder holds of rows that are not in the input; else that is an error.
        options: those of `softset.Scorer`.
    """
    wanted = Columns(*columns)
    scorer = Scorer(**{"threads": 1, **options})
    _check(scorer)
    layout = f"multi_reference:{scorer.multi_reference}|columns:{','.join(wanted)}|block:{block}"
    signature = f"{scorer.signature(idf=scorer.idf)}|{layout}"
    job = Job(output_folder(output), signature, wanted, block, Scoring, {"columns": wanted, **options})
    return run(job, pattern, address=address, workers=workers, progress=progress, drop=drop)
