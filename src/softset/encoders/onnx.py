"""Models on onnxruntime: the bundled model, and folders with an ONNX file."""

import re
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.network import Layer, Network, depends_on_batch, max_sequence_length, resolve_layer
from softset.encoders.onnx_graph import only_output, output_names, weight_locations
from softset.encoders.tokenizer import SubwordTokenizer
from softset.errors import FileError, InputError
from softset.io.json_files import read_json
from softset.io.text import translate_errors

LAYER_OUTPUT = re.compile(r"(?:.*[._])?hidden(?:_states?)?[._](\d+)")  # hidden_4, hidden_states.4
WEIGHTS_FILE = re.compile(r"model\.onnx[._]data(_\d+)?")
LAST_LAYER_OUTPUTS = ("last_hidden_state", "token_embeddings")
# The fused operator for a sum and a layer norm is slower than two operators: without it a run takes 1/12 less time.
DISABLED_OPTIMIZERS = ["SkipLayerNormFusion"]
INPUT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}


def onnx_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model folder, or None if it has none."""
    return next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)


def check_weights(file: Path) -> None:
    """Reject an ONNX file whose weights are neither in it nor in a file model.onnx_data beside it."""
    content = file.read_bytes()
    with translate_errors(f"{file} is not an ONNX file", "export the model again"):
        locations = sorted(set(weight_locations(memoryview(content))))
    for location in locations:
        if not WEIGHTS_FILE.fullmatch(location):
            raise FileError(f"{file} refers to weights in {location[:100]!r}, but only model.onnx_data is supported")
        if not (file.parent / location).is_file():
            raise FileError(f"{file} refers to weights in {location!r}, which is missing: download the complete model")


def open_onnx(
    folder: Path, identity: str, *, layer: Layer = -1, threads: int = 1, trusted: bool = False
) -> tuple[SubwordTokenizer, "OnnxNetwork"]:
    """Open a folder with model.onnx, tokenizer.json and an optional config.json.

    A model that is not `trusted` is tested: its vectors may depend on the batch.
    """
    file = onnx_file(folder)
    if file is None or not (folder / "tokenizer.json").is_file():
        raise FileError(f"{folder} is not an ONNX model: model.onnx and tokenizer.json were expected")
    config = read_json(folder / "config.json", missing_ok=True)
    pad = config.get("pad_token_id")
    tokenizer = SubwordTokenizer.open(
        folder / "tokenizer.json", pad=pad if isinstance(pad, int) else None, threads=threads
    )
    limit = read_json(folder / "tokenizer_config.json", missing_ok=True).get("model_max_length")
    network = OnnxNetwork(file, identity, layer=layer, threads=threads, max_length=max_sequence_length(config, limit))
    if not trusted and not network.one_text_per_batch:
        network.one_text_per_batch = depends_on_batch(tokenizer, network)
    return tokenizer, network


class OnnxNetwork(Network):
    """One layer of a model in an ONNX file: ids and mask (b, L) in, vectors (b, L, d) out.

    Each batch runs on one thread, and several batches run in parallel: two threads on one batch are idle a sixth of
    the time (python -m benchmarks --case encoder).
    """

    parallel_batches: int

    def __init__(self, file: Path, identity: str, *, layer: Layer, threads: int, max_length: int | None) -> None:
        content = file.read_bytes()
        # This operator rounds activations by the range of the whole batch.
        self.one_text_per_batch = b"DynamicQuantizeLinear" in content
        self.identity, self.max_length, self.parallel_batches = identity, max_length, threads
        self._output, self.layer, self._is_last = _find_output(file, content, layer)
        self._file, self._version = file, _file_version(file)
        self._session = self._open_session(content, 1)
        self._inputs = {value.name: INPUT_TYPES.get(value.type) for value in self._session.get_inputs()}
        if "input_ids" not in self._inputs or not self._inputs.keys() <= INPUTS or None in self._inputs.values():
            raise FileError(
                f"{file} takes {', '.join(self._inputs) or 'nothing'}, but input_ids and attention_mask as whole "
                "numbers (token_type_ids, position_ids) were expected: export the model for feature extraction"
            )
        self.dimensions = self._find_dimensions()

    def _find_dimensions(self) -> int:
        shape = next(value.shape for value in self._session.get_outputs() if value.name == self._output)
        if len(shape) != 3:
            axes = "(texts, tokens, dimensions) was expected"
            raise FileError(f"{self._file}: output {self._output} has {len(shape)} axes, but {axes}")
        if isinstance(shape[2], int):
            return shape[2]
        with translate_errors(f"{self._file} cannot be run", "export the model again"):
            return int(self(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)).shape[2])

    @cached_property
    def multithreaded(self) -> "OnnxNetwork":
        """The same network with all threads for one batch; it is opened when it is first used.

        It holds the weights a second time. If the file was replaced or removed, the network runs on one thread.
        """
        if self.parallel_batches == 1 or _file_version(self._file) != self._version:
            return self
        network = copy(self)
        network._session = self._open_session(self._file.read_bytes(), self.parallel_batches)  # noqa: SLF001 (a copy)
        network.parallel_batches = 1
        return network

    def _open_session(self, content: bytes, threads: int) -> Any:
        """Open the graph of this layer, or the whole file if the graph cannot be cut."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena never shrinks and is not faster
        options.log_severity_level = 4  # errors are raised
        # int8 weights become float32 once, at opening. By default onnxruntime would also round activations to 8 bits,
        # which costs accuracy (token cosines of .993 instead of .999) and saves no time at these sizes.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        graph = None if self._is_last else only_output(content, self._output)
        with translate_errors(f"{self._file} cannot be opened by onnxruntime", "export the model again"):
            return onnxruntime.InferenceSession(
                graph or str(self._file),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=DISABLED_OPTIMIZERS,
            )

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the vectors of the layer (b, L, d)."""
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        inputs = {name: np.ascontiguousarray(values[name], dtype=dtype) for name, dtype in self._inputs.items()}
        vectors: np.ndarray = self._session.run([self._output], inputs)[0]
        return vectors.astype(np.float32, copy=False)


def _file_version(file: Path) -> tuple[int, int] | None:
    """Return the size and modification time of a file, or None if it is missing."""
    return (file.stat().st_size, file.stat().st_mtime_ns) if file.is_file() else None


def _find_output(file: Path, content: bytes, layer: Layer) -> tuple[str, int | None, bool]:
    """Return the name of a layer's output, the number of the layer, and whether it is the last layer."""
    with translate_errors(f"{file} is not an ONNX file", "export the model again"):
        outputs = output_names(content)
    layers = {int(match[1]): name for name in outputs if (match := LAYER_OUTPUT.fullmatch(name))}
    if layers:
        number = resolve_layer(layer, max(layers))
        if number not in layers:
            numbers = ", ".join(map(str, sorted(layers)))
            raise InputError(f"{file} has no output for layer {number}; it has layers {numbers}")
        return layers[number], number, number == max(layers)
    last = next((name for name in LAST_LAYER_OUTPUTS if name in outputs), None)
    if last is None:
        raise FileError(f"{file} has the outputs {', '.join(outputs)}, but hidden_0, … or last_hidden_state is needed")
    if layer != -1:
        raise InputError(f'{file} has only the last layer, but layer {layer} was given: use layer="last"')
    return last, None, True
