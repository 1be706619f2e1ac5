"""`softset models`: import, list, info, remove and error messages."""

import json
import os
import pickle
import shutil
import sys
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

import softset
from softset.encoders.models import model_folder
from tests.encoders.tiny_models import (
    TEXTS,
    model2vec,
    onnx_bytes,
    onnx_model,
    table,
    transformers_like,
)


def imports(home: Path) -> list[str]:
    """Return all that lies in the cache of models, down to the last file."""
    return sorted(path.name for path in (home / "cache" / "models").rglob("*"))


def copied(home: Path, name: str) -> set[str]:
    """Return the names of the files of an import."""
    folder = model_folder(name)
    assert folder is not None
    return {path.name for path in folder.iterdir()}


def flip_last_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def same_vectors(name: str, source: Path) -> bool:
    copy, original = softset.load_encoder(name).encode(TEXTS), softset.load_encoder(source).encode(TEXTS)
    return len(copy.vectors) > 0 and np.array_equal(copy.vectors, original.vectors)


# What works


def test_import_list_info_remove(run, home: Path) -> None:
    onnx_model(home / "tiny")
    assert run("models", "import", "tiny", "--name", "mine") == (0, "mine: onnx, 4 dimensions, 1 layer\n", "")
    assert same_vectors("mine", home / "tiny")
    code, out, err = run("models", "list")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert (code, err) == (0, "") and list(rows) == ["minilm", "words", "mine"]
    assert rows["minilm"] == ["onnx", "384", "dimensions", "6", "layers", "26.6", "MB"]
    assert rows["mine"] == ["onnx", "4", "dimensions", "1", "layers", "0.0", "MB"]
    assert rows["words"] == ["words", "300", "dimensions", "12.0", "MB"]
    assert run("models", "remove", "mine") == (0, "mine: removed\n", "")
    assert imports(home) == [] and "mine" not in run("models", "list")[1]


def test_bundled_model_can_be_imported(run, home: Path) -> None:
    source = model_folder("minilm")
    assert source is not None
    code, out, err = run("models", "import", str(source), "--name", "mine", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and facts["kind"] == "onnx"
    assert (facts["dimensions"], facts["layers"]) == (384, 6)
    assert same_vectors("mine", source) and "verified" in run("models", "info", "mine", "--verify")[1]
    ours, theirs = softset.load_encoder("mine", layer=4), softset.load_encoder("minilm", layer=4)
    assert np.array_equal(ours.second_moment, theirs.second_moment)


@pytest.mark.parametrize("data", [None, "model.onnx_data", "model.onnx.data", "model.onnx_data_1"])
@pytest.mark.parametrize("place", ["", "onnx"])
def test_onnx_models_come_with_their_data(run, home: Path, data: str | None, place: str) -> None:
    onnx_model(home / "tiny", place=place, data=data)
    (home / "tiny" / place / "model_quantized.onnx").write_bytes(b"another")
    assert run("models", "import", "tiny", "--name", "mine")[0] == 0
    names = {"meta.json", "config.json", "tokenizer.json", "model.onnx"} | ({data} if data else set())
    assert copied(home, "mine") == names and same_vectors("mine", home / "tiny")
    facts = json.loads(run("models", "info", "mine", "--json")[1])
    assert facts["source"] == "tiny"


def test_model2vec_from_a_folder(run, home: Path) -> None:
    model2vec(home / "tiny")
    (home / "tiny" / "README.md").write_text("---\nlicense: mit\n---\n# Tiny")
    code, out, _ = run("models", "import", "tiny", "--name", "mine", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["kind"] == "model2vec" and facts["dimensions"] == 4 and "layers" not in facts
    assert facts["licence"] == "mit" and facts["source"] == "tiny"
    assert copied(home, "mine") == {"meta.json", "config.json", "tokenizer.json", "model.safetensors"}
    assert same_vectors("mine", home / "tiny")


@pytest.mark.torch
def test_transformers_model_is_opened(run, home: Path, capsys) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    transformers_like(home / "tiny")
    refused(run, home, "tiny", "tiny lacks 37 of its weights")
    torch.manual_seed(0)
    transformers.AutoModel.from_config(transformers.AutoConfig.from_pretrained("tiny")).save_pretrained("tiny")
    capsys.readouterr()  # a bar of the library's
    (home / "tiny" / "onnx").mkdir()
    (home / "tiny" / "onnx" / "model.onnx").write_bytes(b"not needed")
    code, out, err = run("models", "import", "tiny", "--name", "mine", "--replace")
    assert (code, out, err) == (0, "mine: transformers, 16 dimensions, 2 layers\n", "")
    assert same_vectors("mine", home / "tiny") and "model.onnx" not in copied(home, "mine")
    facts = json.loads(run("models", "info", "mine", "--json")[1])
    assert (facts["longest"], facts["layers"]) == (32, 2) and facts["signature"].startswith("encoder:mine@")


def test_a_transformers_model_without_torch_names_the_extra(run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    transformers_like(home / "tiny")
    refused(run, home, "tiny", "pip install 'softset[torch]'")
    facts = json.loads(run("models", "info", "tiny", "--json")[1])
    assert facts["signature"] is None and "softset[torch]" in facts["problem"] and facts["kind"] == "transformers"


def both_kinds(folder: Path) -> Path:
    """Fill a folder with an ONNX file and with safetensors that were saved with their architecture."""
    transformers_like(folder)
    (folder / "model.onnx").write_bytes(onnx_bytes(table(), None))
    save_file({"second_moment": np.eye(4)}, folder / "moments.safetensors")
    return folder


def test_the_kind_option_chooses_among_two_models(run, home: Path) -> None:
    both_kinds(home / "tiny")
    assert run("models", "import", "tiny", "--name", "quick", "--kind", "onnx")[1].startswith("quick: onnx, 4 dim")
    assert "model.onnx" in copied(home, "quick") and "model.safetensors" not in copied(home, "quick")
    assert softset.load_encoder("quick").encode(["red book"]).counts.tolist() == [2]
    message = "tiny lacks 37 of its weights" if find_spec("torch") else "this model needs torch"
    for kind in ([], ["--kind", "transformers"]):  # without the option, transformers is chosen
        assert message in run("models", "import", "tiny", "--name", "plain", *kind)[2]


def test_missing_kind_gives_one_sentence(run, home: Path) -> None:
    onnx_model(home / "tiny")
    code, out, err = run("models", "import", "tiny", "--name", "mine", "--kind", "transformers")
    assert (code, out) == (2, "") and "tiny has no transformers model, only onnx" in err
    assert run("models", "import", "tiny", "--name", "mine", "--kind", "pickle")[0] == 2
    assert imports(home) == []


def test_links_within_a_folder_are_followed(run, home: Path) -> None:
    onnx_model(home / "tiny")
    (home / "tiny" / "tokenizer.json").rename(home / "tiny" / "tokeniser.txt")
    (home / "tiny" / "tokenizer.json").symlink_to("tokeniser.txt")
    (home / "link").symlink_to("tiny")
    assert run("models", "import", "link", "--name", "mine")[0] == 0 and same_vectors("mine", home / "tiny")
    folder = model_folder("mine")
    assert folder is not None and not (folder / "tokenizer.json").is_symlink()


def test_replace_is_explicit_and_atomic(run, home: Path) -> None:
    onnx_model(home / "tiny"), model2vec(home / "other"), (home / "none").mkdir()
    assert run("models", "import", "tiny", "--name", "mine")[0] == 0
    code, out, err = run("models", "import", "other", "--name", "mine")
    assert code == 2 and out == "" and "there are already models named 'mine'" in err and "--replace" in err
    before = imports(home)
    assert run("models", "import", "none", "--name", "mine", "--replace")[0] == 2
    assert imports(home) == before and same_vectors("mine", home / "tiny")
    assert run("models", "import", "other", "--name", "mine", "--replace")[0] == 0
    assert same_vectors("mine", home / "other") and len(list((home / "cache" / "models").iterdir())) == 2


# The hub


def hub(monkeypatch: pytest.MonkeyPatch, repository: Path) -> list[str]:
    """Let a folder stand for the hub; return the list of what will have been fetched."""
    fetched: list[str] = []

    def snapshot_download(repo_id, *, local_dir, allow_patterns, ignore_patterns):
        assert repo_id == "somebody/tiny"
        for file in (path for path in repository.rglob("*") if path.is_file()):
            name = file.relative_to(repository).as_posix()
            allowed, ignored = (
                [pattern for pattern in patterns if fnmatch(name, pattern)]
                for patterns in (allow_patterns, ignore_patterns)
            )
            if allowed and not ignored:
                fetched.append(name)
                (Path(local_dir) / name).parent.mkdir(exist_ok=True)
                shutil.copy(file, Path(local_dir) / name)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    return fetched


def test_hub_model_is_downloaded(run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = onnx_model(home / "remote", place="onnx", data="model.onnx_data")
    for name in ("pytorch_model.bin", "modeling.py", "x.pkl", "onnx/model_O4.onnx", "weights.pt", "onnx/more.json"):
        (source / name).write_bytes(b"x")
    (source / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    fetched = hub(monkeypatch, source)
    assert run("models", "import", "somebody/tiny", "--name", "mine")[0] == 0
    safe = {"config.json", "tokenizer.json", "README.md", "onnx/model.onnx", "onnx/model.onnx_data"}
    assert set(fetched) == safe and same_vectors("mine", source)
    facts = json.loads(run("models", "info", "mine", "--json")[1])
    assert facts["source"] == "somebody/tiny" and facts["licence"] == "apache-2.0"
    assert len(list((home / "cache" / "models").iterdir())) == 2


def test_hub_errors_give_one_sentence(run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "remote").mkdir()
    hub(monkeypatch, home / "remote")
    code, _, err = run("models", "import", "somebody/tiny", "--name", "mine")
    assert code == 2 and err.startswith("softset: somebody/tiny is not a model") and imports(home) == []

    def fails(*_, **__):
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=fails))
    code, _, err = run("models", "import", "somebody/tiny", "--name", "mine")
    assert code == 2 and "the hub has no such model (no route)" in err and imports(home) == []
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    code, _, err = run("models", "import", "somebody/tiny", "--name", "mine")
    assert code == 2 and "huggingface_hub" in err and "pip install 'softset[torch]'" in err and imports(home) == []
    for path in ("./somebody", "/no/such/folder", "absent.whl", "absent.zip", "a/b/c"):
        code, _, err = run("models", "import", path, "--name", "mine")
        assert code == 2 and f"there is no folder {path}" in err


# What cannot be imported


def nothing(home: Path) -> str:
    (home / "bad").mkdir()
    return "is not a model: config.json"


def only_pickles(home: Path) -> str:
    (transformers_like(home / "bad") / "model.safetensors").unlink()
    (home / "bad" / "pytorch_model.bin").write_bytes(pickle.dumps({"weights": 1}))
    return "has its weights in pytorch_model.bin"


def no_tokeniser(home: Path) -> str:
    (onnx_model(home / "bad") / "tokenizer.json").unlink()
    return "has no tokenizer.json"


def no_tokeniser_of_transformers(home: Path) -> str:
    (transformers_like(home / "bad") / "tokenizer.json").unlink()
    return "has no tokenizer.json"


def a_link_outside(home: Path) -> str:
    (onnx_model(home / "bad") / "tokenizer.json").rename(home / "secret")
    (home / "bad" / "tokenizer.json").symlink_to(home / "secret")
    return "outside of the model's folder"


def a_linked_folder_outside(home: Path) -> str:
    onnx_model(home / "bad", place="onnx")
    (home / "bad" / "onnx").rename(home / "elsewhere")
    (home / "bad" / "onnx").symlink_to(home / "elsewhere")
    return "outside of the model's folder"


def broken_config(home: Path) -> str:
    (onnx_model(home / "bad") / "config.json").write_text('{"model_type": ')
    return "bad/config.json is not a complete JSON file"


def broken_tokeniser(home: Path) -> str:
    (onnx_model(home / "bad") / "tokenizer.json").write_text("{}")
    return "bad/tokenizer.json is not a valid tokenizer"


def broken_onnx(home: Path) -> str:
    (onnx_model(home / "bad") / "model.onnx").write_bytes(b"\x00" * 100)
    return "bad/model.onnx"


def missing_data(home: Path) -> str:
    (onnx_model(home / "bad", data="model.onnx_data") / "model.onnx_data").unlink()
    return "model.onnx_data"


def rows_for_few_words(home: Path) -> str:
    onnx_model(home / "bad", table(words=2))
    return "cannot be run on 2 texts"


def not_finite(home: Path) -> str:
    onnx_model(home / "bad", np.full((7, 4), np.nan, dtype=np.float32))
    return "not finite for the text 'A red book.'"


def broken_table(home: Path) -> str:
    (model2vec(home / "bad") / "model.safetensors").write_bytes(b"\x08\x00")
    return "bad/model.safetensors is not a complete safetensors file"


def a_file(home: Path) -> str:
    (home / "bad").write_text("red 1 2\n")
    return "bad is not a folder"


def a_pipe(home: Path) -> str:
    os.mkfifo(home / "bad")
    return "bad is not a folder"


@pytest.mark.parametrize(
    "make",
    [
        nothing, a_file, a_pipe, only_pickles, no_tokeniser, no_tokeniser_of_transformers, a_link_outside,
        a_linked_folder_outside, broken_config, broken_tokeniser, broken_onnx, missing_data, rows_for_few_words,
        not_finite, broken_table,
    ],
)  # fmt: skip
def test_bad_folder_gives_one_sentence_and_leaves_no_files(run, home: Path, make) -> None:
    refused(run, home, "bad", make(home))


def refused(run, home: Path, source: str, sentence: str) -> None:
    code, out, err = run("models", "import", source, "--name", "mine")
    assert code == 2 and out == "" and err.startswith("softset: ") and err.count("\n") == 1
    assert sentence in err and "Traceback" not in err and "mine@" not in err
    assert imports(home) == []


@pytest.mark.parametrize("name", ["../x", "a/b", ".x", "", "minilm", "words"])
def test_invalid_names_are_refused(run, home: Path, name: str) -> None:
    onnx_model(home / "tiny")
    before = sorted(home.rglob("*"))
    code, _, err = run("models", "import", "tiny", "--name", name, "--replace")
    assert code == 2 and ("cannot be used as a name" in err or "the name of bundled models" in err)
    code, _, err = run("models", "remove", name)
    assert code == 2 and "there are no imported models named" in err and sorted(home.rglob("*")) == before


# What is known about a model


def test_info_of_bundled_models(run) -> None:
    code, out, err = run("models", "info", "minilm", "--verify")
    shown = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (code, err) == (0, "") and shown["kind"] == "onnx" and shown["licence"] == "Apache-2.0"
    assert (shown["dimensions"], shown["layers"], shown["longest"]) == ("384", "6", "512")
    assert shown["signature"] == softset.load_encoder("minilm").signature and shown["verified"].startswith("every file")
    facts = json.loads(run("models", "info", "words", "--verify", "--json")[1])
    assert (facts["name"], facts["kind"], facts["dimensions"]) == ("words", "words", 300)
    assert facts["signature"] == softset.load_encoder("words").signature and facts["verified"] is True
    assert facts["licence"].startswith("PDDL") and facts["layers"] is None and facts["bytes"] == 11_988_032


def test_imported_word_vectors_are_listed_as_models(run, home: Path) -> None:
    (home / "v.txt").write_text("red 1 0 0\nblue 0 1 0\n")
    run("vectors", "import", "v.txt", "--name", "mine")
    rows = json.loads(run("models", "list", "--json")[1])
    assert [row["name"] for row in rows] == ["minilm", "words", "words:mine"]
    assert (rows[2]["kind"], rows[2]["dimensions"]) == ("words", 3)
    facts = json.loads(run("models", "info", "words:mine", "--json")[1])
    assert facts["words"] == 2 and facts["signature"] == softset.load_encoder("words:mine").signature
    assert json.loads(run("models", "info", facts["folder"], "--json")[1])["kind"] == "words"
    flip_last_byte(Path(facts["folder"]) / "vectors.npy")
    code, _, err = run("models", "info", "words:mine", "--verify")
    assert code == 2 and "vectors.npy was changed after it was written" in err


def test_info_of_a_folder(run, home: Path) -> None:
    onnx_model(home / "tiny", place="onnx")
    (home / "tiny" / "README.md").write_text("---\nlicense: mit\n---\n")
    (home / "tiny" / "meta.json").write_text('{"files": []}')  # another program's
    facts = json.loads(run("models", "info", "tiny", "--json")[1])
    assert facts["signature"] == softset.load_encoder(home / "tiny").signature and facts["licence"] == "mit"
    assert (facts["kind"], facts["dimensions"], facts["layers"], facts["longest"]) == ("onnx", 4, 1, 8)
    parts = ("config.json", "tokenizer.json", "onnx/model.onnx")
    assert facts["bytes"] == sum((home / "tiny" / name).stat().st_size for name in parts)
    assert facts["source"] is None and "source       not known" in run("models", "info", "tiny")[1]
    (home / "tiny" / "meta.json").unlink()
    code, _, err = run("models", "info", "tiny", "--verify")
    assert code == 2 and "it has no meta.json" in err
    (home / "none").mkdir()
    assert "none is not a model" in run("models", "info", "none")[2]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_control_characters_are_not_printed(run, home: Path) -> None:
    source = onnx_model(home / "tiny").rename(home / os.fsdecode(b"a\x1b[31m\xff"))
    assert run("models", "import", str(source), "--name", "mine")[0] == 0
    code, out, _ = run("models", "info", "mine")
    shown = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert code == 0 and "\x1b" not in out and shown["source"] == "a\ufffd[31m\ufffd"
    facts = json.loads((model_folder("mine") / "meta.json").read_text())
    (model_folder("mine") / "meta.json").write_text(json.dumps({**facts, "origin": "\x1b[2J\nhere"}))
    assert "\norigin       \ufffd[2J\ufffdhere\n" in run("models", "info", str(model_folder("mine")))[1]
    (source / "config.json").write_text("{")
    code, _, err = run("models", "import", str(source), "--name", "other")
    assert code == 2 and "\x1b" not in err and "config.json is not a complete JSON file" in err


def test_verify_detects_a_changed_byte(run, home: Path) -> None:
    onnx_model(home / "tiny", data="model.onnx_data")
    run("models", "import", "tiny", "--name", "mine")
    assert run("models", "info", "mine", "--verify")[0] == 0
    folder = model_folder("mine")
    assert folder is not None
    flip_last_byte(folder / "model.onnx_data")
    assert run("models", "info", "mine")[0] == 0
    code, out, err = run("models", "info", "mine", "--verify")
    assert code == 2 and out == "" and "model.onnx_data was changed after it was written: import the model again" in err


def test_info_explains_why_a_model_does_not_open(run, home: Path) -> None:
    onnx_model(home / "tiny")
    run("models", "import", "tiny", "--name", "mine")
    folder = model_folder("mine")
    assert folder is not None
    (folder / "model.onnx").write_bytes(b"\x00" * (folder / "model.onnx").stat().st_size)
    code, out, _ = run("models", "info", "mine", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["signature"] is None and "model.onnx is not an ONNX file" in facts["problem"]


def truncate(pointer: Path, folder: Path) -> None:
    os.truncate(folder / "model.onnx", 10)


def drop_facts(pointer: Path, folder: Path) -> None:
    (folder / "meta.json").unlink()


def drop_folder(pointer: Path, folder: Path) -> None:
    shutil.rmtree(folder)


def break_pointer(pointer: Path, folder: Path) -> None:
    pointer.write_text("{")


@pytest.mark.parametrize("harm", [truncate, drop_facts, drop_folder, break_pointer])
def test_damaged_import_is_reported_and_can_be_removed(run, home: Path, harm) -> None:
    onnx_model(home / "tiny")
    run("models", "import", "tiny", "--name", "mine")
    folder = model_folder("mine")
    assert folder is not None
    harm(home / "cache" / "models" / "mine.json", folder)
    code, out, _ = run("models", "list")
    assert code == 0 and out.splitlines()[2].split(maxsplit=1) == ["mine", "damaged: remove it and import it again"]
    rows = json.loads(run("models", "list", "--json")[1])
    assert rows[2] == {"name": "mine", "problem": "damaged: remove it and import it again"}
    code, out, err = run("models", "info", "mine")
    assert code == 2 and out == "" and err.startswith("softset: ") and err.count("\n") == 1 and "mine" in err
    assert "no model named" not in err
    assert run("models", "remove", "mine")[0] == 0 and len(json.loads(run("models", "list", "--json")[1])) == 2


@pytest.mark.parametrize("name", ["absent", "../x", "words:absent", "st:absent"])
def test_unknown_names(run, name: str) -> None:
    code, out, err = run("models", "info", name)
    assert code == 2 and out == "" and f"named {name.removeprefix('words:')!r}" in err and "there " in err
