"""All checks, one file for each subject."""

from reliability.check import Check
from reliability.checks import audit, damaged_files, numerics, queries, server, texts, writes

__all__ = ["CHECKS"]

CHECKS: dict[str, Check] = {
    check.name: check
    for subject in (queries, damaged_files, numerics, texts, writes, server, audit)
    for check in subject.CHECKS
}
