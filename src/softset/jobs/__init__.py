"""Jobs on a Ray cluster: score, encode and search many Parquet files.

They need the extra `ray`. `softset jobs` is the command line; `score(dataset)` is for Ray Datasets.
"""

from typing import Any

__all__ = ["score", "score_files"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name in __all__:
        from softset.jobs import scoring

        return getattr(scoring, name)
    raise AttributeError(f"module 'softset.jobs' has no attribute {name!r}")
