"""Definitions and example sentences of WordNet 3.0, from the Debian package wordnet-base (WordNet's licence).

The assets contain only averages over all sentences, and no text.
"""

import random
import re
import subprocess
import tempfile
from pathlib import Path

EXAMPLE = re.compile(r'"([^"]{15,300})"')


def examples(package, n):
    """Return n random texts, drawn with a fixed seed from all definitions and example sentences."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)  # noqa: S603, S607 (Debian's own tool)
        lines = [
            line.partition(" | ")[2].strip()
            for path in sorted(Path(folder).rglob("data.*"))
            for line in path.read_text(encoding="latin-1").splitlines()
            if " | " in line
        ]
    texts = {text for gloss in lines for text in (*EXAMPLE.findall(gloss), gloss.partition(";")[0]) if text}
    return random.Random(0).sample(sorted(texts), n)  # noqa: S311 (no secret)
