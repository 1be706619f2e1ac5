"""Models and collections are loaded once, and kept once."""

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import InputError
from softset.server import Settings, resources
from softset.server.resources import Resources


@pytest.fixture
def loads(home, monkeypatch) -> list[str]:
    """The names of all models that were loaded."""
    names: list[str] = []
    load_encoder = resources.load_encoder

    def load(name: str, **options) -> object:
        names.append(name)
        return load_encoder(name, **options)

    monkeypatch.setattr(resources, "load_encoder", load)
    monkeypatch.setitem(Resources._cached_encoder.__kwdefaults__, "load", load)
    return names


@pytest.fixture
def offered(home) -> Iterator[Resources]:
    offered = Resources(Settings())
    yield offered
    offered.temporary.close()


@pytest.mark.parametrize(
    ("spellings", "number"), [((3, -4, 0.5, 0.5001, "3", "-4", "0.5"), 3), (("last", 6, -1, 1.0, "1.0"), 6)]
)
def test_all_spellings_of_a_layer_share_one_model(
    offered: Resources, loads: list[str], spellings: tuple, number: int
) -> None:
    encoders = {id(offered.encoder("minilm", layer=layer)) for layer in spellings}
    assert len(encoders) == 1 and offered.encoder("minilm", layer=number).encoder.layer == number
    assert loads == ["minilm"] * offered.models_loaded and offered.models_loaded <= 2


@pytest.mark.parametrize("layer", [7, -8, 1.5, "x"])
def test_layers_that_do_not_exist_are_refused(offered: Resources, layer: object) -> None:
    with pytest.raises(InputError, match="layer"):
        offered.encoder("minilm", layer=layer)
    with pytest.raises(InputError, match="layer"):
        offered.encoder("words", layer=layer)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("minilm", {"unit": "word"}),
        ("minilm", {"special_tokens": True, "overflow": "truncate", "max_length": 9}),
        ("words", {"unit": "word"}),
        ("words", {"overflow": "error"}),
    ],
)
def test_concurrent_requests_with_options_share_the_model(
    offered: Resources, loads: list[str], model: str, options: dict
) -> None:
    with ThreadPoolExecutor(6) as pool:
        encoders = list(pool.map(lambda _: offered.encoder(model, **options).encoder, range(12)))
    name = "_network" if model == "minilm" else "vocabulary"
    assert len({id(getattr(encoder, name)) for encoder in encoders}) == 1
    assert len(loads) == (1 if model == "minilm" else 2)  # with and without options


def test_only_the_current_version_of_a_collection_is_kept(home, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    collection = Collection.create(folder, [Item("a", "red")], vectors=np.eye(3)[:1])
    offered = Resources(Settings(collections={"c": folder}, vectors={}, models={}))
    versions = []
    for number in range(3):
        opened = offered.source(None, "c")
        assert len(opened) == number + 1
        versions.append(weakref.ref(opened))
        del opened
        collection.add([Item(str(number), "")], vectors=np.ones((1, 3)))
    offered.source(None, "c")
    gc.collect()
    assert [version() for version in versions] == [None] * 3
    offered.temporary.close()
