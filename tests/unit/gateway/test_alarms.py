"""Writes of `alarm` and `user_info` at /rest/v1: partitions decide in memory, and a test says what the tables show."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace

from drover.bus import subject_keys
from drover.domain.erasure import note_erased, parse_sealed
from drover.domain.reminder import commands as c
from drover.eventlog.log import Partition
from drover.gateway.app import Gateway
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.projection.newest import Newest
from drover.service.health import Health
from drover.web.alarm_texts import AlarmTexts
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from tests.settings import load
from tests.subject_keys import Leaders, local_keys
from tests.unit.gateway.render_office import SETTINGS, SHOW, AnybodyIs, Reached, Shelf
from tests.unit.reminder.world import NOW, PARTITIONS, LocalBus
from tests.unit.web.test_audit import Log as AuditLog

USER = "user_1"
MERGE = {"Prefer": "resolution=merge-duplicates,return=representation"}
IGNORE = {"Prefer": "resolution=ignore-duplicates,return=representation"}
LATER = (NOW + timedelta(days=5)).isoformat()


class Office:
    client: TestClient

    def __init__(self) -> None:
        self.log = AuditLog()
        self.bus = LocalBus()
        self.leaders = Leaders()
        self.keys = local_keys("reminder", partitions=PARTITIONS, leaders=self.leaders)
        self.pool = Shelf()
        self.pool.rows = []
        self.positions = Reached()
        self.newest = Newest((Partition("reminder", name) for name in PARTITIONS), clock=lambda: 0.0)

    async def ask(
        self, method: str, path: str, body: Any = None, *, role: str = "service_role", **headers: str
    ) -> ClientResponse:
        raw = b"" if body is None else msgspec.json.encode(body)
        headers = {"apikey": role, "Content-Type": "application/json"} | headers
        return await self.client.request(method, f"/rest/v1/{path}", data=raw, headers=headers)

    async def post(self, relation: str, body: Any, **headers: str) -> tuple[int, Any]:
        answer = await self.ask("POST", relation, body, **(headers or SHOW))
        return answer.status, await answer.json()

    def shown(self, page: str = "page-1", **columns: Any) -> None:
        """What the read model has of an alarm."""
        row = {"page_id": page, "user_id": USER, "sent_count": 1, "attempt": 0, "processed_at": None}
        self.pool.rows = [row | {"next_alarm_time": NOW.isoformat()} | columns]

    async def registered(self, page: str = "page-1") -> None:
        status, body = await self.post("alarm", {"page_id": page, "user_id": USER, "title": "t", "body": "b"})
        assert status == 201, body
        self.shown(page)

    async def opened(self, command: Any) -> Any:
        """The command with its texts as the client wrote them. They must be sealed."""
        texts = {name: text for name in ("title", "body") if (text := getattr(command, name)) is not None}
        assert all(parse_sealed(text) for text in texts.values() if text)
        open_ = await AlarmTexts(self.keys).opener(texts.values())
        return replace(command, **{name: open_(name, text) for name, text in texts.items()})

    @property
    def last(self) -> Any:
        return self.bus.sent[-1][1]

    @property
    def alarms(self) -> dict[str, Any]:
        return self.bus.state_of(USER).alarms


@pytest.fixture
async def office():
    office = Office()
    gateway = Gateway(
        settings=load(SETTINGS),
        limits=GatewaySettings(),
        auth=AnybodyIs(),
        bus=office.bus,
        telemetry=None,
        roster=Roster(),
        pool=office.pool,
        freshness=Freshness(office.positions, office.newest),
        roster_at=office.positions,
        reminder_partitions=[Partition("reminder", name) for name in PARTITIONS],
        audit=Audit(office.log, Callers()),
        reminder_keys=office.keys,
    )
    app = create_application(Health(), body_bytes_max=1024 * 1024)
    add_handlers(app, gateway.handlers(), gateway.access)
    async with TestClient(TestServer(app)) as client:
        office.client = client
        yield office


class TestAlarm:
    @pytest.mark.req("DI-04", "DI-19")
    async def test_a_row_is_created_and_comes_back_with_what_was_written(self, office):
        row = {"page_id": "page-1", "user_id": USER, "title": "제목", "next_alarm_time": LATER, "sent_count": 3}
        status, (made,) = await office.post("alarm", row)
        assert status == 201
        assert {name: made[name] for name in ("page_id", "user_id", "title", "body", "sent_count")} == {
            "page_id": "page-1",
            "user_id": USER,
            "title": "제목",
            "body": "",
            "sent_count": 3,
        }
        assert made["next_alarm_time"].replace("Z", "+00:00") == LATER
        assert (made["processed_at"], made["last_notification_id"]) == (None, None)

    @pytest.mark.req("DI-04", "DI-18")
    async def test_a_second_row_is_a_conflict_that_upserts_settle(self, office):
        await office.registered()
        row = {"page_id": "page-1", "user_id": USER, "title": "later", "sent_count": 1, "next_alarm_time": LATER}
        status, body = await office.post("alarm", row)
        assert (status, body["code"]) == (409, "23505")
        status, rows = await office.post("alarm?on_conflict=page_id", row, **IGNORE)
        assert (status, rows) == (201, [])
        status, (merged,) = await office.post("alarm?on_conflict=page_id", row, **MERGE)
        assert status == 201
        assert (merged["title"], merged["body"], merged["sent_count"]) == ("later", "b", 1)
        assert merged["next_alarm_time"].replace("Z", "+00:00") == LATER

    @pytest.mark.req("DI-18")
    async def test_an_upsert_keeps_the_count_of_an_alarm_that_was_sent(self, office):
        await office.registered()
        office.alarms["page-1"].sent_count = 4
        row = {"page_id": "page-1", "user_id": USER, "title": "later", "sent_count": 1}
        status, (merged,) = await office.post("alarm", row, **MERGE)
        assert (status, merged["title"], merged["sent_count"]) == (201, "later", 4)
        status, (same,) = await office.post("alarm", row, **MERGE)
        assert (status, same["title"], same["sent_count"]) == (201, "later", 4), "nothing changed, the row is shown"

    async def test_rows_conflict_on_their_key_only(self, office):
        row = {"page_id": "page-1", "user_id": USER}
        status, body = await office.post("alarm?on_conflict=title", row, **MERGE)
        assert (status, body["message"]) == (400, "on_conflict must be page_id")

    async def test_an_alarm_goes_to_the_partition_of_its_user(self, office):
        users = [f"user-{number}" for number in range(12)]
        status, _ = await office.post("alarm", [{"page_id": f"p-{user}", "user_id": user} for user in users])
        assert status == 201
        assert all(f"p-{user}" in office.bus.state_of(user).alarms for user in users)

    @pytest.mark.req("DI-04")
    @pytest.mark.parametrize(
        ("body", "command"),
        [
            ({"title": "x", "body": None}, c.ChangeAlarm("page-1", USER, title="x", body="")),
            ({"processed_at": LATER}, c.ChangeAlarm("page-1", USER, processed_at=NOW + timedelta(days=5))),
            ({"processed_at": LATER[:-6]}, c.ChangeAlarm("page-1", USER, processed_at=NOW + timedelta(days=5))),
            ({"processed_at": None}, c.ChangeAlarm("page-1", USER, release=True)),
            ({"sent_count": 2, "updated_at": LATER}, c.ChangeAlarm("page-1", USER, sent_count=2)),
            ({"last_notification_id": "n"}, c.ChangeAlarm("page-1", USER, last_notification_id="n")),
        ],
    )
    async def test_what_is_written_becomes_one_command(self, office, body, command):
        await office.registered()
        answer = await office.ask("PATCH", "alarm?page_id=eq.page-1", body)
        assert answer.status == 204, await answer.text()
        assert await office.opened(office.last) == command
        assert answer.headers.get("Drover-Ignored") == ("updated_at" if "updated_at" in body else None)

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({}, "processed_at is required"),
            ({"next_alarm_time": None}, "next_alarm_time cannot be null"),
            ({"sent_count": None, "title": "x"}, "sent_count cannot be null"),
            ({"user_id": "user_2"}, "user_id cannot be written here"),
            ({"sent_count": 0}, "sent_count must be between 1"),
            ({"next_alarm_time": "1960-01-01T00:00:00Z"}, "next_alarm_time must be in the years"),
        ],
    )
    async def test_what_cannot_be_written_is_refused_before_any_command(self, office, body, message):
        await office.registered()
        sent = len(office.bus.sent)
        answer = await office.ask("PATCH", "alarm?page_id=eq.page-1", body)
        assert answer.status == 400
        assert message in (await answer.json())["message"]
        assert len(office.bus.sent) == sent

    @pytest.mark.req("DI-04")
    @pytest.mark.parametrize(
        ("query", "columns", "seen"),
        [
            ("user_id=eq.user_1&created_at=lt.2026-03-01", {}, None),
            ("processed_at=is.null", {}, c.AlarmSeen(claimed=False)),
            (
                "processed_at=lt.2026-03-01T00:00:00Z",
                {"processed_at": LATER, "attempt": 2, "sent_count": 5},
                c.AlarmSeen(claimed=True, attempt=2, sent_count=5),
            ),
            ("sent_count=eq.1", {}, c.AlarmSeen(sent_count=1)),
            (
                "next_alarm_time=lte.2026-03-02T12:00:00Z&or=(processed_at.is.null,processed_at.lt.2026-03-01)",
                {},
                c.AlarmSeen(claimed=False, next_alarm_time=NOW),
            ),
            ("last_error=not.is.null", {}, c.AlarmSeen(claimed=False, sent_count=1, next_alarm_time=NOW)),
        ],
    )
    async def test_the_writer_gets_what_the_filters_found(self, office, query, columns, seen):
        await office.registered()
        office.shown(**columns)
        await office.ask("PATCH", f"alarm?page_id=eq.page-1&{query}", {"title": "x"})
        assert await office.opened(office.last) == c.ChangeAlarm("page-1", USER, title="x", only_if=seen)
        await office.ask("DELETE", f"alarm?page_id=eq.page-1&{query}")
        assert office.last == c.DeleteAlarm("page-1", USER, seen)

    @pytest.mark.req("SE-09")
    async def test_texts_of_earlier_releases_are_shown_as_they_are_and_those_of_erased_users_are_null(self, office):
        await office.registered()
        sealed = office.last.title
        office.pool.rows = [
            {"page_id": "1", "title": "plain", "body": ""},
            {"page_id": "2", "title": sealed, "body": ""},
        ]
        rows = await (await office.ask("GET", "alarm?select=page_id,title,body")).json()
        assert [(row["title"], row["body"]) for row in rows] == [("plain", ""), ("t", "")]
        note_erased(office.leaders.erased, "reminder", USER)
        await office.keys.destroy(USER)
        rows = await (await office.ask("GET", "alarm?select=page_id,title,body")).json()
        assert [row["title"] for row in rows] == ["plain", None]

    @pytest.mark.req("SE-09")
    async def test_without_a_leader_texts_are_neither_taken_nor_shown(self, office, monkeypatch):
        monkeypatch.setattr(subject_keys, "KEPT_S", 0.0)
        await office.registered()
        office.pool.rows = [{"page_id": "1", "title": office.last.title}]
        office.leaders.away = True
        answer = await office.ask("GET", "alarm?select=page_id,title")
        assert (answer.status, "Retry-After" in answer.headers) == (503, True)
        sent = len(office.bus.sent)
        status, _ = await office.post("alarm", {"page_id": "page-2", "user_id": USER, "title": "t"})
        assert (status, len(office.bus.sent)) == (503, sent)

    @pytest.mark.req("DI-04", "RM-06")
    async def test_the_second_of_two_senders_gets_an_empty_list(self, office):
        await office.registered()
        mark = "alarm?page_id=eq.page-1&processed_at=is.null"
        first = await office.ask("PATCH", mark, {"processed_at": NOW.isoformat()}, **SHOW)
        assert (first.status, [row["page_id"] for row in await first.json()]) == (200, ["page-1"])
        # The read model may still show it free: the writer decides.
        second = await office.ask("PATCH", mark, {"processed_at": NOW.isoformat()}, **SHOW)
        assert (second.status, await second.json()) == (200, [])
        assert second.headers["Drover-Refused"] == "page-1=CONFLICT"

    @pytest.mark.req("DI-04")
    async def test_a_refusal_is_an_error_if_the_row_is_named_by_its_key_alone(self, office):
        await office.registered()
        answer = await office.ask("PATCH", "alarm?page_id=eq.page-1", {"sent_count": 7})
        assert (answer.status, (await answer.json())["code"]) == (409, "STALE_ATTEMPT")

    @pytest.mark.req("DI-04")
    async def test_a_page_without_an_alarm_is_no_error(self, office):
        for method in ("PATCH", "DELETE"):
            body = {"title": "x"} if method == "PATCH" else None
            answer = await office.ask(method, "alarm?page_id=eq.nothing", body, **SHOW)
            assert (answer.status, await answer.json()) == (200, [])
        assert office.bus.sent == []

    async def test_without_the_read_model_nothing_is_written(self, office):
        await office.registered()
        office.pool.rows = None
        sent = len(office.bus.sent)
        answer = await office.ask("PATCH", "alarm?page_id=eq.page-1", {"title": "x"})
        assert answer.status == 503
        assert len(office.bus.sent) == sent

    @pytest.mark.req("DI-04", "DI-07")
    async def test_a_page_that_a_late_read_model_does_not_show_may_exist_so_the_client_shall_retry(
        self, office, monkeypatch
    ):
        await office.registered()

        async def never(place, seq, timeout_s):
            return False

        monkeypatch.setattr(office.positions, "wait", never)
        office.newest.observe("reminder.p0", 77)
        answer = await office.ask("PATCH", "alarm?page_id=eq.page-1", {"title": "x"})
        assert (answer.status, "Drover-Behind" in answer.headers) == (204, True), "it is there"
        office.pool.rows = []
        sent = len(office.bus.sent)
        for path in ("alarm?page_id=eq.page-1", "alarm?page_id=in.(page-1,page-2)"):
            answer = await office.ask("PATCH", path, {"title": "x"})
            assert (answer.status, "Retry-After" in answer.headers) == (503, True)
        assert len(office.bus.sent) == sent

    @pytest.mark.req("DI-04", "RM-05")
    async def test_a_row_is_deleted(self, office):
        await office.registered()
        answer = await office.ask("DELETE", "alarm?page_id=eq.page-1", **SHOW)
        assert (answer.status, [row["page_id"] for row in await answer.json()]) == (200, ["page-1"])
        assert office.alarms == {}

    async def test_a_repeat_with_the_same_key_claims_once(self, office):
        await office.registered()
        key = {"Idempotency-Key": "k", **SHOW}
        mark = "alarm?page_id=eq.page-1&processed_at=is.null"
        for _ in range(2):
            answer = await office.ask("PATCH", mark, {"processed_at": NOW.isoformat()}, **key)
            assert [row["page_id"] for row in await answer.json()] == ["page-1"]
        assert office.alarms["page-1"].attempt == 1


class TestUserInfo:
    @pytest.mark.req("DI-04", "DI-18")
    async def test_rows_are_created_merged_and_left_alone(self, office):
        status, (made,) = await office.post("user_info", {"user_id": USER})
        assert (status, made["timezone"]) == (201, "Asia/Seoul")
        status, body = await office.post("user_info", {"user_id": USER, "timezone": "UTC"})
        assert (status, body["code"]) == (409, "23505")
        path = "user_info?on_conflict=user_id"
        status, (merged,) = await office.post(path, {"user_id": USER, "timezone": "UTC"}, **MERGE)
        assert (status, merged["timezone"]) == (201, "UTC")
        status, (merged,) = await office.post(path, {"user_id": USER}, **MERGE)
        assert (status, merged["timezone"]) == (201, "UTC")
        status, rows = await office.post(path, {"user_id": USER, "timezone": "Asia/Seoul"}, **IGNORE)
        assert (status, rows) == (201, [])
        assert office.bus.state_of(USER).users[USER].timezone == "UTC"

    @pytest.mark.req("DI-04")
    async def test_a_row_is_changed_and_deleted_as_the_filters_found_it(self, office):
        await office.post("user_info", {"user_id": USER})
        office.pool.rows = [{"user_id": USER, "timezone": "Asia/Seoul"}]
        answer = await office.ask("PATCH", "user_info?user_id=eq.user_1", {"timezone": "UTC"})
        assert (answer.status, office.last) == (204, c.SetTimezone(USER, "UTC", existing=True))
        filtered = "user_info?timezone=eq.Asia/Seoul"
        answer = await office.ask("PATCH", filtered, {"timezone": "Asia/Tokyo"}, **SHOW)
        assert (answer.status, await answer.json()) == (200, []), "it is UTC by now"
        answer = await office.ask("DELETE", filtered)
        assert answer.headers["Drover-Refused"] == "user_1=CONFLICT"
        by_time = "user_info?user_id=eq.user_1&updated_at=eq.2026-03-02T12:00:00Z"
        answer = await office.ask("PATCH", by_time, {"timezone": "Asia/Tokyo"}, **SHOW)
        assert (answer.status, await answer.json()) == (200, []), "what it was changed to tells that it has changed"
        answer = await office.ask("DELETE", "user_info?user_id=eq.user_1")
        assert (answer.status, office.last) == (204, c.RemoveUser(USER))
        assert office.bus.state_of(USER).users == {}

    async def test_a_zone_that_does_not_exist_is_refused(self, office):
        office.pool.rows = [{"user_id": USER, "timezone": "UTC"}]
        for answer in (
            await office.ask("POST", "user_info", {"user_id": USER, "timezone": "Seoul"}),
            await office.ask("PATCH", "user_info?user_id=eq.user_1", {"timezone": "Seoul"}),
        ):
            assert (answer.status, (await answer.json())["details"]["field"]) == (400, "timezone")


@pytest.mark.req("DI-04")
@pytest.mark.parametrize("role", ["anon", "authenticated", "viewer", "operator", "admin"])
@pytest.mark.parametrize("relation", ["alarm", "user_info"])
async def test_only_the_back_office_writes_these_tables(office, relation, role):
    for method, path, body in (
        ("POST", relation, {"page_id": "p", "user_id": USER}),
        ("PATCH", f"{relation}?user_id=eq.{USER}", {"timezone": "UTC"}),
        ("DELETE", f"{relation}?user_id=eq.{USER}", None),
    ):
        answer = await office.ask(method, path, body, role=role)
        assert answer.status == 403, (method, await answer.text())


class TestAudit:
    @pytest.mark.req("SE-11")
    @pytest.mark.parametrize(
        "path",
        ["alarm?select=page_id", "user_info?select=user_id,alarm(title)", "user_info?select=x:alarm!inner(page_id)"],
    )
    async def test_who_reads_alarms_is_recorded_also_if_they_are_embedded(self, office, path):
        assert (await office.ask("GET", path, role="operator")).status == 200
        ((_, kind, what),) = office.log.lines()
        assert (kind, what) == ("reminder_text", f"/rest/v1/{path.partition('?')[0]}")

    @pytest.mark.req("SE-11")
    async def test_who_reads_nothing_of_users_texts_is_not_recorded(self, office):
        assert (await office.ask("GET", "user_info?select=user_id", role="operator")).status == 200
        assert (await office.ask("GET", "user_info?select=user_id", role="viewer")).status == 200
        assert office.log.lines() == []

    @pytest.mark.req("SE-11")
    async def test_texts_are_not_read_if_that_cannot_be_recorded(self, office):
        office.log.is_away = True
        answer = await office.ask("GET", "user_info?select=user_id,alarm(title)", role="operator")
        assert (answer.status, (await answer.json())["code"]) == (503, "AUDIT_UNAVAILABLE")


@pytest.mark.req("SE-09")
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_a_filter_on_a_text_is_refused_with_a_hint(office, method):
    await office.registered()
    body = {"sent_count": 2} if method == "PATCH" else None
    answer = await office.ask(method, "alarm?page_id=eq.page-1&title=eq.t", body)
    error = await answer.json()
    assert (answer.status, "title is sealed" in error["details"]) == (400, True)
    assert "other columns" in error["hint"]
