"""schemathesis generates valid and invalid requests from the OpenAPI description."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from softset.server import Settings, create_app
from tests.server.conftest import ServerProcess

schemathesis = pytest.importorskip("schemathesis")


def openapi() -> dict:
    app = create_app(Settings(models={}, vectors={}))
    app.state.service.resources.temporary.close()
    return app.openapi()


schema = schemathesis.openapi.from_dict(openapi())
schemathesis.checks.load_all_checks()

# A query may match the schema and still be invalid, so that the server may refuse requests that match.
EXCLUDED_CHECKS = [schemathesis.checks.CHECKS.get_one("positive_data_acceptance")]


@pytest.fixture(scope="module")
def url(home) -> Iterator[str]:
    with ServerProcess("--model", "words", "--max-collections", "3", "--quiet") as process:
        yield process.url


@schema.parametrize()
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_responses_match_the_description(case, url: str) -> None:
    case.call_and_validate(base_url=url, excluded_checks=EXCLUDED_CHECKS)
