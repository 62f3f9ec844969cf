"""Searching events and alerts over all contexts, held against what stands in the logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.analysis import events as analysis
from drover.domain.fleet import events as fleet
from drover.domain.reminder import events as reminder
from drover.postgres.migrate import migrate
from drover.readmodel.form import placed, schema_of
from tests.integration.api.reads.desk import desk_on
from tests.integration.api.reads.logs import Logs
from tests.unit.domain.render.world import Hand, requested

START = datetime(2026, 3, 1, tzinfo=UTC)
PHONE, JOB = str(UUID(int=1)), str(UUID(int=100, version=4))
TEST = str(UUID(int=200, version=4))
WORKS = [str(UUID(int=300 + number, version=4)) for number in range(3)]
SPEC = ("a video", "https://youtu.be/x", "youtube_watch", 30, 90, 50, 30, 10, True, 10.0, None)
pytestmark = pytest.mark.req("EV-05", "EV-06")


def attempt(number: int, run: int = 1) -> tuple[str, str, str, int, int]:
    return WORKS[number], JOB, PHONE, run, 1


async def write(logs: Logs) -> None:
    """Something of everything; events of different contexts at the same times."""
    farm = logs["fleet"]
    await farm.commit(fleet.PcRegistered("pc-0", 20), fleet.DeviceRegistered(PHONE, "SERIAL01", "P1-G1", "pc-0", []))
    await farm.commit(fleet.DeviceCameOnline(PHONE), by="presence")
    created = [fleet.JobCreated(JOB, *SPEC), fleet.JobActivated(JOB), fleet.AttemptCreated(*attempt(0), "pc-0")]
    await farm.commit(*created, cause="order", by="user:ann")
    await farm.commit(fleet.AttemptSent(*attempt(0), START + timedelta(hours=1)), by="anon")
    await farm.commit(fleet.AttemptStarted(*attempt(0), 0, None, START + timedelta(hours=1)), by="anon")
    for progress in range(10, 100, 10):
        await farm.commit(fleet.AttemptProgressed(*attempt(0), progress, False), by="anon")
    end = fleet.AttemptSucceeded(*attempt(0), START, START, 156, True, False, False, None)
    await farm.commit(end, cause="report", by="anon")
    await farm.commit(AlertRaised("alert-1", "host_failing", "pc-0", "All phones fail", {"devices": 1}))
    await farm.commit(AlertRaised("alert-2", "poison_job", JOB, "Three phones failed", {}))
    await farm.commit(AlertResolved("alert-1", "host_failing", "pc-0", "time"))
    hand = Hand(1, 1, "worker-1")
    await logs["render"].commit(requested(1))
    await logs["render"].commit(hand.claimed(), by="worker-1")
    await logs["render"].commit(AlertRaised("alert-3", "template_missing", "1", "No template", {}))
    await logs["analysis"].commit(analysis.UserRegistered("ann", "free", 2))
    await logs["analysis"].commit(analysis.TestStarted(TEST, "ann"), analysis.TestCharged(TEST, "ann", 1))
    await logs["reminder"].commit(reminder.UserAdded("ann", "Asia/Seoul"))


class Found:
    """Events as they were found, and as they should be."""

    def __init__(self, desk, logs: Logs, connection: asyncpg.Connection) -> None:
        self.desk = desk
        self.logs = logs
        self.connection = connection

    async def agree(self, query: str, holds) -> None:
        expected = [told.place for told in self.logs.told if holds(told)]
        assert expected, f"{query}: it proves nothing if there is nothing to be found"
        for limit in (1, 4, 500):
            rows = await self.desk.rows(f"/api/events?limit={limit}&{query}")
            assert [(row["context"], row["seq"], row["line"]) for row in rows] == expected, (query, limit)


@pytest.fixture
async def found(postgres_dsn):
    await migrate(postgres_dsn)
    # Every second event has the time of the one before it, as those of one commit mostly do.
    logs = Logs(lambda n: START + timedelta(seconds=n // 2))
    await write(logs)
    await logs.project(postgres_dsn)
    connection = await asyncpg.connect(postgres_dsn)
    async with desk_on(postgres_dsn) as desk:
        yield Found(desk, logs, connection)
    await connection.close()


async def test_all_events_of_all_contexts_come_newest_first(found):
    await found.agree("", lambda told: True)


async def test_events_are_found_by_what_they_are_about_wherever_it_stands_in_them(found):
    for entity in (PHONE, JOB, WORKS[0], "pc-0", "1", "worker-1", TEST, "ann", "alert-1"):
        await found.agree(f"entity={entity}", lambda told, entity=entity: entity in told.entities)


async def test_events_are_found_by_type_actor_command_context_and_time(found):
    for query, holds in (
        ("type=AttemptProgressed", lambda told: _type(told) == "AttemptProgressed"),
        (
            "type=AttemptSent,TestStarted,AlertRaised",
            lambda told: _type(told) in ("AttemptSent", "TestStarted", "AlertRaised"),
        ),
        ("type=AttemptSent,TestStarted&context=fleet", lambda told: _type(told) == "AttemptSent"),
        ("actor=anon", lambda told: told.event.by == "anon"),
        ("actor=user:ann", lambda told: told.event.by == "user:ann"),
        ("cause=order", lambda told: told.event.cause == "order"),
        ("context=render,reminder", lambda told: told.place[0] in ("render", "reminder")),
        ("from=2026-03-01T00:00:03Z", lambda told: told.event.at >= START + timedelta(seconds=3)),
        ("to=2026-03-01T00:00:03Z", lambda told: told.event.at < START + timedelta(seconds=3)),
        (f"entity={JOB}&type=JobActivated", lambda told: _type(told) == "JobActivated"),
        (f"entity={PHONE}&actor=anon", lambda told: PHONE in told.entities and told.event.by == "anon"),
        (
            f"entity={JOB}&from=2026-03-01T00:00:05Z&to=2026-03-01T00:00:07%2B00:00",
            lambda told: (
                JOB in told.entities and START + timedelta(seconds=5) <= told.event.at < START + timedelta(seconds=7)
            ),
        ),
    ):
        await found.agree(query, holds)


async def test_what_no_context_has_is_an_empty_list(found):
    assert await found.desk.rows("/api/events?type=RenderClaimed&context=fleet") == []
    assert await found.desk.rows("/api/events?entity=nobody") == []


async def test_an_event_shows_all_that_stands_in_the_log(found):
    told = next(told for told in found.logs.told if _type(told) == "AttemptSucceeded")
    context, seq, line = told.place
    event = await found.desk.get(f"/api/events/{context}/{seq}/{line}")
    assert event["data"]["actual_duration_sec"] == 156
    assert event["entities"] == list(told.entities)
    assert (event["by"], event["cause"], event["n"]) == ("anon", "report", told.event.n)
    for path in ("fleet/9999/0", "nowhere/1/0"):
        status, body = await found.desk.ask(f"/api/events/{path}")
        assert (status, body["error"]) == (404, "NOT_FOUND")


async def test_a_chain_has_the_command_all_that_followed_from_it_and_where_it_went_on(found):
    told = next(told for told in found.logs.told if _type(told) == "JobActivated")
    chain = await found.desk.get(f"/api/events/fleet/{told.place[1]}/{told.place[2]}/chain")
    assert chain["event"]["type"] == "JobActivated"
    assert (chain["command"]["id"], chain["command"]["by"]) == ("order", "user:ann")
    assert [event["type"] for event in chain["events"]] == ["JobCreated", "JobActivated", "AttemptCreated"]
    assert chain["preceded_by"] is None, "the job began with this command"
    assert [(one["entity"], one["event"]["type"]) for one in chain["continues"]] == [(WORKS[0], "AttemptSent")]
    (going_on,) = chain["continues"]
    assert (going_on["after_seq"], going_on["after_line"]) == (told.place[1], 2)


async def test_a_chain_can_be_followed_from_one_command_to_the_next_and_back(found):
    chain = await found.desk.get(_chain(found, "AttemptCreated"))
    types = []
    while chain["continues"]:
        event = chain["continues"][0]["event"]
        types.append(event["type"])
        chain = await found.desk.get(f"/api/events/{event['context']}/{event['seq']}/{event['line']}/chain")
    assert types == ["AttemptSent", "AttemptStarted", *["AttemptProgressed"] * 9, "AttemptSucceeded"]
    assert chain["preceded_by"]["type"] == "AttemptProgressed"


async def test_a_chain_of_many_things_is_bounded(found, monkeypatch):
    monkeypatch.setattr("drover.api.reads.chain.EVENTS_MAX", 2)
    monkeypatch.setattr("drover.api.reads.chain.ENTITIES_MAX", 1)
    chain = await found.desk.get(_chain(found, "AttemptCreated"))
    assert chain["events_left_out"] and len(chain["events"]) == 2


async def test_alerts_come_from_all_contexts_and_are_found_by_what_they_are_about(found):
    alerts = await found.desk.rows("/api/alerts?limit=1")
    assert [alert["id"] for alert in alerts] == ["alert-2", "alert-1", "alert-3"]
    assert alerts[1]["details"] == {"devices": 1} and alerts[1]["reason"] == "time"
    for query, ids in (
        ("open=true", ["alert-2", "alert-3"]),
        ("open=false", ["alert-1"]),
        ("kind=poison_job", ["alert-2"]),
        ("subject=1", ["alert-3"]),
        ("context=render,analysis", ["alert-3"]),
        ("context=analysis", []),
        (f"subject={JOB}&open=true", ["alert-2"]),
        ("from=2026-03-01T00:00:05Z", ["alert-2", "alert-1"]),
    ):
        rows = await found.desk.rows(f"/api/alerts?limit=1&{query}")
        assert [row["id"] for row in rows] == ids, query


async def test_a_context_without_a_read_model_is_left_out_and_is_there_as_soon_as_it_is_made(found):
    await found.connection.execute(f"ALTER SCHEMA {schema_of('render')} RENAME TO elsewhere")
    rows = await found.desk.rows("/api/events?limit=3")
    assert {row["context"] for row in rows} == {"fleet", "analysis", "reminder"}
    assert await found.desk.rows("/api/renders") == []
    await found.connection.execute(f"ALTER SCHEMA elsewhere RENAME TO {schema_of('render')}")
    assert {row["context"] for row in await found.desk.rows("/api/events")} == {
        "fleet", "render", "analysis", "reminder",
    }  # fmt: skip


async def test_half_a_read_model_is_503_not_an_empty_list(found):
    await found.connection.execute(placed("ALTER TABLE rm_render.events RENAME TO elsewhere"))
    await found.connection.execute(placed("ALTER TABLE rm_render.render_rows RENAME TO elsewhere_too"))
    for path in ("/api/events", "/api/renders"):
        status, body = await found.desk.ask(path)
        assert (status, body["error"]) == (503, "UNAVAILABLE")


def _type(told) -> str:
    return type(told.event).__name__


def _chain(found: Found, type_: str) -> str:
    told = next(told for told in found.logs.told if _type(told) == type_)
    return f"/api/events/{'/'.join(map(str, told.place))}/chain"
