"""The similarity metrics: objects with parameters, whose names such as `subspace(weights=l2)` can be parsed."""

from softset.similarity.metrics.base import PRF, MembershipMetric, Metric
from softset.similarity.metrics.registry import DEFAULT, METRICS, metric

__all__ = ["DEFAULT", "METRICS", "PRF", "MembershipMetric", "Metric", "metric"]
