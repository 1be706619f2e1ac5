"""All checks, one file for each subject."""

from reliability.check import CHECKS as CHECKS
from reliability.checks import audit, damaged_files, numerics, queries, server, texts, writes

__all__ = ["CHECKS", "audit", "damaged_files", "numerics", "queries", "server", "texts", "writes"]
