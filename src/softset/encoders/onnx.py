"""Models on onnxruntime: the bundled one, and ONNX folders of one's own."""

import re
from copy import copy
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from softset.encoders.config import longest_sequence, read_json
from softset.encoders.model_config import Layer, check_layer, resolve_layer
from softset.encoders.onnx_graph import only_output, output_names, weight_locations
from softset.encoders.probing import must_go_alone
from softset.encoders.threads import thread_count
from softset.encoders.tokenizer import SubwordTokenizer
from softset.errors import FileError, InputError
from softset.io.text import first_line

__all__ = ["OnnxNetwork", "leads_out", "onnx_file", "open_onnx", "weight_files"]

HIDDEN = re.compile(r"(?:.*[._])?hidden(?:_states?)?[._](\d+)")  # hidden_4, hidden_states.4
WHOLE = ("last_hidden_state", "token_embeddings")
# What onnxruntime makes of a sum and the layer norm after it is slower than the two: without it, a run takes a twelfth
# less time.
SLOWER = ["SkipLayerNormFusion"]
NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


def onnx_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model folder, where it has one."""
    return next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)


def weight_files(file: Path) -> list[Path]:
    """Return the files beside an ONNX file that hold weights of it; a place outside of its folder is refused."""
    try:
        locations = sorted(weight_locations(file.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise _no_onnx(file, error) from error
    for location in locations:
        if leads_out(location):
            raise FileError(f"{file} wants weights from {location[:100]!r}, outside of its folder: do not use it")
        if not (file.parent / location).is_file():
            raise FileError(f"{file} wants weights from {location[:100]!r}, which is not there: get the whole model")
    return [file.parent / location for location in locations]


def leads_out(name: str) -> bool:
    """Say whether the name of a file, as a model gives it, leads out of the model's folder.

    >>> [leads_out(name) for name in ("weights.bin", "data/weights.bin", "../weights.bin", "/etc/passwd")]
    [False, False, True, True]
    """
    steps = PurePosixPath(name.replace("\\", "/")).parts
    return not steps or ".." in steps or steps[0] == "/" or steps[0].endswith(":") or "\0" in name


def open_onnx(
    folder: Path, identity: str, *, layer: Layer = "last", threads: int | None = None, trusted: bool = False
) -> tuple[SubwordTokenizer, "OnnxNetwork"]:
    """Open a folder with model.onnx, tokenizer.json and, where it has one, config.json.

    One that is not `trusted` is asked first whether its vectors depend on the batch.
    """
    file = onnx_file(folder)
    if file is None or not (folder / "tokenizer.json").is_file():
        raise FileError(f"{folder} is not an ONNX model: model.onnx and tokenizer.json were wanted")
    config, count = read_json(folder / "config.json"), thread_count(threads)
    pad = config.get("pad_token_id")
    tokeniser = SubwordTokenizer.open(
        folder / "tokenizer.json", pad=pad if isinstance(pad, int) else None, threads=count
    )
    limit = read_json(folder / "tokenizer_config.json").get("model_max_length")
    network = OnnxNetwork(file, identity, layer=layer, threads=count, longest=longest_sequence(config, limit))
    if not trusted:
        network.alone = network.alone or must_go_alone(tokeniser, network)
    return tokeniser, network


class OnnxNetwork:
    """One layer of a model in an ONNX file: ids and mask (b, L) in, vectors (b, L, d) out.

    Each batch has one thread, and as many batches run side by side: one batch on two threads leaves a sixth of them
    idle (python -m benchmarks --case encoder). `on_all_threads` is for a batch that has no other beside it.
    """

    precision = None

    def __init__(self, file: Path, identity: str, *, layer: Layer, threads: int, longest: int | None) -> None:
        content = file.read_bytes()
        # Rounding activations by the range of a whole batch makes a vector depend on its neighbours.
        self.alone = b"DynamicQuantizeLinear" in content
        self.identity, self.longest, self.at_once = identity, longest, threads
        self._output, self.layer, last = _find_layer(_outputs(file, content), layer, file)
        self._file, self._whole, self._seen = file, last, _seen(file)
        self._session = self._opened(content, 1)
        self._inputs = {one.name: NUMBERS.get(one.type) for one in self._session.get_inputs()}
        self._check_inputs(file)
        self.dimensions = self._find_dimensions(file)

    def _check_inputs(self, file: Path) -> None:
        known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
        if "input_ids" not in self._inputs or not known >= self._inputs.keys() or None in self._inputs.values():
            raise FileError(
                f"{file} takes {', '.join(self._inputs) or 'nothing'}, but input_ids and attention_mask as whole "
                "numbers (token_type_ids, position_ids) were wanted: export the model for feature extraction"
            )

    def _find_dimensions(self, file: Path) -> int:
        shape = next(one.shape for one in self._session.get_outputs() if one.name == self._output)
        if len(shape) != 3:
            raise FileError(f"{file}: output {self._output} has {len(shape)} axes, but (texts, tokens, d) was wanted")
        if isinstance(shape[2], int):
            return shape[2]
        try:
            return int(self(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)).shape[2])
        except Exception as error:  # onnxruntime's errors have no common class but this
            raise FileError(f"{file} cannot be run ({first_line(error)}): export the model again") from error

    @cached_property
    def on_all_threads(self) -> "OnnxNetwork":
        """The same network for one batch at a time; it holds the weights once more, and is opened when it is needed.

        A file that is another by then, or gone, would be another network: one thread has to do.
        """
        if self.at_once == 1 or _seen(self._file) != self._seen:
            return self
        other = copy(self)
        other._session = self._opened(self._file.read_bytes(), self.at_once)  # noqa: SLF001 (a copy of itself)
        other.at_once = 1
        return other

    def _opened(self, content: bytes, threads: int) -> Any:
        return _session(self._file, None if self._whole else only_output(content, self._output), threads)

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the layer's vectors (b, L, d)."""
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        given = {name: np.ascontiguousarray(values[name], dtype=dtype) for name, dtype in self._inputs.items()}
        hidden: np.ndarray = self._session.run([self._output], given)[0]
        return hidden.astype(np.float32, copy=False)


def _seen(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that takes its place."""
    if not file.is_file():
        return None
    found = file.stat()
    return found.st_size, found.st_mtime_ns


def _outputs(file: Path, content: bytes) -> list[str]:
    try:
        return output_names(content)
    except ValueError as error:  # also what is no UTF-8
        raise _no_onnx(file, error) from error


def _no_onnx(file: Path, error: Exception) -> FileError:
    return FileError(f"{file} is not an ONNX file ({error}): export the model again")


def _session(file: Path, shorter: bytes | None, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # onnxruntime's own store of memory never shrinks, and is no faster
    options.log_severity_level = 4  # what is wrong is raised, and said by us
    # Weights stored as int8 are made float32 once, at opening; by default onnxruntime would round activations to 8 bits
    # as well, which costs accuracy (token cosines of .993 instead of .999) and gains nothing on these sizes.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        return onnxruntime.InferenceSession(
            shorter or str(file), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
    except Exception as error:  # onnxruntime's errors have no common class but this
        why = first_line(error)
        raise FileError(f"{file} cannot be opened by onnxruntime ({why}): export the model again") from error


def _find_layer(outputs: list[str], layer: Layer, file: Path) -> tuple[str, int | None, bool]:
    """Return the name of a layer's output, its number, and whether it is the last."""
    found = {int(match[1]): name for name in outputs if (match := HIDDEN.fullmatch(name))}
    if found:
        number = resolve_layer(layer, max(found))
        if number not in found:
            raise InputError(
                f"{file} has no output for layer {number}; it has layers {', '.join(map(str, sorted(found)))}"
            )
        return found[number], number, number == max(found)
    whole = next((name for name in WHOLE if name in outputs), None)
    if whole is None:
        raise FileError(f"{file} gives {', '.join(outputs)}, but hidden_0, hidden_1, … or last_hidden_state was wanted")
    if check_layer(layer) not in ("last", -1):
        raise InputError(f'{file} has the last layer only, but layer {layer} was asked for: use layer="last"')
    return whole, None, True
