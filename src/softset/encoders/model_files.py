"""The files of a model where they lie: in a folder, in a folder inside a wheel or zip file, or on the hub."""

import errno
import re
import stat
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import IO

from softset.encoders.models import MOMENTS, ONNX_DATA, PICKLED
from softset.errors import FileError, InputError, MissingExtraError
from softset.io.text import first_line
from softset.vectors.formats.streams import CHUNK_BYTES, archive_error

__all__ = [
    "ModelFiles",
    "Part",
    "check_tokeniser",
    "chosen",
    "fetch",
    "find_files",
    "licence_in",
    "list_folder",
]

# What a model is made of. Nothing else is copied: no pickled weights, and no code.
CONFIG = ("*.json",)
TOKENISER = (
    "tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "dict.txt", "bpe.codes", "spiece.model", "spm.model",
    "tokenizer.model", "sentencepiece.model", "sentencepiece.bpe.model", "source.spm", "target.spm", "*.tiktoken",
)  # fmt: skip
TENSORS = ("*.safetensors",)
ONNX = ("model.onnx", *ONNX_DATA)
CARD = "README.md"
ADVICE = "give a model's folder, or a wheel or zip file that holds one"

LARGEST = 50 << 30  # bytes that an archive may hold
LARGEST_TEXT = 1 << 28  # bytes of a file that is read as a whole; tokenisers of 250,000 words take 35 MB
RATIO, RATIO_FREE = 100, 1 << 30  # weights hardly shrink: what unpacks to more than this is no model
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError, NotImplementedError, ValueError)


@dataclass(frozen=True)
class Part:
    """One file of a model: how many bytes it should have, and a function that opens it."""

    size: int
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True)
class ModelFiles:
    """All files of a model by their names in its folder; `where` they lie, and which folder of an archive it is."""

    where: Path
    home: str | None
    parts: dict[str, Part]

    def read(self, name: str) -> Iterator[bytes]:
        """Yield a file piece by piece; one that has not the size it should have is an error."""
        part, done = self.parts[name], 0
        if part.size > LARGEST_TEXT and _matches(name, (*CONFIG, *TOKENISER)):
            raise FileError(f"{self.where}: {name} has {part.size:,} bytes, as no such file of a model has")
        try:
            with part.open() as file:
                while chunk := file.read(CHUNK_BYTES):
                    done += len(chunk)
                    if done > part.size:
                        break
                    yield chunk
        except FileError:
            raise
        except (*BROKEN, OSError) as error:
            if _is_of_the_disk(error):
                raise
            raise archive_error(str(self.where), error) from error
        if done != part.size:
            other = "more" if done > part.size else "fewer"
            raise FileError(
                f"{self.where}: {name} should have {part.size:,} bytes, but has {other}: get the model again"
            )


def _is_of_the_disk(error: Exception) -> bool:
    """Tell a fault of the disk from one of an archive, whose places may lie before its beginning."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def chosen(kind: str, names: Collection[str]) -> list[str]:
    """Return which files a model of one kind is made of; an ONNX file may lie in a folder `onnx`."""
    place = "onnx/" if kind == "onnx" and "model.onnx" not in names else ""
    weights = (*(place + one for one in ONNX), MOMENTS) if kind == "onnx" else TENSORS
    found = [name for name in sorted(names) if "/" not in name and _matches(name, (*CONFIG, *TOKENISER))]
    found += [name for name in sorted(names) if _matches(name, weights)]
    return [name for name in found if name != "meta.json"]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.count("/") == one.count("/") and fnmatchcase(name, one) for one in patterns)


def check_tokeniser(kind: str, names: Collection[str], where: Path) -> None:
    """Refuse a model without what cuts texts into tokens."""
    wanted = TOKENISER if kind == "transformers" else TOKENISER[:1]
    if not any(_matches(name, wanted) for name in names):
        raise FileError(
            f"{where} has no tokenizer.json, and without its tokeniser a model cannot read texts: save the tokeniser "
            "beside the model"
        )


def licence_in(card: str) -> str | None:
    """Return the licence that the head of a model's README.md names.

    >>> licence_in("---\\nlanguage: en\\nlicense: apache-2.0\\n---\\n# A model")
    'apache-2.0'
    """
    head = re.match(r"---\r?\n(.*?\n)---", card, re.DOTALL)
    found = re.search(r"^license: *([\w.+-]{1,100})\s*$", head[1], re.MULTILINE) if head else None
    return found[1] if found else None


@contextmanager
def find_files(path: Path) -> Iterator[ModelFiles]:
    """Give the files of a model in a folder, or in the one folder of a wheel or zip file that holds a model."""
    if path.is_dir():
        yield list_folder(path)
        return
    if not path.is_file():
        raise FileError(f"{path} is neither a folder nor a file: {ADVICE}")
    with path.open("rb") as file, _archive(path, file) as archive:
        yield _list_archive(path, archive)


# In a folder


def list_folder(folder: Path) -> ModelFiles:
    """Return the files of a folder and of its folder `onnx`; links that lead elsewhere are refused when opened."""
    root = folder.resolve()
    inside = [*folder.iterdir(), *(folder / "onnx").glob("*")]
    parts = {
        path.relative_to(folder).as_posix(): Part(path.stat().st_size, partial(_open_inside, root, path))
        for path in inside
        if path.is_file()
    }
    return ModelFiles(folder, None, parts)


def _open_inside(root: Path, path: Path) -> IO[bytes]:
    target = path.resolve()
    if not target.is_relative_to(root):
        raise FileError(f"{path} is a link to {target}, outside of the model's folder: put a copy there (cp -RL)")
    return target.open("rb")


# In an archive


def _archive(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    begins_as_one = file.read(2) == b"PK"
    try:
        return zipfile.ZipFile(file)
    except (*BROKEN, OSError) as error:
        if _is_of_the_disk(error):
            raise
        if begins_as_one:
            raise archive_error(str(path), error) from error
        raise FileError(f"{path} is neither a folder nor an archive: {ADVICE}") from error


def _list_archive(path: Path, archive: zipfile.ZipFile) -> ModelFiles:
    members = [one for one in archive.infolist() if not one.is_dir()]
    _check_names(path, archive.namelist())
    _check_sizes(path, members)
    home = _home(path, [PurePosixPath(one.filename) for one in members])
    parts: dict[str, Part] = {}
    for one in members:
        if PurePosixPath(one.filename).is_relative_to(home):
            name = PurePosixPath(one.filename).relative_to(home).as_posix()
            if name in parts:
                raise FileError(f"{path} holds {one.filename[:100]!r} twice: unpack it, and import the model's folder")
            parts[name] = Part(one.file_size, partial(_open_member, path, archive, one))
    return ModelFiles(path, str(home), parts)


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse an archive that wants to write elsewhere; nothing of it is trusted then."""
    for name in names:
        steps = re.split(r"[/\\]", name)
        if ".." in steps or not steps[0] or steps[0].endswith(":"):
            raise FileError(f"{path} holds {name[:100]!r}, a path that leads out of its folder: do not use it")


def _check_sizes(path: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    packed, unpacked = path.stat().st_size, sum(one.file_size for one in members)
    if unpacked > LARGEST or (unpacked > RATIO_FREE and unpacked > RATIO * packed):
        raise FileError(
            f"{path} has {packed:,} bytes and would unpack to {unpacked:,}, as no model does: if you trust it, unpack "
            "it yourself, and import the model's folder"
        )


def _home(path: Path, names: Sequence[PurePosixPath]) -> PurePosixPath:
    """Return the folder of the model; modules of a model in folders within its own do not count."""
    held: dict[PurePosixPath, set[str]] = defaultdict(set)
    for name in names:
        held[name.parent].add(name.name)
        if name.parent.name == "onnx":
            held[name.parent.parent].add(f"onnx/{name.name}")
    homes = [home for home, inside in held.items() if _is_model(inside)]
    homes = homes or [home for home, inside in held.items() if any(PICKLED.fullmatch(one) for one in inside)]
    homes = sorted(home for home in homes if not set(home.parents) & set(homes))
    if len(homes) == 1:
        return homes[0]
    if not homes:
        raise FileError(f"{path} holds no model: a folder with config.json and *.safetensors, or model.onnx was wanted")
    some = ", ".join(repr(str(home)[:100]) for home in homes[:5]) + (", …" if len(homes) > 5 else "")
    raise FileError(f"{path} holds {len(homes)} models ({some}): unpack it, and import one of these folders")


def _is_model(names: set[str]) -> bool:
    tensors = "config.json" in names and any(_matches(name, TENSORS) for name in names)
    return tensors or bool(names & {"model.onnx", "onnx/model.onnx"})


def _open_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    # bz2 and lzma members are unpacked without a bound on what one read may give.
    readable = not member.flag_bits & 1 and member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not readable or stat.S_ISLNK(member.external_attr >> 16):
        raise FileError(
            f"{path} holds {member.filename[:100]!r} encrypted, as a link, or in a compression other than deflate: "
            "unpack it yourself, and import the model's folder"
        )
    return archive.open(member)


# On the hub


def fetch(name: str, folder: Path) -> None:
    """Download the files of a model on the hub to a folder."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", name) or name.endswith((".whl", ".zip")):
        raise InputError(f"there is no folder, wheel or zip file {name}: give the path of a model, or its hub name")
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtraError(
            f"there is no folder or file {name}, and to ask the hub for it huggingface_hub is needed, which is not "
            "installed: pip install 'softset[torch]'"
        ) from error
    wanted = [*CONFIG, *TOKENISER, *TENSORS, *ONNX, *(f"onnx/{one}" for one in ONNX), CARD]
    elsewhere = ["*/*.json", "*/*.safetensors", "*/*.tiktoken"]  # a star also stands for slashes there
    try:
        hub.snapshot_download(name, local_dir=folder, allow_patterns=wanted, ignore_patterns=elsewhere)
    except Exception as error:  # the library's errors, and those of what it is built on, have no common class
        why = first_line(error)
        raise FileError(f"there is no folder or file {name}, and the hub did not give a model ({why})") from error
