"""Plain questions as set expressions: "A but not B" is {A} - {B}, without a language model."""

import re
from typing import Any

from softset.errors import InputError
from softset.query.expression import And, Example, Examples, Minus, Or, SetExpression
from softset.query.parsed import ParsedQuery

# Phrases before a part that is excluded (BUT NOT), between alternatives (OR), and between conditions (AND).
EXCLUSION = re.compile(
    r"\s*,?\s+(?:but\s+not|except(?:\s+for)?|excluding|without|other\s+than|(?:that|which)\s+(?:is|are)\s+not)\s+",
    re.IGNORECASE,
)
ALTERNATIVE = re.compile(r"\s*,?\s+or\s+", re.IGNORECASE)
CONJUNCTION = re.compile(r"\s*,?\s+(?:and\s+also|(?:that|which)\s+(?:is|are)\s+also(?:\s+both)?)\s+", re.IGNORECASE)
MIN_CHARACTERS = 3  # of a part; a question with a shorter part is not split


def parse_question(question: Any) -> ParsedQuery:
    """Return a question as a query; a question without a known phrase is one set.

    What is wanted is also one set as a whole, because its parts may say less than the sentence.

    >>> print(parse_question("Films about whales but not musicals?").tree)
    {Films about whales} - {musicals}
    >>> print(parse_question("Films about whales that are also comedies").tree)
    {Films about whales that are also comedies} & ({Films about whales} & {comedies})
    """
    [example] = whole_question(question).items
    text = example.text.strip().rstrip("?.! ") or question
    wanted, *excluded = EXCLUSION.split(text)
    if any(len(part.strip()) < MIN_CHARACTERS for part in (wanted, *excluded)):
        wanted, excluded = text, []
    tree = _parse_wanted(wanted)
    for part in excluded:
        tree = Minus(tree, _text_set(part))
    return ParsedQuery(question, tree, (f"this question is read as {tree}",) if tree.size > 1 else ())


def whole_question(question: Any) -> Examples:
    """Return a question as one set; anything but a text that is not empty raises InputError."""
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"a question must be a text that is not empty, but {question!r} was given")
    return Examples((Example(question),))


def _parse_wanted(text: str) -> SetExpression:
    alternatives = [CONJUNCTION.split(part) for part in ALTERNATIVE.split(text)]
    parts = [part for group in alternatives for part in group]
    if len(parts) == 1 or any(len(part.strip()) < MIN_CHARACTERS for part in parts):
        return _text_set(text)
    trees = []
    for group in alternatives:
        tree: SetExpression = _text_set(group[0])
        for part in group[1:]:
            tree = And(tree, _text_set(part))
        trees.append(tree)
    tree = trees[0]
    for other in trees[1:]:
        tree = Or(tree, other)
    return And(_text_set(text), tree)


def _text_set(text: str) -> Examples:
    return Examples((Example(text.strip()),))
