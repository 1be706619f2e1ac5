"""Load test; it runs only if SOFTSET_LOAD gives its duration in seconds."""

import os
import sys

import numpy as np
import pytest

from tests.server.load import run

SECONDS = float(os.environ.get("SOFTSET_LOAD", "0"))


@pytest.mark.skipif(not SECONDS, reason="SOFTSET_LOAD=60 runs it for a minute")
def test_latency_memory_and_overload() -> None:
    report = run(SECONDS)
    sys.stdout.write(f"{report}\n")
    assert set(report.statuses) <= {200, 201, 422}  # 422: the intersection of a query happens to be empty
    assert report.statuses[422] < 0.2 * sum(report.statuses.values())
    assert report.growth() < 25
    for kind, latencies in report.latencies.items():
        assert np.percentile(latencies, 99) < 2.0, kind
    assert set(report.overload) <= {200, 503} and report.overload[200] >= 8 and report.overload[503] > 0
