"""The arguments of bert_score: models of languages, tuned layers, baselines, idf weights, and lists of texts."""

import csv
import os
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.models import BUNDLED
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.texts import iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.integrations.bert_score_matching import MatchedBertScore, encoder_facts
from softset.io.assets import bundled_file
from softset.similarity.idf import Idf
from softset.similarity.inputs import read_input
from softset.similarity.metrics import PRF, Metric
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.rescaling import rescale_scores
from softset.similarity.scores import Scores

MULTILINGUAL = "bert-base-multilingual-cased"
LANGUAGES = {"zh": "bert-base-chinese", "tr": "dbmdz/bert-base-turkish-cased"}

TUNED_LAYERS = "baselines/bert_score_layers.csv"  # tuned by bert_score on WMT16 (zh and tr: on other data)
BUNDLED_BASELINES = "baselines/minilm.csv"
HEADER = ["LAYER", "P", "R", "F"]  # of a baseline file
# Organisations whose models had names without an owner when this list was made.
OWNERS = ("FacebookAI", "albert", "distilbert", "google-bert", "google-t5", "xlnet")


class ScorerOptions(TypedDict, total=False):
    """Keyword arguments that `compute` and `BERTScore` pass on to `BERTScorer`, which explains them."""

    batch_size: int
    nthreads: int
    idf: bool | Idf
    device: Any
    lang: str | None
    rescale_with_baseline: bool
    baseline_path: str | os.PathLike[str] | None
    use_fast_tokenizer: bool
    metric: str | Metric


def model_for(lang: str | None) -> str:
    """Return the model for a language: the bundled model for English, which needs no download."""
    if lang is None:
        return BUNDLED
    if not isinstance(lang, str) or not lang.strip():
        raise InputError(f'lang is {lang!r}, but the code of a language such as "en" is expected')
    code = lang.strip().lower()
    return BUNDLED if code.startswith("en") else LANGUAGES.get(code, MULTILINGUAL)


def tuned_layer(model: Any) -> int | None:
    """Return bert_score's tuned layer of a model, or None if there is none."""
    if not isinstance(model, str):
        return None
    owner, _, name = model.partition("/")
    return tuned_layers().get(name if owner in OWNERS else model)


@cache
def tuned_layers() -> dict[str, int]:
    """Return the tuned layer of each model that bert_score knows."""
    with bundled_file(TUNED_LAYERS).open(encoding="ascii", newline="") as file:
        return {row["MODEL"]: int(row["LAYER"]) for row in csv.DictReader(file)}


def open_encoder(model: Any, layer: int | float | str | None, device: Any) -> Encoder:
    """Return the encoder at a layer (None: the last); device="cpu" is accepted for every model."""
    options: dict[str, Any] = {} if layer is None else {"layer": layer}
    if device is None:
        return load_encoder(model, **options)
    try:
        return load_encoder(model, device=str(device), **options)
    except InputError:
        if str(device) != "cpu":
            raise
        return load_encoder(model, **options)


def layer_of(encoder: Encoder) -> int | None:
    """Return the layer that an encoder takes its vectors from, or None if it has no layers."""
    layer = encoder_facts(encoder).get("layer", "")
    return int(layer) if layer.isdecimal() else None


def read_texts(cands: Any, refs: Any) -> tuple[list[str], list[Any], list[str]]:
    """Return the candidates, their references grouped as given, and all references in one list."""
    cands, refs = (texts.tolist() if hasattr(texts, "tolist") else texts for texts in (cands, refs))
    candidates, references = list(iter_items(cands, "candidates")), list(iter_items(refs, "references"))
    checked = read_input(candidates, references)
    if isinstance(checked.candidates, TokenSets) or isinstance(checked.references, TokenSets):
        raise InputError("lists of texts were expected, but vectors were given: softset.score takes them")
    return candidates, references, checked.references


def read_batch(preds: Any, target: Any) -> tuple[list[str], list[list[str]]]:
    """Return the texts of a batch, and a list of references for each."""
    if isinstance(preds, str):
        preds, target = [preds], [target]
    candidates, references, _ = read_texts(preds, target)
    return candidates, [[texts] if isinstance(texts, str) else list(texts) for texts in references]


def matching_metric(metric: Metric, idf: Any) -> Metric:
    """Return the metric with idf weights if `idf` asks for them; bertscore becomes bert_score's own matching."""
    if not isinstance(idf, bool | Idf):
        raise InputError(f"idf is of type {type(idf).__name__}, but True, False or softset.Idf.fit(texts) was expected")
    if idf is not False and not metric.needs_idf:
        defaults = {field.name: field.default for field in fields(metric)}
        if "weights" not in defaults or getattr(metric, "weights", None) != defaults["weights"]:
            raise InputError(f"{metric} has no idf weights: leave out idf")
        metric = replace(metric, weights="idf")  # type: ignore[call-arg]  # the metric has weights
    return MatchedBertScore(metric.weights) if type(metric) is BertScore else metric


def is_bert_score(metric: Metric) -> bool:
    """Return whether a metric is bert_score's own, with or without idf weights."""
    return isinstance(metric, BertScore) and metric.weights in (type(metric)().weights, "idf")


def bundled_baselines(model: Any, metric: Metric) -> Path | None:
    """Return the baseline file of the bundled model, which is for bert_score's own metric."""
    return bundled_file(BUNDLED_BASELINES) if model == BUNDLED and is_bert_score(metric) else None


class BaselineFile:
    """The precision, recall and F of unrelated text at each layer, from a file with the header LAYER,P,R,F."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.levels: dict[int, tuple[float, ...]] = {}
        for number, row in _read_rows(Path(path)):
            try:
                layer, levels = int(row[0]), tuple(map(float, row[1:]))
            except ValueError:
                layer, levels = -1, ()
            if layer < 0 or len(levels) != 3 or not all(-1 <= level < 1 for level in levels):
                raise FileError(
                    f"line {number} of {path} is {','.join(row)[:60]!r}, but a layer and three numbers below 1 were "
                    "expected, such as 17,0.83,0.83,0.83"
                )
            if layer in self.levels:
                raise FileError(f"{path} has layer {layer} twice, the second time in line {number}")
            self.levels[layer] = levels

    def at(self, layer: int | None) -> tuple[float, ...]:
        """Return precision, recall and F of unrelated text at a layer."""
        if layer not in self.levels:
            known = ", ".join(map(str, self.levels))
            raise FileError(f"{self.path} has no row for layer {layer}: it has rows for {known}")
        return self.levels[layer]


def _read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows below the header of a table, each with the number of its line."""
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    delimiter = "\t" if lines and "\t" in lines[0] else ","  # bert_score's .tsv files contain commas
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    filled = [(number, row) for number, row in enumerate(rows[1:], 2) if any(row)]
    if rows[:1] != [HEADER] or not filled:
        raise FileError(f"{path} is not a table with the header {','.join(HEADER)} and a row for each layer")
    return filled


def rescaled(scores: Scores, baselines: BaselineFile | None, layer: int | None, max_score: float) -> tuple[PRF, str]:
    """Return the scores and their signature, rescaled if there are baselines."""
    numbers = PRF(scores.precision, scores.recall, scores.score)
    if baselines is None:
        return numbers, scores.signature
    facts = parse_signature(scores.signature)
    levels = baselines.at(layer)
    shown = ",".join(f"{level:.6g}" for level in levels)
    signature = format_signature({"softset": facts.pop("softset"), "rescale": f"baseline({shown})", **facts})
    return rescale_scores(numbers, levels, scores.empty, max_score), signature
