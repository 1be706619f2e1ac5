"""All cases, in the order of the table: one file a subject."""

from benchmarks.case import Case
from benchmarks.cases import (
    all_pairs,
    approximate,
    encoder,
    find,
    growth,
    importing,
    kernel,
    memory,
    scale,
    starting,
    texts,
    transport,
)

__all__ = ["CASES"]

SUBJECTS = (kernel, all_pairs, texts, encoder, find, approximate, transport, importing, starting, memory, growth, scale)
CASES: dict[str, Case] = {case.name: case for subject in SUBJECTS for case in subject.CASES}
