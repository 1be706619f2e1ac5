"""Defaults are the same on the command line and in Python."""

import inspect

import softset
from softset import load_encoder
from softset.cli.encode import encode
from softset.cli.fit import calibration
from softset.cli.score import score


def test_encoder_options_have_the_names_and_defaults_of_load_encoder() -> None:
    arguments = {name: parameter.default for name, parameter in inspect.signature(load_encoder).parameters.items()}
    options = encode.make_context("encode", ["texts.txt", "--out", "sets"]).params
    del arguments["cache_limit"]
    assert {name: options.get(name, "missing") for name in arguments} == arguments


def test_default_metric_is_softset_everywhere() -> None:
    for parameter in (softset.score, softset.pairwise, softset.Scorer, softset.Calibration.fit):
        assert str(inspect.signature(parameter).parameters["metric"].default) == "softset"
    for command in (score, calibration):
        assert next(parameter.default for parameter in command.params if parameter.name == "metric") == "softset"
