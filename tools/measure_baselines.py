"""Measure what unrelated sentences score with bert_score's matching, at each layer of the bundled encoder.

    apt-get download wordnet-base
    python tools/measure_baselines.py wordnet-base_*.deb

Each of 4,000 sentences of WordNet meets another one; averages go to src/softset/assets/baselines/minilm.csv, in the
form of bert_score's own baseline files. `softset.compat.bert_score` reads it for rescale_with_baseline.
"""

import sys
from pathlib import Path

from wordnet import examples

from softset.compat.bert_score import BERTScorer

TARGET = Path(__file__).parent.parent / "src" / "softset" / "assets" / "baselines" / "minilm.csv"
TEXTS, LAYERS = 4_000, 6


def measure(package: str) -> None:
    texts = examples(package, TEXTS)
    lines = ["LAYER,P,R,F"]
    for layer in range(LAYERS + 1):
        means = [values.mean() for values in BERTScorer("minilm", num_layers=layer).score(texts, texts[1:] + texts[:1])]
        lines.append(",".join([str(layer), *(f"{mean:.6f}" for mean in means)]))
        print(lines[-1])
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    measure(sys.argv[1])
