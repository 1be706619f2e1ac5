"""All cases, in the order of the table; one file for each subject."""

from benchmarks.case import Case
from benchmarks.cases import (
    all_pairs,
    approximate,
    encoder,
    find,
    imports,
    kernel,
    memory,
    scaling,
    startup,
    stores,
    texts,
    transport,
    workers,
)

__all__ = ["CASES"]

SUBJECTS = (
    *(kernel, all_pairs, texts, encoder, find, approximate, transport, imports, startup, memory, scaling),
    *(workers, stores),
)
CASES: dict[str, Case] = {case.name: case for subject in SUBJECTS for case in subject.CASES}
