"""Plain questions as set expressions: "A but not B" is {A} - {B}, without a language model."""

import re
from typing import Any

from softset.errors import InputError
from softset.query.expression import And, Example, Examples, Minus, Or, SetExpression
from softset.query.parsed import ParsedQuery

# Phrases that separate the parts of a question, from the one that binds least to the one that binds most.
PATTERNS = (
    (Minus, r"\s*,?\s+(?:but\s+(?:is|are|were|was|have|has)?\s*(?:not|never)|except(?:\s+for)?|excluding|without|"
            r"other\s+than|that\s+(?:is|are)\s+not|which\s+(?:is|are)\s+not)\s+"),
    (Or, r"\s*,?\s+or\s+"),
    (And, r"\s*,?\s+(?:and\s+also|that\s+(?:is|are)\s+also(?:\s+both)?|which\s+(?:is|are)\s+also)\s+"),
)  # fmt: skip
STRICTNESS = 0.25  # of BUT NOT in a question, which says less precisely than a query what to exclude
MIN_CHARACTERS = 3  # of a part; a question with a shorter part is not split


def parse_question(question: Any) -> ParsedQuery:
    """Return a question as a query; a question without a known phrase is one set.

    >>> print(parse_question("Films about whales that are also comedies but not musicals?").tree)
    {Films about whales} & {comedies} - {musicals}
    >>> print(parse_question("Who hunted the whale?").tree)
    {Who hunted the whale}
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"a question must be a text that is not empty, but {question!r} was given")
    text = question.strip().rstrip("?.! ") or question
    tree = _split(text, 0)
    if tree is None or tree.size == 1:
        return ParsedQuery(question, Examples((Example(text),)))
    whole = And(Examples((Example(text),)), tree)
    return ParsedQuery(question, whole, (f"this question is read as {whole}",))


def _split(text: str, level: int) -> SetExpression | None:
    """Return the expression of a text that phrases of this level or a later one separate; None if a part is empty."""
    if len(text.strip()) < MIN_CHARACTERS:
        return None
    if level == len(PATTERNS):
        return Examples((Example(text.strip()),))
    operator, pattern = PATTERNS[level]
    parts = [_split(part, level + 1) for part in re.split(pattern, text, flags=re.IGNORECASE)]
    tree = parts[0]
    for part in parts[1:]:
        if tree is None or part is None:
            return None
        tree = Minus(tree, part, STRICTNESS) if operator is Minus else operator(tree, part)
    return tree
