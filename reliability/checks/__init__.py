"""All checks, in the order of the table: one file a subject."""

from reliability.check import Check
from reliability.checks import audit, crashes, numerics, queries, readers, server, texts

__all__ = ["CHECKS"]

CHECKS: dict[str, Check] = {
    check.name: check
    for subject in (queries, readers, numerics, texts, crashes, server, audit)
    for check in subject.CHECKS
}
