"""`drover events` on a real log."""

import asyncio
import json
import signal
from uuid import uuid4

import pytest

from drover.eventlog.streams import ensure_stream

from .conftest import COMMAND_S, Written, device, online, pc, settings

READ_S = COMMAND_S


async def test_json_is_each_line_exactly_as_it_is_stored(drover, nats, written):
    await written.commit(pc(), device())
    await written.commit(online())
    ended = await drover("events", "tail", "--no-follow", "--json", "--context", written.context, **settings(nats))
    assert ended.out.splitlines() == written.lines
    assert (ended.code, ended.err) == (0, "")


async def test_a_person_sees_a_line_for_each_event(drover, nats, written):
    await written.commit(pc("pc-7"), device("d7"))
    ended = await drover("events", "tail", "--no-follow", "--context", written.context, **settings(nats))
    first, second = ended.out.splitlines()
    assert " 1  PcRegistered " in first and first.endswith("service_role  pc_id=pc-7  capacity=20")
    assert " 2  DeviceRegistered " in second and "device_id=d7" in second
    assert "\x1b" not in ended.out, "no colours into a pipe"


async def test_filters_and_beginnings_work_together(drover, nats, written):
    for number in range(1, 31):
        await written.commit(online(f"d{number % 3}"), device(f"d{number % 3}"), cause=f"c{number}")
    asked = ("events", "tail", "--no-follow", "--json", "--context", written.context)

    async def ordinals(*more):
        ended = await drover(*asked, *more, **settings(nats))
        assert ended.code == 0, ended.err
        return [json.loads(line)["n"] for line in ended.out.splitlines()]

    assert await ordinals() == list(range(41, 61))
    assert await ordinals("--from", "58") == [58, 59, 60]
    assert await ordinals("--last", "2", "--type", "DeviceRegistered", "--entity", "d1") == [50, 56]
    assert await ordinals("--since", "1h", "--type", "*Online", "--by", "service_role") == list(range(1, 60, 2))
    assert await ordinals("--by", "nobody") == []


async def test_a_tail_follows_and_ends_well_with_ctrl_c(start, nats, written):
    await written.commit(pc(), device())
    tail = await start("events", "tail", "--json", "--last", "1", "--context", written.context, **settings(nats))
    assert (await asyncio.wait_for(tail.stdout.readline(), READ_S)).decode().strip() == written.lines[1]
    await written.commit(online())
    assert (await asyncio.wait_for(tail.stdout.readline(), READ_S)).decode().strip() == written.lines[2]
    tail.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(tail.communicate(), READ_S)
    assert (tail.returncode, out, err) == (0, b"", b"")


async def test_a_tail_ends_when_its_reader_leaves_though_nothing_happens(start, nats, written):
    await written.commit(pc())
    tail = await start("events", "tail", "--json", "--context", written.context, **settings(nats))
    await asyncio.wait_for(tail.stdout.readline(), READ_S)
    tail._transport.get_pipe_transport(1).close()
    assert await asyncio.wait_for(tail.wait(), READ_S) == 0


async def test_an_event_is_shown_whole_with_its_commit_and_its_command(drover, nats, written):
    await written.commit(pc(), cause="earlier")
    seq = await written.commit(pc("pc-2"), device("d2"), cause="one command")
    ended = await drover("events", "show", "3", "--json", "--context", written.context, **settings(nats))
    shown = json.loads(ended.out)
    stored = await written.log.get(seq)
    assert shown["event"] == json.loads(written.lines[2])
    assert shown["same_command"] == [json.loads(written.lines[1])]
    commit = shown["commit"]
    assert (commit["sequence"], commit["line"], commit["events"]) == (seq, 1, 2)
    assert (commit["id"], commit["epoch"]) == (stored.id, 1)
    ended = await drover("events", "show", f"{seq}:0", "--context", written.context, **settings(nats))
    assert ended.code == 0
    for text in ("PcRegistered", "one command", stored.id, "pc-2", "Other events of the same command", "device_id=d2"):
        assert text in ended.out


async def test_an_event_is_found_in_a_partition_that_shares_its_stream(drover, nats, client, written):
    other = Written(client, written.context, "other")
    for _ in range(10):
        await other.commit(online("elsewhere"))
        await written.commit(online("here"), online("here"))
    place = other.seq
    for asked, n, partition in ((("13",), 13, "main"), (("4", "--partition", "other"), 4, "other")):
        ended = await drover("events", "show", *asked, "--json", "--context", written.context, **settings(nats))
        shown = json.loads(ended.out)
        assert (shown["event"]["n"], shown["partition"]) == (n, partition)
    ended = await drover("events", "show", f"{place}:0", "--context", written.context, **settings(nats))
    assert ended.code == 3, "that sequence is the other partition's"


async def test_a_divided_context_is_shown_whole_and_its_ordinals_need_a_partition(drover, nats, client):
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context, partitions=2)
    parts = [Written(client, context, name) for name in ("p0", "p1")]
    for number in range(3):
        for part in parts:
            await part.commit(online(f"{part.log.partition.name}-{number}"))
    ended = await drover("events", "tail", "--no-follow", "--json", "--context", context, **settings(nats))
    found = [json.loads(line)["device_id"] for line in ended.out.splitlines()]
    assert found == ["p0-0", "p1-0", "p0-1", "p1-1", "p0-2", "p1-2"]
    asked = ("events", "tail", "--no-follow", "--json", "--context", context, "--partition", "p1", "--from", "2")
    ended = await drover(*asked, **settings(nats))
    assert [json.loads(line)["device_id"] for line in ended.out.splitlines()] == ["p1-1", "p1-2"]
    ended = await drover("events", "show", "2", "--context", context, **settings(nats))
    assert ended.code == 2
    assert "--partition (p0, p1)" in ended.err
    ended = await drover("events", "show", f"{parts[1].seq}:0", "--json", "--context", context, **settings(nats))
    assert json.loads(ended.out)["event"]["device_id"] == "p1-2"


@pytest.mark.parametrize("reference", ["99", "99:0", "1:9"])
async def test_an_event_that_is_not_there_is_not_found(drover, nats, written, reference):
    await written.commit(pc())
    ended = await drover("events", "show", reference, "--context", written.context, **settings(nats))
    assert (ended.code, ended.out) == (3, "")
    assert f"no event {reference}" in ended.err
    assert "Traceback" not in ended.err


async def test_a_context_that_is_not_there_is_said_at_once(drover, nats):
    ended = await drover("events", "tail", "--context", "nowhere", **settings(nats))
    assert ended.code == 3
    assert "no log of the context 'nowhere'" in ended.err


async def test_two_beginnings_are_one_too_many(drover, nats):
    ended = await drover("events", "tail", "--from", "1", "--last", "2", **settings(nats))
    assert ended.code == 2
    assert "give only one of them" in ended.err


async def test_no_server_is_an_error_within_seconds_and_without_the_password(drover, closed_port):
    environ = {
        "DROVER_NATS_URL": f"nats://drover:hush@127.0.0.1:{closed_port}",
        "DROVER_POSTGRES_URL": "postgresql://x:hush@127.0.0.1:1/x",
        "DROVER_JWT_SECRETS": "s" * 32,
    }
    for command in (("events", "tail"), ("status",), ("migrate",)):
        ended = await drover(*command, **environ)
        assert (ended.code, ended.out) == (5, "")
        assert "Connection refused" in ended.err
        assert "hush" not in ended.err and "Traceback" not in ended.err


async def test_no_platform_says_what_to_do(drover):
    ended = await drover("events", "tail")
    assert ended.code == 5
    assert "drover up" in ended.err and "DROVER_NATS_URL" in ended.err


async def test_a_misspelt_setting_stops_the_command(drover, nats):
    ended = await drover("status", **settings(nats, DROVER_HTPP_PORT="1"))
    assert ended.code == 6
    assert "DROVER_HTTP_PORT" in ended.err
