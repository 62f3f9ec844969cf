"""`POST /api/alerts/…`: who may handle alerts, what is sent to which context, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.alert_handling import AlertHandling
from drover.bus.messages import Accepted, Rejected
from drover.domain.alert_handling import AcknowledgeAlert, EndSnooze, SnoozeAlert
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.projection.positions import POSITION_HEADER
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from tests.unit.api.reads.desk import KEYS, SECRET, Fresh, key_of
from tests.unit.web.test_audit import Log as AuditLog

pytestmark = pytest.mark.req("EV-05")

PARTITIONS = {context: [Partition(context)] for context in CONTEXTS} | {
    "reminder": [Partition("reminder", "p0"), Partition("reminder", "p1")]
}
UNTIL = datetime(2026, 11, 19, 9, tzinfo=UTC)


class Office:
    client: TestClient

    def __init__(self) -> None:
        self.sent = []
        self.there = {("fleet", "main"), ("reminder", "p1")}
        self.log = AuditLog()

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.sent.append((context, partition, command, by))
        if (context, partition) in self.there:
            return Accepted(7, None)
        return Rejected("NOT_FOUND", "No open alert has this id")

    async def post(self, path, body=None, role=Role.OPERATOR):
        return await self.client.post(f"/api/alerts/{path}", json=body, headers=key_of(role))


@pytest.fixture
async def office():
    office = Office()
    audit = Audit(office.log, Callers())
    access = Access(Authenticator([SECRET], people=[BuiltIn(KEYS)]), Permissions(), Callers(), audit=audit)
    app = create_application(Health(), body_bytes_max=10_000, audit=audit)
    freshness = Freshness(Fresh(), Newest(Partition(context) for context in CONTEXTS))
    add_handlers(app, [AlertHandling(office, PARTITIONS, freshness)], access)
    async with TestClient(TestServer(app)) as client:
        office.client = client
        yield office


async def test_an_operator_acknowledges_and_snoozes_and_their_name_is_recorded(office):
    done = await office.post("fleet/a1/acknowledge", {"note": "mine"})
    assert (done.status, done.headers[POSITION_HEADER]) == (204, "fleet=7")
    assert (await office.post("fleet/a1/snooze", {"until": "2026-11-19T18:00:00+09:00", "note": "x"})).status == 204
    assert (await office.post("fleet/a1/end-snooze")).status == 204
    assert [(context, command, by) for context, _, command, by in office.sent] == [
        ("fleet", AcknowledgeAlert("a1", note="mine"), "user:kim"),
        ("fleet", SnoozeAlert("a1", UNTIL, note="x"), "user:kim"),
        ("fleet", EndSnooze("a1"), "user:kim"),
    ]
    assert [kind for _, kind, _ in office.log.lines()] == ["change"] * 3


async def test_an_acknowledgement_needs_no_words(office):
    assert (await office.post("fleet/a1/acknowledge")).status == 204


async def test_a_partition_that_has_the_alert_is_found(office):
    done = await office.post("reminder/a1/acknowledge", {}, Role.ADMIN)
    assert done.status == 204
    assert [partition for _, partition, _, _ in office.sent] == ["p0", "p1"]


async def test_what_is_not_open_is_404(office):
    for path in ("render/a1/acknowledge", "nowhere/a1/acknowledge", f"fleet/{'x' * 200}/acknowledge"):
        answer = await office.post(path, {})
        assert (answer.status, (await answer.json())["error"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SERVICE_ROLE, Role.ANON, Role.DEVICE])
async def test_nobody_else_may(office, role):
    for path in ("fleet/a1/acknowledge", "fleet/a1/snooze", "fleet/a1/end-snooze"):
        assert (await office.post(path, {}, role)).status == 403
    assert office.sent == []


@pytest.mark.parametrize(
    "body", [{}, {"until": "tomorrow"}, {"until": "2026-11-19T18:00:00"}, {"until": 1, "more": 2}, {"note": "x"}]
)
async def test_a_snooze_names_a_moment_with_its_zone(office, body):
    answer = await office.post("fleet/a1/snooze", body)
    assert (answer.status, (await answer.json())["error"]) == (400, "VALIDATION_ERROR")
    assert office.sent == []


@pytest.mark.parametrize("until", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_moment_that_has_no_utc_is_left_to_the_rule(office, until):
    assert (await office.post("fleet/a1/snooze", {"until": until})).status == 204
    ((_, _, command, _),) = office.sent
    assert msgspec.json.decode(msgspec.json.encode(command), type=SnoozeAlert) == command


async def test_a_long_note_is_400_by_name(office):
    until = (UNTIL + timedelta(days=1)).isoformat()
    answer = await office.post("fleet/a1/snooze", {"until": until, "note": "x" * 501})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "note")
