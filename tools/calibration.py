"""Measure whether memberships are calibrated: `python tools/calibration.py --data DIR` prints reliability tables.

A query is one set, given by 2, 3 or 5 examples. The mean membership of the words in each bin is compared with the share
of them that belongs. The expected calibration error (ECE) is the mean difference, weighted by the number of words.
Words and stories with a membership up to .05 are left out.

- LDA-1k: the sets of val; words outside its vocabulary are left out.
- Reuters: the topics of 20 to 400 training stories, among all stories; examples are ids. Encoding takes some minutes.
- Categories: both sides of each OR in queries/dev.json. The lists are incomplete: true shares are somewhat larger.
"""

import argparse
import gzip
import json
import random
import tempfile

import numpy as np

from softset.collections.collection import Collection
from softset.evaluation.data import DataFolder
from softset.evaluation.word_sets.data import read_concepts
from softset.evaluation.word_sets.queries import read_queries
from softset.query.expression import leaves
from softset.query.parser import parse
from softset.search.words import load_words

EXAMPLES = (2, 3, 5)
MIN_MEMBERSHIP, BINS = 0.05, 5
MIN_OTHERS, MAX_SHARED = 3, 0.6  # of a category: members besides the examples, and share in a longer category


def lda_queries(folder, known):
    concepts = read_concepts(folder)
    for number in concepts.splits["val"]:
        shown = [concepts.words[index] for index in concepts.query(number) if concepts.words[index] in known]
        members = {concepts.words[index] for index in concepts.sets[number]}
        yield from ((shown[:n], members) for n in EXAMPLES if n <= len(shown))


def category_queries(path, known):
    rng, categories = random.Random(0), []  # noqa: S311
    unions = [query for query in read_queries(path) if len(query.groups) == 2]
    pairs = [pair for query in unions for pair in zip(leaves(parse(query.query)), query.groups, strict=True)]
    groups = [known & (group | {example.text for example in leaf.items}) for leaf, group in pairs]
    for group in sorted(groups, key=lambda group: (-len(group), sorted(group))):
        if all(len(group & other) <= MAX_SHARED * len(group) for other in categories):
            categories.append(group)
            sizes = [n for n in EXAMPLES if n + MIN_OTHERS <= len(group)]
            yield from ((rng.sample(sorted(group), n), group) for n in sizes)


def reuters(path):
    """Return a collection of the stories, and the queries of the topics."""
    with gzip.open(path, "rt") as file:
        stories = [json.loads(line) for line in file]
    items = [{"id": str(row["id"]), "text": f"{row['title']}. {row['text']}"[:1000]} for row in stories]
    topics = {}
    for row in stories:
        for topic in row["topics"]:
            topics.setdefault(topic, []).append(str(row["id"]))
    rng = random.Random(0)  # noqa: S311
    members = [ids for _, ids in sorted(topics.items()) if 20 <= len(ids) <= 400]
    queries = [(rng.sample(ids, n), set(ids)) for ids in members for n in EXAMPLES]
    return Collection.create(f"{tempfile.mkdtemp()}/reuters", items), queries


def reliability(source, queries, candidates):
    pairs = []
    for examples, members in queries:
        query = source.set(id=examples) if isinstance(source, Collection) else source.set(*examples)
        hits = source.find(query, len(source), min_score=MIN_MEMBERSHIP, variants=True)
        pairs += [(hit.membership, hit.id in members) for hit in hits if hit.id in candidates]
    memberships, belongs = np.array(pairs).T
    numbers = np.minimum((BINS * memberships).astype(int), BINS - 1)
    bins = [
        {"from": k / BINS, "membership": memberships[mask].mean(), "share": belongs[mask].mean(), "words": mask.sum()}
        for k, mask in enumerate(numbers == np.arange(BINS)[:, None])
    ]
    error = sum(abs(row["membership"] - row["share"]) * row["words"] for row in bins) / len(pairs)
    return {"queries": len(queries), "words": len(pairs), "ece": error, "bins": bins}


def draw(tables, path):
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "softset", "axes.spines.top": False, "axes.spines.right": False})
    figure, axis = plt.subplots(figsize=(4, 3.2))
    axis.plot([0, 1], [0, 1], color="#8a8a8a", linewidth=1, linestyle=":")
    for (name, table), colour in zip(tables.items(), ("#1b6ca8", "#c8553d", "#5b8c3a"), strict=False):
        points = [(row["membership"], row["share"]) for row in table["bins"]]
        axis.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{name}: error {table['ece']:.2f}")
    axis.set(xlabel="membership", ylabel="share that belongs", xlim=(0, 1), ylim=(0, 1))
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure whether memberships are calibrated.")
    parser.add_argument("--data", help="folder of evaluation data, with lda-1k and queries/dev.json")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--picture", help="draw the tables into this file, such as docs/pictures/reliability.svg")
    arguments = parser.parse_args()
    folder, words = DataFolder(arguments.data), load_words()
    known = set(words.words)
    tables = {
        "LDA-1k": reliability(words, list(lda_queries(folder, known)), set(read_concepts(folder).words)),
        "categories": reliability(words, list(category_queries(folder.path / "queries/dev.json", known)), known),
    }
    collection, queries = reuters(folder.path / "text-sets/reuters-train.jsonl.gz")
    tables["Reuters"] = reliability(collection, queries, {item.id for item in collection})
    if arguments.picture:
        draw(tables, arguments.picture)
    if arguments.json:
        print(json.dumps(tables, indent=2, default=float))
        return
    for name, table in tables.items():
        print(f"{name}: {table['queries']} queries, {table['words']} words, ECE {table['ece']:.3f}")
        print("from  membership  share  words")
        for row in table["bins"]:
            print(f"{row['from']:4.1f}  {row['membership']:10.2f}  {row['share']:5.2f}  {row['words']:5}")


if __name__ == "__main__":
    main()
