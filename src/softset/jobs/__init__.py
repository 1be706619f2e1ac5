"""The same jobs on more than one machine: batches on Ray.

Needs the extra `ray`. `softset jobs` is the command line; `score(dataset)` takes and gives a Ray Dataset.
"""

from typing import Any

__all__ = ["score", "score_files"]


def __getattr__(name: str) -> Any:
    """Import what needs Ray when it is asked for."""
    if name in __all__:
        from softset.jobs import scoring

        return getattr(scoring, name)
    raise AttributeError(f"module 'softset.jobs' has no attribute {name!r}")
