"""Measure what unrelated sentences score at each layer of the bundled encoder.

    apt-get download wordnet-base
    python tools/measure_baselines.py wordnet-base_*.deb

Each of 4,000 sentences of WordNet meets another one; averages go to src/softset/assets/baselines. minilm.csv has those
of bert_score's matching, in the form of its own baseline files: `softset.integrations.bert_score` reads it for
rescale_with_baseline. levels.csv has those of metrics whose chance level has no closed form, for `softset explain`.
"""

import sys
from pathlib import Path

from wordnet import examples

from softset import Scorer
from softset.integrations.bert_score import BERTScorer

FOLDER = Path(__file__).parent.parent / "src" / "softset" / "assets" / "baselines"
TEXTS, LAYERS = 4_000, 6
METRICS = ("bertscore", "softset")


def measure(package: str) -> None:
    texts = examples(package, TEXTS)
    others = texts[1:] + texts[:1]
    matched, levels = ["LAYER,P,R,F"], ["METRIC,LAYER,P,R,F"]
    for layer in range(LAYERS + 1):
        matched.append(_row(layer, *BERTScorer("minilm", num_layers=layer).score(texts, others)))
        scorer = Scorer("minilm", layer=layer)
        left, right = scorer.encode(texts), scorer.encode(others)
        for metric in METRICS:
            scores = scorer.with_options(metric=metric).score(left, right)
            levels.append(_row(metric, layer, scores.precision, scores.recall, scores.score))
        print(matched[-1], *levels[-2:], sep="\n")
    for name, lines in (("minilm.csv", matched), ("levels.csv", levels)):
        (FOLDER / name).write_text("\n".join(lines) + "\n")


def _row(*given) -> str:
    *named, P, R, F = given
    return ",".join([*map(str, named), *(f"{values.mean():.6f}" for values in (P, R, F))])


if __name__ == "__main__":
    measure(sys.argv[1])
