"""Tests of ONNX folders, made by copying and changing the bundled model."""

import json
import shutil
from pathlib import Path
from threading import Lock, get_ident
from time import sleep
from types import SimpleNamespace

import numpy as np
import pytest

from softset import SoftsetError, load_encoder
from softset.encoders.models import model_folder
from softset.encoders.onnx import OnnxNetwork
from softset.encoders.onnx_graph import only_output, output_names
from softset.errors import FileError
from tests.encoders.invariance import ODD, assert_close, assert_same_alone
from tests.encoders.tiny_models import onnx_model, table

TEXTS = [*ODD, "A red book."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = model_folder("minilm")
    assert source is not None
    target = tmp_path / "mine"
    target.mkdir()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        shutil.copy(source / name, target / name)
    return target


def renamed(folder: Path, old: bytes, new: bytes) -> None:
    """Replace a name in the graph by another one of the same length, without parsing the file."""
    assert len(old) == len(new)
    file = folder / "model.onnx"
    content = file.read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new))


def test_a_copied_folder_is_the_same_encoder(folder: Path) -> None:
    own, bundled = load_encoder(folder), load_encoder("minilm")
    assert own.signature == bundled.signature.replace("minilm@", "mine@")
    assert_close(own.encode(TEXTS), bundled.encode(TEXTS), 1e-6)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert_close(load_encoder(folder, layer=2).encode(TEXTS), load_encoder("minilm", layer=2).encode(TEXTS), 1e-6)


def test_limits_come_from_the_config(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 40}))
    assert "max_length:40" in load_encoder(folder).signature
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 32}))
    assert "max_length:32" in load_encoder(folder).signature
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    assert "max_length:40" in load_encoder(folder).signature
    (folder / "config.json").unlink()
    assert "max_length:512" in load_encoder(folder).signature


def test_truncation_and_padding_of_the_tokenizer_are_disabled(folder: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    assert load_encoder(folder).encode(["red book " * 30]).counts.tolist() == [60]


def test_a_model_with_one_output_has_only_the_last_layer(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(folder / "model.onnx")
    keep = next(output for output in model.graph.output if output.name == "hidden_6")
    for node in model.graph.node:
        node.output[:] = ["last_hidden_state" if name == "hidden_6" else name for name in node.output]
    keep.name = "last_hidden_state"
    del model.graph.output[:]
    model.graph.output.append(keep)
    onnx.save(model, folder / "model.onnx")
    assert_close(load_encoder(folder).encode(TEXTS), load_encoder("minilm").encode(TEXTS), 1e-5)
    with pytest.raises(SoftsetError, match="has only the last layer"):
        load_encoder(folder, layer=3)


def test_external_weights_and_other_inputs_are_supported(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(folder / "model.onnx")
    for name in ("token_type_ids", "position_ids"):
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT32, ["texts", "tokens"]))
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="model.onnx_data")
    for layer in (2, 6):
        expected = load_encoder("minilm", layer=layer).encode(TEXTS)
        assert_close(load_encoder(folder, layer=layer).encode(TEXTS), expected, 1e-5)


def test_a_broken_tokenizer_gives_a_clear_error(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    bare = Tokenizer(models.WordPiece({"a": 0, "red": 1}, unk_token="[UNK]"))
    bare.pre_tokenizer = pre_tokenizers.Whitespace()
    bare.save(str(folder / "tokenizer.json"))
    with pytest.raises(FileError, match=r"the model's tokenizer cannot read .*Missing \[UNK\] token.*: correct its"):
        load_encoder(folder)  # asked for words that it does not know
    encoder = load_encoder(model_folder("minilm"))
    encoder._tokenizer._backend = bare  # type: ignore[attr-defined]
    with pytest.raises(FileError, match=r"cannot read 'a zebra' \(.*Missing \[UNK\] token"):
        encoder.encode(["a zebra"])
    with pytest.raises(FileError, match="cannot read one of 2 texts"):
        encoder.encode(["a", "zebra"])


def test_an_error_of_the_model_gives_a_clear_error(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 600}))
    encoder = load_encoder(folder)
    for call in (encoder.encode, encoder.embed):
        with pytest.raises(FileError, match=r"the model mine@\w+ cannot be run on 1 text of 600 tokens .*smaller max"):
            call(["red " * 700])


def test_an_error_while_opening_gives_a_clear_error(tmp_path: Path) -> None:
    folder = onnx_model(tmp_path / "m", table(words=2))  # fewer rows than the tokenizer has words
    with pytest.raises(FileError, match=r"the model m@\w+ cannot be run on 2 texts of 14 tokens .*: supported models"):
        load_encoder(folder)


def test_an_error_while_measuring_the_dimension_gives_a_clear_error() -> None:
    class Session:
        def get_outputs(self) -> list[SimpleNamespace]:
            return [SimpleNamespace(name="hidden_0", shape=["texts", "tokens", "d"])]

        def run(self, *_: object) -> None:
            raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL\nmore")

    network = OnnxNetwork.__new__(OnnxNetwork)
    network._session, network._output, network._inputs = Session(), "hidden_0", {"input_ids": np.int64}
    network._file = Path("model.onnx")
    with pytest.raises(FileError, match=r"^model\.onnx cannot be run \(.* : FAIL\): export the model again$"):
        network._find_dimensions()


def test_dynamically_quantized_models_run_one_text_per_batch(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    quantisation = pytest.importorskip("onnxruntime.quantization")
    model = onnx.load(folder / "model.onnx")
    matrices = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in list(model.graph.node):  # multiply the matrices out, as an ordinary export has them
        if node.op_type == "DequantizeLinear":
            q, scale = (onnx.numpy_helper.to_array(matrices[name]) for name in node.input)
            full = (q.reshape(-1, 64, q.shape[1]) * scale[:, None]).reshape(q.shape).astype(np.float32)
            model.graph.initializer.append(onnx.numpy_helper.from_array(full, node.output[0]))
            model.graph.node.remove(node)
    onnx.save(model, folder / "model.onnx")
    quantisation.quantize_dynamic(folder / "model.onnx", folder / "model.onnx")
    assert b"DynamicQuantizeLinear" in (folder / "model.onnx").read_bytes()
    encoder = load_encoder(folder)
    assert_same_alone(encoder, encoder, TEXTS, 1e-6)


def test_broken_folders_give_a_clear_error(folder: Path) -> None:
    whole = (folder / "model.onnx").read_bytes()
    for content, sentence in (
        (whole[:-1000], "is not an ONNX file|cannot be opened"),
        (b"", "is not an ONNX file"),
        (b"\xff" * 100, "is not an ONNX file"),
        (whole.replace(b"hidden_", b"hippen_"), "hidden_0, … or last_hidden_state is needed"),
        (whole.replace(b"input_ids", b"input_idz"), "takes input_idz, attention_mask, but input_ids"),
    ):
        (folder / "model.onnx").write_bytes(content)
        with pytest.raises(SoftsetError, match=sentence):
            load_encoder(folder)
    (folder / "model.onnx").write_bytes(whole)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(SoftsetError, match=r"model\.onnx and tokenizer\.json were expected"):
        load_encoder(folder)


def test_a_graph_is_cut_to_the_nodes_of_an_output(folder: Path) -> None:
    content = (folder / "model.onnx").read_bytes()
    names = output_names(content)
    assert names == [f"hidden_{layer}" for layer in range(7)]
    shorter = [only_output(content, name) for name in names]
    sizes = [len(graph or b"") for graph in shorter]
    assert sizes == sorted(sizes) and sizes[0] < 0.6 * len(content) and sizes[-1] < len(content)
    assert [output_names(graph or b"") for graph in shorter] == [[name] for name in names]


@pytest.mark.parametrize(
    "broken", [b"\x3a", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x3b", b"\x3a\x05ab", b""]
)
def test_an_invalid_protocol_buffer_raises_value_error(broken: bytes) -> None:
    with pytest.raises(ValueError, match=r"a field|a number|no graph"):
        output_names(broken)


def test_parallel_batches_give_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    single, three = (load_encoder("minilm", layer=2, threads=threads) for threads in (1, 3))
    seen, running, most, lock = set(), 0, 0, Lock()
    plain = OnnxNetwork.__call__

    def watched(network: OnnxNetwork, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        nonlocal running, most
        with lock:
            seen.add(get_ident())
            running += 1
            most = max(most, running)
        sleep(0.002)
        vectors = plain(network, ids, mask)
        with lock:
            running -= 1
        return vectors

    texts = [f"{'a red book ' * (number % 9)} number {number}" for number in range(120)]
    expected = single.encode(texts)
    monkeypatch.setattr(OnnxNetwork, "__call__", watched)
    calls: list[tuple[int, int]] = []
    sets = three.encode(texts, progress=lambda done, of: calls.append((done, of)))
    assert (sets.vectors == expected.vectors).all()  # to the last digit
    assert len(seen) == most == 3
    assert calls == sorted(calls) and calls[-1] == (120, 120)


def test_a_single_long_text_uses_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    open_session = OnnxNetwork._open_session

    def open_and_record(network: OnnxNetwork, content: bytes, threads: int) -> object:
        opened.append(threads)
        return open_session(network, content, threads)

    monkeypatch.setattr(OnnxNetwork, "_open_session", open_and_record)
    encoder = load_encoder("minilm", layer=1, threads=2)
    assert opened == [1]
    encoder.encode(["a red book", "red " * 300])
    assert opened == [1]
    alone = encoder.encode(["red " * 300])
    assert opened == [1, 2]
    encoder.encode(["red " * 300])
    assert opened == [1, 2]  # opened only once
    single = load_encoder("minilm", layer=1, threads=1)
    assert (single.encode(["red " * 300]).vectors == alone.vectors).all()  # to the last digit
    assert opened == [1, 2, 1]


@pytest.mark.parametrize("then", ["gone", "another"])
def test_a_replaced_file_is_not_opened_again(folder: Path, then: str) -> None:
    encoder = load_encoder(folder, layer=1, threads=2)
    before = encoder.encode(["a book", "red " * 300])[1]
    if then == "gone":
        (folder / "model.onnx").unlink()
    else:
        (folder / "model.onnx").write_bytes(b"another model")
    assert encoder.encode(["red " * 300])[0] == pytest.approx(before, abs=1e-5)
