"""The real supabase-js hears what changes: over `drover up`, with the client's defaults."""

from __future__ import annotations

import re
import signal
import time
from uuid import uuid4

import pytest

from drover.embedded.credentials import load_or_create_secrets
from drover.service.api_keys import Role, sign_api_key
from drover.service.identity_keys import IdentityKeys
from drover.testing.waiting import eventually
from tests.e2e.realtime_filters import FILTERS, JOBS, write_job
from tests.e2e.realtime_js import CLIENT, listener_on
from tests.e2e.up import Platform
from tests.node_packages import node_with

LATER_S = 40.0
"""For what a client does again after a pause."""


@pytest.fixture(scope="session")
def node() -> str:
    return node_with(CLIENT)


@pytest.fixture
async def listener(node, platform):
    async with listener_on(node, platform.url) as made:
        yield made


@pytest.fixture
def office(platform) -> str:
    return platform.credentials["service_key"]


@pytest.fixture
def phone(platform) -> str:
    return platform.credentials["anon_key"]


async def write(http, method, path, **row):
    answer = await http.call(method, path, json=row, headers={"Prefer": "return=representation"})
    assert answer.status in (200, 201, 204), answer
    return answer.json if answer.raw else None


@pytest.mark.req("DI-08")
@pytest.mark.parametrize("vsn", ["2.0.0", "1.0.0"])
async def test_supabase_js_hears_devices_that_are_registered_and_that_change(node, platform, http, office, vsn):
    serial = f"REALTIME{vsn.replace('.', '')}"
    async with listener_on(node, platform.url, DROVER_VSN=vsn) as listener:
        await listener.subscribe(
            "farm", office, {"event": "*", "table": "devices", "filter": f"serial_number=eq.{serial}"}
        )
        system = await listener.until(channel="farm", heard="system")
        assert (system["status"], system["message"]) == ("ok", "Subscribed to PostgreSQL")
        assert (await http.register(serial)).status == 201
        heard = await listener.until(heard="INSERT", table="devices")
        assert heard["new"]["serial_number"] == serial
        assert (heard["old"], heard["errors"]) == ({}, None)
        assert (await http.beat(serial)).status == 204
        changed = await listener.until(heard="UPDATE", table="devices")
        assert changed["new"]["id"] == heard["new"]["id"]
        assert changed["old"] == {"id": heard["new"]["id"]}
        (row,) = await http.rows("devices", f"serial_number=eq.{serial}")
        assert changed["new"].keys() == row.keys()


@pytest.mark.req("DI-08")
async def test_the_life_of_an_assignment_is_heard_through_filters_of_each_type(listener, http, office, phone):
    serial = "REALTIMEWORK"
    (device,) = (await http.register(serial, headers={"Prefer": "return=representation"})).json
    assert (await http.beat(serial)).status == 204
    wanted = {
        "uuid": f"device_id=eq.{device['id']}",
        "text": "status=in.(completed,failed)",
        "integer": "progress_pct=gte.60",
        "boolean": "did_like=eq.true",
        "time": "assigned_at=gt.2020-01-01T00:00:00Z",
        "and": f"device_id=eq.{device['id']},progress_pct=lt.60",
        "none": f"device_id=eq.{uuid4()}",
    }
    for name, text in wanted.items():
        key = phone if name == "uuid" else office
        change = {"event": "*", "table": "job_assignments", "filter": text}
        await listener.subscribe(name, key, change)

    title = {"title": "rt", "target_url": "https://youtu.be/abc", "target": {"device_ids": []}}
    (job,) = await write(http, "POST", "/rest/v1/jobs", **title)
    await write(http, "POST", "/rest/v1/job_assignments", job_id=job["id"], device_id=device["id"])
    made = await listener.until(channel="uuid", heard="INSERT")
    assert made["new"]["job_id"] == job["id"]
    poll = f"/rest/v1/job_assignments?select=*,jobs(*)&device_id=eq.{device['id']}&status=eq.pending&limit=1"

    async def work():
        assert (await http.beat(serial)).status == 204
        return (await http.get(poll, anon=True)).json

    (found,) = await eventually(work, every_s=0.3)
    path = f"/rest/v1/job_assignments?id=eq.{found['id']}"
    for report in (
        {"status": "running", "progress_pct": 0},
        {"status": "running", "progress_pct": 60},
        {"status": "completed", "progress_pct": 100, "actual_duration_sec": 60, "did_like": True},
    ):
        assert (await http.call("PATCH", path, anon=True, json=report | {"run": found["run"]})).status == 204
    for channel in ("uuid", "text", "integer", "boolean", "time"):
        if not any(
            one["channel"] == channel and one.get("new", {}).get("status") == "completed" for one in listener.heard
        ):
            await listener.until(channel=channel, heard="UPDATE", filter=wanted[channel])
    assert all(one["new"]["progress_pct"] < 60 for one in listener.rows("and"))
    assert all(one["new"]["progress_pct"] >= 60 for one in listener.rows("integer"))
    assert {one["new"]["did_like"] for one in listener.rows("boolean")} == {True}
    assert listener.rows("and")
    assert listener.rows("none") == []


@pytest.mark.req("DI-08")
async def test_every_operator_holds_for_the_rows_that_it_should(listener, http, office):
    changes = [{"event": "INSERT", "table": "jobs", "filter": text} for text in FILTERS]
    await listener.subscribe("jobs", office, *changes, {"event": "INSERT", "table": "jobs"})
    titles = [await write_job(http, name, "js") for name in JOBS]
    while not {one["new"]["title"] for one in listener.rows("jobs") if one["filter"] is None} >= {*titles}:
        await listener.until(channel="jobs", filter=None, heard="INSERT")
    heard = dict.fromkeys(FILTERS, "")
    for one in listener.rows("jobs"):
        if one["filter"] is not None and one["new"]["title"] in titles:
            heard[one["filter"]] += one["new"]["title"][0]
    assert {text: "".join(sorted(found)) for text, found in heard.items()} == FILTERS


@pytest.mark.req("DI-08")
async def test_a_filter_by_regular_expression_is_refused_with_the_reason(listener, office):
    change = {"event": "*", "table": "jobs", "filter": "title=match.^a"}
    await listener.do("subscribe", name="regular", key=office, changes=[change])
    refused = await listener.until(channel="regular", status="CHANNEL_ERROR")
    assert "operator match is not known" in refused["error"]


@pytest.mark.req("DI-08")
async def test_renders_alarms_and_deleted_rows_are_heard(listener, http, office):
    await listener.subscribe(
        "all",
        office,
        {"event": "*", "table": "render_queue", "filter": "composition_id=eq.rt-comp"},
        {"event": "*", "table": "alarm", "filter": "user_id=eq.rt-user"},
        {"event": "DELETE", "table": "aep_field_mapping"},
    )
    gfx = {"slots": [{"slot_number": 1, "fields": {"name": "SECRET NAME"}}]}
    render = {"composition_id": "rt-comp", "composition_name": "Chips", "gfx_data": gfx}
    (made,) = await write(http, "POST", "/rest/v1/render_queue", **render)
    heard = await listener.until(heard="INSERT", table="render_queue")
    assert heard["new"]["id"] == made["id"]
    assert "gfx_data" not in heard["new"]
    await write(http, "PATCH", f"/rest/v1/render_queue?id=eq.{made['id']}", status="cancelled")
    assert (await listener.until(heard="UPDATE", table="render_queue"))["new"]["status"] == "cancelled"

    page = {"page_id": "p-1", "user_id": "rt-user", "title": "SECRET TITLE"}
    await write(http, "POST", "/api/reminder/register-by-page", **page)
    assert "title" not in (await listener.until(heard="INSERT", table="alarm"))["new"]
    await write(http, "POST", "/api/reminder/pages-deleted", page_ids=["p-1"], user_id="rt-user")
    assert (await listener.until(heard="DELETE", table="alarm"))["old"] == {"user_id": "rt-user", "page_id": "p-1"}

    field = {"composition_id": "rt-comp", "field_name": "Slot 1 - name", "layer_name": "Name 1"}
    (made,) = await write(http, "POST", "/rest/v1/aep_field_mapping", **field)
    await write(http, "DELETE", f"/rest/v1/aep_field_mapping?id=eq.{made['id']}")
    gone = await listener.until(heard="DELETE", table="aep_field_mapping")
    assert (gone["old"], gone["new"]) == ({"id": made["id"]}, {})
    assert "SECRET" not in str(listener.heard)


@pytest.mark.req("DI-08")
async def test_anon_learns_why_it_may_not_listen_and_hears_what_it_may_read(listener, http, phone):
    await listener.do("subscribe", name="renders", key=phone, changes=[{"event": "*", "table": "render_queue"}])
    refused = await listener.until(channel="renders", status="CHANNEL_ERROR")
    assert "permission denied for table render_queue" in refused["error"]
    await listener.do("subscribe", name="accounts", key=phone, changes=[{"event": "*", "table": "accounts"}])
    assert "has no live rows" in (await listener.until(channel="accounts", status="CHANNEL_ERROR"))["error"]
    await listener.subscribe("all", phone, {"event": "INSERT"})
    await write(http, "POST", "/rest/v1/render_queue", composition_id="c", composition_name="c", gfx_data={})
    assert (await http.register("REALTIMEANON")).status == 201
    await listener.until(channel="all", heard="INSERT", table="devices")
    assert {one["table"] for one in listener.rows("all")} <= {"devices", "jobs", "job_assignments"}


@pytest.mark.req("DI-08")
async def test_broadcasts_between_clients(node, platform, listener, http, phone, office):
    async with listener_on(node, platform.url) as other, listener_on(node, platform.url, DROVER_VSN="1.0.0") as old:
        for one in (listener, other, old):
            await one.subscribe("room", phone, broadcast=["*"])
        config = {"broadcast": {"self": True, "ack": True}}
        await listener.subscribe("echo", office, topic="room", config=config, broadcast=["moved"])
        await other.do("send", name="room", event="moved", payload={"x": 1})
        moved = {"heard": "broadcast", "event": "moved"}
        await old.until(channel="room", payload={"x": 1}, **moved)
        await listener.until_all(*({"channel": name, "payload": {"x": 1}} | moved for name in ("room", "echo")))
        await listener.do("send", name="echo", event="moved", payload={"x": 2})
        await listener.until_all({"channel": "echo", "payload": {"x": 2}} | moved, {"channel": "echo", "sent": "ok"})
        await other.until(channel="room", heard="broadcast", payload={"x": 2})
        await other.do("send", name="room", event="raw", bytes=[0, 255])
        assert (await listener.until(channel="room", heard="broadcast"))["payload"] == {"bytes": [0, 255]}
        await other.do("httpSend", name="room", event="posted", payload={"x": 3})
        await listener.until(channel="room", heard="broadcast", event="posted", payload={"x": 3})
        await old.until(channel="room", heard="broadcast", event="posted", payload={"x": 3})
        assert not any(one.get("payload") == {"x": 1} for one in other.heard), "it does not hear itself"


@pytest.mark.req("DI-08")
async def test_presence_of_clients(node, platform, listener, http, phone):
    async with listener_on(node, platform.url) as other:
        await listener.subscribe("who", phone, presence=True, config={"presence": {"key": "one"}})
        await listener.do("track", name="who", payload={"at": "desk"})
        await listener.until(channel="who", tracked="ok")
        await other.subscribe("who", phone, presence=True, config={"presence": {"key": "two"}})
        state = await other.until(channel="who", heard="sync")
        assert [meta["at"] for meta in state["state"]["one"]] == ["desk"]
        await other.do("track", name="who", payload={})
        await listener.until(channel="who", heard="join", key="two")
        await listener.do("untrack", name="who")
        await other.until(channel="who", heard="leave", key="one")
    await listener.until(channel="who", heard="leave", key="two")


@pytest.mark.req("DI-08")
async def test_a_token_is_refreshed_and_one_that_expires_closes_the_channel(listener, platform, http, phone, office):
    """By hand: a token that is valid for seconds, then a newer one, then none."""
    keys = IdentityKeys([load_or_create_secrets(platform.data_dir).identity_secret])

    def token(lifetime_s):
        now_s = time.time()
        return sign_api_key(keys, Role.SERVICE_ROLE, key_id=str(uuid4()), now_s=now_s, expires_s=now_s + lifetime_s)

    await listener.subscribe("before", office)  # Node takes seconds to start on a busy machine
    await listener.do("setAuth", key=phone, token=token(8))
    await listener.subscribe("mine", phone, {"event": "INSERT", "table": "devices"})
    await listener.do("setAuth", key=phone, token=token(12))
    assert (await http.register("REALTIMETOK1")).status == 201
    await listener.until(channel="mine", heard="INSERT")
    ended = await listener.until(channel="mine", heard="system", status="error", within_s=LATER_S)
    assert ended["message"] == "InvalidJWTToken: Token has expired"
    await listener.until(channel="mine", status="CLOSED")


@pytest.mark.req("DI-08")
async def test_a_person_hears_what_they_may_read_until_they_sign_out(listener, platform, http, phone):
    keys = platform.credentials
    await listener.do("signIn", key=phone, email=keys["admin_email"], password=keys["admin_password"])
    await listener.until(signedIn=True)
    await listener.subscribe("person", phone, {"event": "*", "table": "render_queue"}, config={"private": True})
    await write(http, "POST", "/rest/v1/render_queue", composition_id="p", composition_name="p", gfx_data={})
    await listener.until(channel="person", heard="INSERT", table="render_queue")
    await listener.do("leave", name="person", key=phone)
    await listener.until(channel="person", left="ok")
    await listener.subscribe("person", phone, {"event": "*", "table": "render_queue"})
    await listener.do("signOut", key=phone)
    ended = await listener.until(channel="person", heard="system", status="error", within_s=LATER_S)
    # The client may send its key, which may do less, before the server has heard that the session has ended.
    assert re.match("InvalidJWTToken: Token has expired|Unauthorized: permission denied", ended["message"])
    await listener.until(channel="person", status="CLOSED")


@pytest.mark.req("DI-08")
@pytest.mark.slow
async def test_a_client_comes_back_by_itself_when_the_server_restarts(node, start):
    first = await start()
    async with listener_on(node, first.url) as listener:
        await listener.subscribe("farm", first.credentials["service_key"], {"event": "INSERT", "table": "devices"})
        first.send(signal.SIGTERM)
        error = await listener.until(channel="farm", status="CHANNEL_ERROR")
        assert "1012 (The server restarts)" in error["error"]
        assert await first.ended() == 0
        second = Platform(first.data_dir, port=first.port)
        try:
            await second.ready()
            await listener.until(channel="farm", status="SUBSCRIBED", within_s=LATER_S)
            async with second.calling() as http:
                assert (await http.register("REALTIMEBACK")).status == 201
            assert (await listener.until(heard="INSERT"))["new"]["serial_number"] == "REALTIMEBACK"
        finally:
            await second.end()
        assert not re.search(r"eyJ[\w-]+\.[\w-]+\.", first.output + second.output), "a key was logged"
