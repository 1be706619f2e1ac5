"""The same defaults on the command line and in Python."""

import inspect

from softset import load_encoder
from softset.cli.encode import encode


def test_the_options_of_an_encoder_are_its_arguments_with_its_defaults() -> None:
    arguments = {name: one.default for name, one in inspect.signature(load_encoder).parameters.items()}
    options = encode.make_context("encode", ["texts.txt", "--out", "sets"]).params
    del arguments["cache_limit"]
    assert {name: options.get(name, "missing") for name in arguments} == arguments
