"""Tests of model folders: kind, checksum, and the files that an import copies."""

import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from softset import load_encoder
from softset.encoders.model_management import import_model, verify_model
from softset.encoders.models import (
    BUNDLED,
    MANIFEST,
    REGISTRY,
    checksum,
    model_files,
    model_folder,
    model_kind,
    read_licence,
)
from softset.errors import FileError, InputError
from tests.encoders.tiny_models import field, model2vec, number, onnx_bytes, onnx_model, table, text, transformers_like

NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def test_the_bundled_model_passes_verification(tmp_path: Path) -> None:
    folder = model_folder(BUNDLED)
    assert folder is not None and model_kind(folder) == "onnx" and model_folder("absent") is None
    MANIFEST.verify(folder)
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "meta.json").unlink()
    (tmp_path / "copy" / "vocab").mkdir()
    assert checksum(folder) == checksum(tmp_path / "copy")  # noted, and computed


@pytest.mark.parametrize(
    ("names", "config", "kind"),
    [
        (["model.onnx"], {}, "onnx"),
        (["onnx/model.onnx"], {"model_type": "bert"}, "onnx"),
        (["model.onnx", "moments.safetensors"], {"model_type": "bert"}, "onnx"),
        (["onnx/model.onnx", "model.safetensors"], {"model_type": "bert", "architectures": ["X"]}, "transformers"),
        (["model-00001-of-00002.safetensors"], {"model_type": "bert"}, "transformers"),
        (["model.safetensors"], {"model_type": "model2vec"}, "model2vec"),
        (["model.safetensors"], {"normalize": True}, "model2vec"),
    ],
)
def test_the_kind_follows_from_the_files(tmp_path: Path, names: list[str], config: dict, kind: str) -> None:
    assert model_kind(fill(tmp_path / "nowhere", names, config)) == kind


def fill(folder: Path, names: list[str], facts: dict) -> Path:
    """Create a folder with empty files and a config."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(facts))
    return folder


def test_the_kind_can_be_chosen(tmp_path: Path) -> None:
    names, config = ["onnx/model.onnx", "model.safetensors"], {"model_type": "bert", "architectures": ["X"]}
    complete = fill(tmp_path / "complete", names, config)
    plain = fill(tmp_path / "plain", names, {"model_type": "bert"})
    assert model_kind(complete, "onnx") == "onnx"
    assert model_kind(plain) == "onnx" and model_kind(plain, "transformers") == "transformers"
    moments = fill(tmp_path / "moments", ["model.onnx", "moments.safetensors"], config)
    assert model_kind(moments) == "onnx", "moments are no weights"
    with pytest.raises(FileError, match="has no model2vec model, only transformers and onnx"):
        model_kind(complete, "model2vec")
    with pytest.raises(InputError, match="the kind 'pickle' is not known: use onnx, transformers, model2vec"):
        import_model("nowhere", "mine", kind="pickle")


@pytest.mark.parametrize(
    ("names", "config", "sentence"),
    [
        ([], {}, "nowhere is not a model"),
        (["model.safetensors"], {}, "nowhere is not a model"),
        (["onnx/other.onnx", "2_Dense/model.safetensors"], {"model_type": "bert"}, "nowhere is not a model"),
        (["pytorch_model.bin"], {"model_type": "bert"}, "has its weights in pytorch_model.bin"),
        (["a.pt", "b.json"], {}, "has its weights in a.pt"),
        (["2_Dense/pytorch_model.bin"], {}, "nowhere is not a model"),
    ],
)
def test_folders_without_a_model_are_rejected(tmp_path: Path, names: list[str], config: dict, sentence: str) -> None:
    with pytest.raises(FileError, match=sentence):
        model_kind(fill(tmp_path / "nowhere", names, config))


def test_the_checksum_changes_with_the_weights(tmp_path: Path) -> None:
    folders = [
        onnx_model(tmp_path / "plain"),
        onnx_model(tmp_path / "apart", place="onnx", data="model.onnx_data"),
        model2vec(tmp_path / "static"),
        transformers_like(tmp_path / "both"),
    ]
    weights = ("model.onnx", "onnx/model.onnx_data", "model.safetensors", "model.safetensors")
    (tmp_path / "both" / "onnx").mkdir()
    (tmp_path / "both" / "onnx" / "model.onnx").write_bytes(b"not used")
    before = [checksum(folder) for folder in folders]
    assert all(len(digits) == 8 for digits in before)
    for folder, name, old in zip(folders, weights, before, strict=True):
        (folder / "meta.json").write_text(json.dumps({"files": {Path(name).name: {"sha256": "0" * 64}}}))
        assert checksum(folder) == old  # another program's meta.json says nothing
        content = bytearray((folder / name).read_bytes())
        content[-1] ^= 1
        (folder / name).write_bytes(content)
        assert checksum(folder) != old


@pytest.mark.parametrize("make", [onnx_model, model2vec])
def test_checksums_in_a_foreign_manifest_are_not_trusted(tmp_path: Path, make) -> None:
    """The author of a folder could write the checksums of another model into it."""
    folder = make(tmp_path / "m")
    MANIFEST.write(folder, {"kind": "any"})
    before = checksum(folder)
    weights = next(folder.glob("model.*"))
    weights.write_bytes(make(tmp_path / "other", table(seed=1)).joinpath(weights.name).read_bytes())
    assert checksum(folder) != before


def test_checksums_of_an_import_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_model(str(onnx_model(tmp_path / "m", data="model.onnx_data")), "mine")
    folder = REGISTRY.folder("mine") or NOWHERE
    computed = checksum(tmp_path / "m")
    monkeypatch.setattr("softset.encoders.models.sha256", lambda path: pytest.fail(f"{path} was read"))
    assert checksum(folder) == computed


@pytest.mark.parametrize(
    "location",
    [
        "../secret",
        "/etc/hostname",
        "sub/../../secret",
        "..\\\\secret",
        "\0",
        "other.bin",
        "C:model.onnx_data",
        "C:\\model.onnx_data",
    ],
)
def test_external_onnx_weights_in_other_files_are_rejected(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(table().tobytes())
    folder = onnx_model(tmp_path / "m", data="x")
    (folder / "C:model.onnx_data").write_bytes(table().tobytes())  # a path on another drive of Windows
    (folder / "model.onnx").write_bytes(onnx_bytes(table(), location))
    with pytest.raises(FileError, match=r"but only model\.onnx_data is supported"):
        load_encoder(folder)


def test_external_weights_in_subgraphs_are_found() -> None:
    from softset.encoders.onnx_graph import weight_locations

    onnx = pytest.importorskip("onnx")
    tensor = onnx.TensorProto(name="w", data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="deep.bin")
    tensor.external_data.add(key="offset", value="4096")
    inner = onnx.GraphProto(initializer=[tensor])
    node = onnx.NodeProto(op_type="If", attribute=[onnx.AttributeProto(name="then_branch", g=inner)])
    model = onnx.ModelProto(graph=onnx.GraphProto(node=[node])).SerializeToString()
    assert list(weight_locations(memoryview(model))) == ["deep.bin"]


def test_sparse_tensors_are_rejected(tmp_path: Path) -> None:
    """A small file could otherwise stand for gigabytes of zeros."""
    folder = onnx_model(tmp_path / "m")
    sparse = field(7, field(15, field(1, number(1, 1) + text(8, "w")) + number(3, 10**12)))
    (folder / "model.onnx").write_bytes(onnx_bytes(table(), None) + sparse)
    with pytest.raises(FileError, match=r"model\.onnx is not an ONNX file \(it has a sparse tensor"):
        load_encoder(folder)


def test_the_checksum_includes_shards_inside_the_folder(tmp_path: Path) -> None:
    folder = transformers_like(tmp_path / "m")
    (folder / "parts").mkdir()
    (folder / "model.safetensors").rename(folder / "parts" / "one.safetensors")
    (folder / "x.safetensors").write_bytes(b"x")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"embeddings": "parts/one.safetensors"}}))
    before = checksum(folder)
    (folder / "parts" / "one.safetensors").write_bytes(b"another")
    assert checksum(folder) != before
    (folder / "C:one.safetensors").write_bytes(b"a file on this system, a path on another drive of Windows")
    absolute = str(folder / "parts" / "one.safetensors")
    for name in ("../m/parts/one.safetensors", "two.safetensors", "C:one.safetensors", "C:\\one.safetensors", absolute):
        index.write_text(json.dumps({"weight_map": {"embeddings": name}}))
        with pytest.raises(FileError, match=re.escape(f"refers to weights in {name!r}, which is missing or outside")):
            load_encoder(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json"])
def test_the_checksum_changes_with_tokenizer_and_config(tmp_path: Path, name: str) -> None:
    folder = onnx_model(tmp_path / "m")
    before = checksum(folder)
    (folder / name).write_text((folder / name).read_text() + " ")
    assert checksum(folder) != before


def test_the_checksum_covers_all_shards(tmp_path: Path) -> None:
    folder = transformers_like(tmp_path / "m")
    whole = checksum(folder)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    assert checksum(folder) == whole
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"x")
    two = checksum(folder)
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"y")
    assert len({whole, two, checksum(folder)}) == 3


def test_an_import_is_complete_or_absent(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = onnx_model(tmp_path / "m")
    import_model(str(source), "mine")
    before = load_encoder("mine").encode(["red"]).vectors
    onnx_model(tmp_path / "other", table(seed=1))

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("softset.io.registry.write_atomically", fails)
        with pytest.raises(KeyboardInterrupt):
            import_model(str(tmp_path / "other"), "mine", replace=True)
    assert np.array_equal(load_encoder("mine").encode(["red"]).vectors, before) and len(list(home.iterdir())) == 2
    import_model(str(tmp_path / "other"), "mine", replace=True)
    assert not np.array_equal(load_encoder("mine").encode(["red"]).vectors, before) and len(list(home.iterdir())) == 2
    verify_model("mine")


def test_an_error_of_several_lines_becomes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise FileError("it is broken:\n  the first layer\n")

    monkeypatch.setattr("softset.encoders.model_management.load_encoder", fails)
    with pytest.raises(FileError, match=r"^it is broken: the first layer$"):
        import_model(str(onnx_model(tmp_path / "m")), "mine")


def test_an_import_does_not_need_its_source(tmp_path: Path) -> None:
    source = onnx_model(tmp_path / "m", data="model.onnx_data")
    facts = import_model(str(source), "mine")
    assert facts["source"] == "m" and facts["dimensions"] == 4
    shutil.rmtree(source)
    assert len(load_encoder("mine").encode(["red book"]).vectors) == 2
    noted = MANIFEST.read(REGISTRY.folder("mine") or NOWHERE)
    assert set(noted["files"]) == {"config.json", "tokenizer.json", "model.onnx", "model.onnx_data"}


def test_pickles_are_never_read(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    source = onnx_model(tmp_path / "m")
    for name in ("pytorch_model.bin", "x.pkl", "config.pt", "evil.model"):
        (source / name).write_bytes(pickle.dumps(Bomb()))
    import_model(str(source), "mine")
    assert not (tmp_path / "exploded").exists()
    assert {path.name for path in (REGISTRY.folder("mine") or NOWHERE).iterdir()} == {
        "config.json",
        "meta.json",
        "model.onnx",
        "tokenizer.json",
    }


def test_only_safe_files_are_copied(tmp_path: Path) -> None:
    weights = ["model-00001-of-00002.safetensors", "model.safetensors.index.json"]
    names = ["config.json", *weights, "spiece.model", "vocab.txt"]
    others = ["pytorch_model.bin", "x.pkl", "x.pt", "evil.model", "run.py", "meta.json", "2_Dense/model.safetensors"]
    onnx = ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/model_fp16.onnx", "onnx/config.json", "onnx/run.py"]
    for name in [*names, *others, *onnx]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(onnx_bytes(table(), None))
    assert set(model_files(tmp_path, "transformers")) == set(names)
    text = {"config.json", "model.safetensors.index.json", "spiece.model", "vocab.txt"}
    assert set(model_files(tmp_path, "onnx")) == {*text, "model.onnx", "model.onnx_data"}
    (tmp_path / "moments.safetensors").write_bytes(b"x")
    assert "moments.safetensors" in model_files(tmp_path, "onnx")


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlanguage: en\nlicense: apache-2.0\n---\ntext", "apache-2.0"),
        ("---\r\nlicense: mit\r\n---\r\n", "mit"),
        ("license: mit\n", None),
        ("---\nlanguage: en\n---\nlicense: mit\n", None),
        ("---\nlicense: other\nlicense_name: mine\n---\n", "other"),
        ("", None),
    ],
)
def test_the_licence_is_read_from_the_model_card(tmp_path: Path, card: str, licence: str | None) -> None:
    assert read_licence(tmp_path) is None
    (tmp_path / "README.md").write_bytes(card.encode())
    assert read_licence(tmp_path) == licence


def test_progress_counts_copied_bytes(tmp_path: Path) -> None:
    source, calls = onnx_model(tmp_path / "m", data="model.onnx_data"), list[tuple[int, int]]()
    import_model(str(source), "mine", progress=lambda done, total: calls.append((done, total)))
    size = sum(path.stat().st_size for path in source.iterdir())
    assert calls[-1] == (size, size) and [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_facts_of_a_foreign_manifest_are_ignored(tmp_path: Path) -> None:
    source = onnx_model(tmp_path / "m")
    hostile = {"softset": "Model", "version": 1, "name": "other", "kind": "words", "files": {"../x": {}}}
    for content in (json.dumps(hostile), "[]", "{", "[" * 100_000):
        (source / "meta.json").write_text(content)
        facts = import_model(str(source), "mine", replace=True)
        assert (facts["name"], facts["kind"]) == ("mine", "onnx") and "licence" not in facts


@pytest.mark.parametrize(("name", "rejected"), [("config.json", True), ("vocab.txt", True), ("model.onnx", False)])
def test_text_files_have_a_size_limit(tmp_path: Path, monkeypatch, name: str, rejected: bool) -> None:
    source = onnx_model(tmp_path / "m", table(d=300))
    monkeypatch.setattr("softset.encoders.model_management.MAX_TEXT_BYTES", 5000)
    if not rejected:
        assert (source / name).stat().st_size > 5000
        import_model(str(source), "mine")
        return
    with (source / name).open("ab") as file:
        file.write(b" " * 5001)
    with pytest.raises(FileError, match=rf"{name} has .* bytes, but the limit"):
        import_model(str(source), "mine")
