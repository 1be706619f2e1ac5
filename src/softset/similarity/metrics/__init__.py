"""All metrics, and how one is named: `subspace(weights=l2)` is an object whose repr parses back."""

from softset.similarity.metrics.base import PRF, MembershipMetric, Metric
from softset.similarity.metrics.registry import DEFAULT, METRICS, metric

__all__ = ["DEFAULT", "METRICS", "PRF", "MembershipMetric", "Metric", "metric"]
