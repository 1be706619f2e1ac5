"""Explanations of a score, token by token: as data, terminal text, HTML page or heat map."""

from softset.similarity.explain.data import ChanceLevel, ExplainedText, Explanation, MetricView

__all__ = ["ChanceLevel", "ExplainedText", "Explanation", "MetricView"]
