"""Requests made from the description of the interface, right and wrong ones: the server answers as it says it does."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from softset.server import Settings, create_app
from tests.server.conftest import Running

schemathesis = pytest.importorskip("schemathesis")


def described() -> dict:
    app = create_app(Settings(models={}, vectors={}))
    app.state.service.close()
    return app.openapi()


schema = schemathesis.openapi.from_dict(described())
schemathesis.checks.load_all_checks()

# A query may have the right form and make no sense: such are refused, so that it is not checked that all are accepted.
UNCHECKED = [schemathesis.checks.CHECKS.get_one("positive_data_acceptance")]


@pytest.fixture(scope="module")
def url(home) -> Iterator[str]:
    with Running("--model", "words", "--max-collections", "3", "--quiet") as running:
        yield running.url


@schema.parametrize()
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_it_does_as_it_says(case, url: str) -> None:
    case.call_and_validate(base_url=url, excluded_checks=UNCHECKED)
