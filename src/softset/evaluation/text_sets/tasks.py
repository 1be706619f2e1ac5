"""Datasets of set queries over texts: items, and questions with the ids of the items that answer them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from softset.collections.items import Item
from softset.evaluation.data import DataFolder
from softset.query.expression import And, Example, Examples, Minus, Or, SetExpression

# The template of a QUEST question, and the operators that join its atoms.
QUEST_TEMPLATES = {
    "_": ("A", ""),
    "_ or _": ("A or B", "|"),
    "_ or _ or _": ("A or B or C", "||"),
    "_ that are also _": ("A and B", "&"),
    "_ that are also _ but not _": ("A and B not C", "&-"),
    "_ that are also both _ and _": ("A and B and C", "&&"),
    "_ that are not _": ("A not B", "-"),
}
LIMIT_PEOPLE, LIMIT_LIKES, LIMIT_QUERIES = 10_000, 45, 100
EXAMPLE_STORIES = 5
SEED = 12345
Value = TypeVar("Value")
REUTERS_QUERIES = 100  # of each kind
MIN_STORIES, MAX_STORIES = 20, 600  # of a topic or place
# What the codes of topics and places mean, where they are no words.
REUTERS_NAMES = {
    "acq": "mergers and acquisitions", "alum": "aluminium", "bop": "balance of payments", "cpi": "consumer prices",
    "crude": "crude oil", "dlr": "the dollar", "earn": "company earnings", "gnp": "gross national product",
    "interest": "interest rates", "ipi": "industrial production", "iron-steel": "iron and steel",
    "jobs": "employment", "money-fx": "foreign exchange", "money-supply": "money supply", "nat-gas": "natural gas",
    "oilseed": "oilseeds", "pet-chem": "petrochemicals", "reserves": "foreign reserves", "ship": "shipping",
    "veg-oil": "vegetable oil", "wpi": "wholesale prices", "uk": "the United Kingdom", "usa": "the United States",
    "ussr": "the Soviet Union",
}  # fmt: skip


@dataclass(frozen=True)
class TextQuery:
    """A question, the same as a set query, and the items that answer it.

    Attributes:
        task: the kind of question.
        question: the question in words.
        query: the question as a set expression.
        gains: the relevance of each item that answers it, by id.
        leaks: for A BUT NOT B, the ids of items in A and B.
        examples: the ids of the items that the query gives as examples, which are not ranked.
    """

    task: str
    question: str
    query: SetExpression
    gains: Mapping[str, float]
    leaks: frozenset[str] = frozenset()
    examples: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TextDataset:
    """Items and the queries over them."""

    name: str
    items: tuple[Item, ...]
    queries: tuple[TextQuery, ...]


def text_set(*texts: str) -> Examples:
    """Return the set with these texts as examples."""
    return Examples(tuple(map(Example, texts)))


def join(sets: Sequence[SetExpression], operators: str) -> SetExpression:
    """Return sets that are joined from left to right by the operators &, | and -.

    >>> print(join([text_set("whales"), text_set("ships"), text_set("war")], "&-"))
    ({whales} & {ships}) - {war}
    """
    tree = sets[0]
    for operator, right in zip(operators, sets[1:], strict=True):
        tree = {"&": And, "|": Or, "-": Minus}[operator](tree, right)
    return tree


def read_quest(folder: DataFolder, limit: int | None) -> TextDataset:
    """Read the evidence passages of QUEST, and its questions with their atoms."""
    items = tuple(Item(row["_id"], row["text"]) for row in _rows(folder, "quest-evidence-docs"))
    known, queries = {item.id for item in items}, []
    for row in _rows(folder, "quest-evidence-queries-train"):
        task, operators = QUEST_TEMPLATES[row["template"]]
        gains = {name: 1.0 for name in row["docs_with_evidence"] if name in known}
        if gains and len(row["atoms"]) == len(operators) + 1:
            tree = join([text_set(atom) for atom in row["atoms"]], operators)
            queries.append(TextQuery(task, row["query"], tree, gains))
    return TextDataset("QUEST evidence", items, tuple(queries[:limit]))


def read_comlq(folder: DataFolder, limit: int | None) -> TextDataset:
    """Read the passages and the questions of ComLQ; a question is one set."""
    items = tuple(Item(row["_id"], row["text"]) for row in _rows(folder, "comlq-corpus"))
    gains: dict[str, dict[str, float]] = {}
    for line in folder.lines("text-sets/comlq-qrels-dev.tsv")[1:]:
        query, item, value = line.split("\t")
        if float(value) > 0:
            gains.setdefault(query, {})[item] = float(value)
    rows = [row for row in _rows(folder, "comlq-queries-dev") if row["_id"] in gains]
    queries = [TextQuery("question", row["text"], text_set(row["text"]), gains[row["_id"]]) for row in rows]
    return TextDataset("ComLQ", items, tuple(queries[:limit]))


def read_reuters(folder: DataFolder, limit: int | None) -> TextDataset:
    """Read stories of Reuters-21578, and draw pairs of their topics and places by a fixed seed."""
    rows = list(_rows(folder, "reuters-train"))
    items = tuple(Item(row["id"], f"{row['title']}. {row['text']}") for row in rows)
    members: dict[str, set[str]] = {}
    for row in rows:
        for name in row["topics"] + row["places"]:
            members.setdefault(name, set()).add(row["id"])
    topics, places = (sorted({name for row in rows for name in row[kind]}) for kind in ("topics", "places"))
    topics, places = ([n for n in names if MIN_STORIES <= len(members[n]) <= MAX_STORIES] for names in (topics, places))
    rng, queries = np.random.default_rng(SEED), list[TextQuery]()
    both = [(a, b) for a in topics for b in places if len(members[a] & members[b]) >= EXAMPLE_STORIES]
    either = [(a, b) for a, b in combinations(topics, 2) if len(members[a] & members[b]) < MIN_STORIES]
    overlap = [(a, b) for a in topics for b in topics if a != b and len(members[a] & members[b]) >= EXAMPLE_STORIES]
    only = [(a, b) for a, b in overlap if len(members[a] - members[b]) >= 2 * EXAMPLE_STORIES]
    count = REUTERS_QUERIES if limit is None else limit
    for operator, pairs in (("&", both), ("|", either), ("-", only)):
        for a, b in _draw(rng, pairs, count):
            queries += _reuters_queries(operator, a, b, members, rng)
    return TextDataset("Reuters", items, tuple(queries))


def _reuters_queries(
    operator: str, a: str, b: str, members: Mapping[str, set[str]], rng: np.random.Generator
) -> Iterator[TextQuery]:
    """Yield the query of two topics by their names, and by example stories."""
    A, B = members[a], members[b]
    wanted = {"&": A & B, "|": A | B, "-": A - B}[operator]
    leaks = frozenset(A & B) if operator == "-" else frozenset()
    words = {"&": "and", "|": "or", "-": "but not"}[operator]
    names = [REUTERS_NAMES.get(code, code.replace("-", " ")) for code in (a, b)]
    task = {"&": "topic and place", "|": "topic or topic", "-": "topic not topic"}[operator]
    by_name = join([text_set(name) for name in names], operator)
    question = f"stories about {names[0]} {words} {names[1]}"
    yield TextQuery(f"{task}, by name", question, by_name, dict.fromkeys(wanted, 1.0), leaks)
    examples = [_draw(rng, sorted(A - B if operator == "-" else A), EXAMPLE_STORIES)]
    examples.append(_draw(rng, sorted(B), EXAMPLE_STORIES))
    shown = frozenset(examples[0] + examples[1])
    by_story = join([Examples(tuple(Example(name, kind="id") for name in group)) for group in examples], operator)
    gains = dict.fromkeys(wanted - shown, 1.0)
    if gains:
        yield TextQuery(f"{task}, by stories", question, by_story, gains, leaks - shown, shown)


def _draw(rng: np.random.Generator, values: Sequence[Value], count: int) -> list[Value]:
    """Return up to `count` different values."""
    return [values[index] for index in rng.choice(len(values), min(count, len(values)), replace=False).tolist()]


def read_limit(folder: DataFolder, limit: int | None) -> TextDataset:
    """Make people who like things, as in LIMIT, and ask who likes some and not others."""
    likes = [line for line in folder.lines("text-sets/limit-items.txt") if line.strip()]
    rng = np.random.default_rng(SEED)
    people = [_draw(rng, likes, LIMIT_LIKES) for _ in range(LIMIT_PEOPLE)]
    items, liked_by = list[Item](), dict[str, set[str]]()
    for number, liked in enumerate(people, 1):
        text = f"Person {number} likes {', '.join(liked[:-1])} and {liked[-1]}."
        items.append(Item(f"p{number}", text))
        for thing in liked:
            liked_by.setdefault(thing, set()).add(f"p{number}")
    queries = []
    for task, operators in QUEST_TEMPLATES.values():
        for _ in range(LIMIT_QUERIES if limit is None else limit):
            atoms = _draw(rng, people[rng.integers(len(people))], len(operators) + 1)
            if "-" in operators:  # what the person does not like
                [atoms[-1]] = _draw(rng, sorted(set(likes) - set(atoms)), 1)
            relevant = set(liked_by[atoms[0]])
            for operator, atom in zip(operators, atoms[1:], strict=True):
                others = liked_by.get(atom, set())
                relevant = {"&": relevant & others, "|": relevant | others, "-": relevant - others}[operator]
            words = {"&": "and", "|": "or", "-": "but not"}
            question = "Who likes " + atoms[0]
            question += "".join(f" {words[op]} {atom}" for op, atom in zip(operators, atoms[1:], strict=True)) + "?"
            tree = join([text_set(atom) for atom in atoms], operators)
            queries.append(TextQuery(task, question, tree, dict.fromkeys(relevant, 1.0)))
    return TextDataset("LIMIT form", tuple(items), tuple(query for query in queries if query.gains))


def _rows(folder: DataFolder, name: str) -> Iterator[dict[str, Any]]:
    return folder.json_lines(f"text-sets/{name}.jsonl.gz")


DATASETS: dict[str, Callable[[DataFolder, int | None], TextDataset]] = {
    "quest": read_quest,
    "comlq": read_comlq,
    "reuters": read_reuters,
    "limit": read_limit,
}
