"""Jobs on a Ray cluster: score, encode and search many Parquet files.

They need the extra `ray`. `softset jobs` is the command line.
"""

from typing import Any

__all__ = ["score_files"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name in __all__:
        from softset.jobs.scoring import score_files

        return score_files
    raise AttributeError(f"module 'softset.jobs' has no attribute {name!r}")
