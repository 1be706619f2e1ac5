"""The encoder options, for the evaluation verbs."""

from softset.cli.options import encoder_options

__all__ = ["encoder_options"]
