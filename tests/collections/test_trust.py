"""A received collection cannot choose which model is loaded: other models must be named by the user."""

import json
from pathlib import Path

import numpy as np
import pytest

from softset import cli
from softset.collections.collection import Collection, open_collection
from softset.collections.embedder import Embedder, text_encoder
from softset.collections.items import Item
from softset.encoders import loading
from softset.encoders.models import model_folder
from softset.errors import InputError
from softset.stores import addresses
from softset.vectors.registry import vectors_folder

FOLDER = str(model_folder("minilm"))
UNTRUSTED = [
    "someone/model",
    "someone/model@0a1b2c3d",
    "st:someone/model",
    FOLDER,
    "./model",
    f"words:{vectors_folder()}",
    "words:../vectors",
    "",
]


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The names that `load_encoder` was asked to open; it opens none of them."""
    names: list[str] = []

    def refuse(name: str, _: object) -> None:
        names.append(name)
        raise AssertionError(name)

    monkeypatch.setattr(loading, "_open_name", refuse)
    return names


def received(folder: Path, encoder: str) -> str:
    """Write a collection whose manifest names an encoder, and return its folder."""
    Collection.create(folder / "c", [Item("a", "red")], vectors=np.ones((1, 384)), encoder=Embedder(encoder))
    return str(folder / "c")


def run(*arguments: str, capsys) -> tuple[int, str]:
    with pytest.raises(SystemExit) as exit_info:
        cli.main(list(arguments))
    captured = capsys.readouterr()
    return exit_info.value.code, captured.out + captured.err


@pytest.mark.parametrize("name", UNTRUSTED)
def test_a_collection_cannot_choose_a_model(name: str, tmp_path: Path, opened: list[str], capsys) -> None:
    folder = received(tmp_path, name)
    with pytest.raises(
        InputError, match=r"neither a bundled nor an imported model: .* \(--model, in Python encoder=\)"
    ):
        open_collection(folder)
    (tmp_path / "more.txt").write_text("blue\n")
    for arguments in (
        ("find", "--collection", folder, "a"),
        ("membership", "--collection", folder, "a", "b"),
        ("add", folder, str(tmp_path / "more.txt")),
        ("serve", "--port", "0", "--collection", folder),
    ):
        code, output = run(*arguments, capsys=capsys)
        assert code == 2 and "if you trust it, name it yourself" in output, output
    assert opened == []


def test_the_name_that_the_user_gives_must_be_the_recorded_one(tmp_path: Path, opened: list[str], capsys) -> None:
    folder = received(tmp_path, "someone/model@0a1b2c3d")
    with pytest.raises(InputError, match="encoded with 'someone/model', but 'minilm' was given: give the same name"):
        open_collection(folder, encoder="minilm")
    code, output = run("find", "--collection", folder, "--model", "st:someone/model", "a", capsys=capsys)
    assert code == 2 and "give the same name" in output
    assert opened == []
    with pytest.raises(AssertionError, match="someone/model"):
        open_collection(folder, encoder="someone/model")
    assert opened == ["someone/model"]


def test_a_model_that_the_user_names_is_loaded(tmp_path: Path, capsys) -> None:
    (tmp_path / "items.txt").write_text("the sea\na war\n")
    folder = str(tmp_path / "c")
    assert run("index", str(tmp_path / "items.txt"), "--out", folder, "--model", FOLDER, capsys=capsys)[0] == 0
    code, output = run("find", "--collection", folder, "--model", FOLDER, "ocean", capsys=capsys)
    assert code == 0 and "the sea" in output.splitlines()[0]
    assert open_collection(folder, encoder=FOLDER).find("ocean")[0].text == "the sea"
    code, output = run("find", "--model", "minilm", "ocean", capsys=capsys)
    assert code == 2 and "--model needs a --collection" in output


@pytest.mark.parametrize("name", ["words", "words:glove-840b-300d", "minilm"])
def test_bundled_models_are_loaded_by_the_recorded_name(name: str, tmp_path: Path) -> None:
    embed, recorded = text_encoder(name)
    Collection.create(tmp_path / "c", [Item("1", "the sea"), Item("2", "a war")], encoder=Embedder(recorded, embed))
    for encoder in (None, name, recorded):
        assert open_collection(tmp_path / "c", encoder=encoder).find("ocean")[0].text == "the sea"


@pytest.mark.parametrize("name", UNTRUSTED)
def test_a_store_cannot_choose_a_model(name: str, monkeypatch, opened: list[str]) -> None:
    class ReceivedStore:
        encoder = name

        @classmethod
        def open(cls, *_: str) -> "ReceivedStore":
            return cls()

        def __len__(self) -> int:
            return 1

    monkeypatch.setitem(addresses.STORES, "received", ReceivedStore)
    with pytest.raises(InputError, match="if you trust it, name it yourself"):
        addresses.open_store("received://x#y")
    assert opened == []


def test_a_server_loads_the_models_that_its_settings_name(tmp_path: Path) -> None:
    from softset.server import Settings
    from softset.server.resources import Resources

    embed, recorded = text_encoder(FOLDER)
    Collection.create(tmp_path / "c", [Item("1", "the sea")], encoder=Embedder(recorded, embed))
    assert json.loads((tmp_path / "c" / "manifest.json").read_text())["encoder"].startswith(f"{FOLDER}@")
    for models, is_loaded in (({"mine": FOLDER}, True), (None, False)):
        resources = Resources(Settings(collections={"c": tmp_path / "c"}, models=models, vectors={}))
        try:
            if is_loaded:
                assert resources.source(None, "c").find("ocean")[0].text == "the sea"
            else:
                with pytest.raises(InputError, match="if you trust it"):
                    resources.source(None, "c")
        finally:
            resources.temporary.close()
