"""Requests that schemathesis makes up from the contract, to the reads on a real database: answers are as it says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from drover.api.reads.app import Reads
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.openapi.document import document
from drover.web.permissions import Permissions
from drover.web.serve import serve
from tests.contract.routes import READS
from tests.integration.api.reads.desk import PARTITIONS, SECRET, QuietLog
from tests.integration.api.reads.logs import Logs, at_second
from tests.integration.api.reads.test_office_reads import write_analyses, write_fleet, write_reminders, write_renders

EXAMPLES = 8
"""For each operation: some hundred requests in all, within seconds."""
QUERY_CHARS_MAX = 1_000
"""A longer request line than 16 KiB is refused before it is a request, in plain words."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_DOCUMENT = msgspec.json.decode(msgspec.json.encode(document(READS, title="reads", version="1", description="reads")))
SCHEMA = schemathesis.openapi.from_dict(_DOCUMENT)
pytestmark = pytest.mark.req("EV-05", "EV-09")


@asynccontextmanager
async def served_on(dsn: str) -> AsyncIterator[str]:
    await migrate(dsn)
    begun = datetime(2026, 3, 1, tzinfo=UTC)
    logs = Logs(at_second(begun))
    for write in (write_fleet, write_renders, write_analyses, write_reminders):
        await write(logs, begun)
    await logs.project(dsn)
    async with open_pool(dsn, "test", 4) as pool:
        app = create_application(Health(), body_bytes_max=1024)
        auth = Authenticator([SECRET])
        reads = Reads(
            pool, Freshness(Positions(PARTITIONS), Newest(PARTITIONS)), QuietLog(), instance="test", document=dict
        )
        add_handlers(app, reads.handlers, Access(auth, Permissions(), Callers()))
        async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
            yield f"http://127.0.0.1:{port}"


@pytest.fixture
def url(background_loop, postgres_dsn) -> Iterator[str]:
    with background_loop.entered(served_on(postgres_dsn)) as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_answers_to_made_up_requests_are_as_the_contract_says(url, mode):
    """All operations in one test: the database is filled once. Negative: requests that should not be understood."""
    key = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}
    statuses: Counter[int] = Counter()

    def ask(case: Any) -> None:
        assume(len(str(case.query)) < QUERY_CHARS_MAX)
        for name in ("Authorization", "apikey", "Drover-Min-Position"):  # who asks, and what never comes
            case.headers.pop(name, None)
        response = case.call(base_url=url, headers=key, timeout=30)
        case.validate_response(response, checks=CHECKS)
        statuses[response.status_code] += 1

    bounded = settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    for found in SCHEMA.get_all_operations():
        operation = found.ok()
        if mode in _possible(operation):
            bounded(given(case=operation.as_strategy(generation_mode=mode))(ask))()
    assert statuses[200 if mode is GenerationMode.POSITIVE else 400] > EXAMPLES
    assert statuses.keys() <= {200, 400, 404}


def _possible(operation: Any) -> tuple[GenerationMode, ...]:
    """What takes nothing but a position can only be asked rightly."""
    asks = any(one.definition["name"] != "Drover-Min-Position" for one in operation.iter_parameters())
    return (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if asks else (GenerationMode.POSITIVE,)
