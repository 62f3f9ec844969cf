"""Every change is told live: over `drover up`, with a connection that is cut and a platform that is started again."""

from __future__ import annotations

import signal

import pytest

from drover.testing.waiting import eventually
from tests.integration.api.listening import listening

PHONE = "WATCHED001"
AT_ONCE_S = 10.0
"""Less than the 15 s between two heartbeats of a stream: nothing but the event itself can have brought it."""


def listen(platform, query="", **how):
    """To the fleet: what other contexts have to tell comes when it comes."""
    return listening(platform.url, platform.credentials["service_key"], f"?context=fleet{query}", **how)


async def create_job(http, title):
    made = await http.call("POST", "/rest/v1/jobs", json={"title": title, "target_url": "https://youtu.be/abc"})
    assert made.status == 201, made


async def recorded(http, after):
    """What the log has after an id, as the read model tells it: id and type of each event."""
    await http.catch_up()
    rows = await http.rows("events", "context=eq.fleet&select=seq,line,type&order=seq,line")
    events = [(f"fleet={row['seq']}.{row['line']}", row["type"]) for row in rows]
    return events[[id_ for id_, _ in events].index(after) + 1 :]


def told(heard):
    return [(event.id, event.type) for event in heard]


@pytest.mark.req("DF-23")
async def test_a_life_of_a_job_is_seen_as_it_happens_and_a_cut_connection_misses_nothing(start):
    platform = await start()
    async with platform.calling() as http:
        made = await http.register(PHONE, headers={"Prefer": "return=representation"})
        (device,) = made.json

        async with listen(platform) as watching:
            hello = watching.hello.id
            assert (await http.beat(PHONE)).status == 204
            await watching.until("DeviceCameOnline", within_s=AT_ONCE_S)
            await create_job(http, "First")
            heard = await watching.until("AttemptCreated", within_s=AT_ONCE_S)
            types = [event.type for event in heard]
            assert types[0] == "JobCreated"
            assert "JobActivated" in types
            assert heard[-1].data["device_id"] == device["id"]
            last_id = heard[-1].id

        # The connection is cut, and the farm goes on.
        poll = f"/rest/v1/job_assignments?select=*,jobs(*)&device_id=eq.{device['id']}&status=eq.pending&limit=1"
        (work,) = (await http.get(poll, anon=True)).json
        await create_job(http, "Second")
        missed = await recorded(http, last_id)
        assert {"AttemptSent", "JobCreated"} <= {type_ for _, type_ in missed}

        async with listen(platform, last_id=last_id) as watching:
            assert told(await watching.next(len(missed))) == missed
            report = {"status": "running", "run": work["run"], "progress_pct": 0}
            path = f"/rest/v1/job_assignments?id=eq.{work['id']}"
            assert (await http.call("PATCH", path, anon=True, json=report)).status == 204
            (started,) = await watching.next(within_s=AT_ONCE_S)
            assert (started.type, started.data["assignment_id"]) == ("AttemptStarted", work["id"])
            assert missed + told([started]) == await recorded(http, last_id)

        wanted = f"&type=Attempt*&entity={device['id']}"
        async with listen(platform, wanted, last_id=hello) as watching:
            chosen = [event.type for event in await watching.next(3)]
            assert chosen == ["AttemptCreated", "AttemptSent", "AttemptStarted"]


@pytest.mark.req("DF-23")
async def test_a_stop_says_goodbye_and_the_next_start_goes_on_by_the_same_id(start):
    first = await start()
    async with first.calling() as http, listen(first) as watching:
        assert (await http.register(PHONE)).status == 201
        heard = await watching.until("DeviceRegistered", within_s=AT_ONCE_S)
        first.send(signal.SIGTERM)
        *more, bye = await watching.rest()
        assert bye.type == "bye"
        heard += more
        assert bye.id == heard[-1].id
    assert await first.ended() == 0

    second = await start()
    async with second.calling() as http, listen(second, last_id=bye.id) as watching:
        assert (await http.register("WATCHED002")).status == 201
        missed = await recorded(http, bye.id)
        assert {type_ for _, type_ in missed} >= {"TermStarted", "DeviceRegistered"}
        assert told(await watching.next(len(missed))) == missed


async def test_it_is_for_the_back_office_only_and_counted(platform, http):
    assert (await http.get("/api/events/stream", anon=True)).status == 403
    assert (await http.get("/api/events/stream", headers={"apikey": ""})).status == 401
    refused = await http.get("/api/events/stream", headers={"Last-Event-ID": "fleet=999999999.0"})
    assert (refused.status, refused.json["details"]["field"]) == (400, "Last-Event-ID")
    async with listen(platform):

        async def counted():  # streams of the tests before may still be closing
            metrics = (await http.get("/metrics")).raw.decode()
            return 'drover_streams_open{route="/api/events/stream"} 1.0' in metrics and metrics

        assert "drover_api_stream_overflows_total" in await eventually(counted)
