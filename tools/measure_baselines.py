"""Measure the scores of unrelated sentences at each layer of the bundled encoder.

    apt-get download wordnet-base
    python tools/measure_baselines.py wordnet-base_*.deb

Each of 4,000 sentences of WordNet is compared with another one. The mean scores are written to
src/softset/assets/baselines: minilm.csv in the format of bert_score's baseline files, for rescale_with_baseline of
`softset.integrations.bert_score`; levels.csv for metrics whose chance level has no closed form, for `softset explain`.
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


def _row(*cells) -> str:
    *labels, P, R, F = cells
    return ",".join([*map(str, labels), *(f"{values.mean():.6f}" for values in (P, R, F))])


if __name__ == "__main__":
    measure(sys.argv[1])
