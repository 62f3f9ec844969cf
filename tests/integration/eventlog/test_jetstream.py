"""What only a real server can show: durability, foreign streams, ambiguous appends, restarts."""

import asyncio
import time
from contextlib import AsyncExitStack

import nats.js.api as api
import pytest
from uuid_utils import uuid4

from drover.bus.connection import NatsUnreachable, connected
from drover.embedded.nats import nats_server
from drover.eventlog.durability import DurabilityUnknown, UnsyncedServer, refuse_unsynced
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import AppendConflict, Commit, Partition
from drover.eventlog.streams import StreamMisconfigured, ensure_stream
from drover.service.reasons import NO_ANSWER
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually


def commit(payload=b"{}\n"):
    return Commit(str(uuid4()), 1, payload)


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as connection:
        yield connection


@pytest.fixture
async def partition(client):
    partition = Partition(f"t{uuid4().hex[:12]}")
    await ensure_stream(client, partition.context)
    return partition


async def test_a_server_that_syncs_every_write_is_accepted(nats):
    async with connected(nats.system_url, "test") as system:
        assert await refuse_unsynced(system)


async def test_a_server_that_does_not_sync_is_refused_with_a_word_on_what_to_do(tmp_path):
    async with nats_server(tmp_path, sync_always=False) as server, connected(server.system_url, "test") as system:
        with pytest.raises(UnsyncedServer, match="sync_interval: always"):
            await refuse_unsynced(system)


async def test_a_user_who_cannot_see_the_setting_does_not_pass_for_a_good_answer(client):
    with pytest.raises(DurabilityUnknown, match="DROVER_NATS_SYSTEM_URL"):
        await refuse_unsynced(client)


async def test_a_stream_that_would_drop_events_is_refused(client):
    context = f"t{uuid4().hex[:12]}"
    await client.jetstream().add_stream(
        api.StreamConfig(name=context.upper(), subjects=[f"evt.{context}.*"], max_msgs=10)
    )
    with pytest.raises(StreamMisconfigured) as caught:
        await ensure_stream(client, context)
    assert {"max_msgs", "discard", "deny_delete"} <= caught.value.wrong.keys()


async def test_partitions_of_one_stream_are_fenced_apart(client, partition):
    one, two = JetStreamLog(client, partition), JetStreamLog(client, Partition(partition.context, "other"))
    first = await one.append(commit(), 0)
    second = await two.append(commit(), 0)
    assert await one.append(commit(), first) > second
    async with two.read(0) as reader:
        assert [found.seq for found in await reader.next()] == [second]


async def test_no_server_is_said_plainly_and_without_the_password(closed_port):
    with pytest.raises(NatsUnreachable) as caught:
        async with connected(f"nats://drover:hush@127.0.0.1:{closed_port}", "test"):
            pass
    assert str(caught.value) == (
        f"NATS does not answer at 127.0.0.1:{closed_port} (Connection refused). "
        "Check that the server runs there, and the address in DROVER_NATS_URL."
    )


async def test_a_user_whom_the_server_does_not_know_is_said_to_be_refused(nats):
    host = nats.url.rpartition("@")[2]
    with pytest.raises(NatsUnreachable) as caught:
        async with connected(f"nats://drover:wrong@{host}", "test", setting="DROVER_NATS_SYSTEM_URL"):
            pass
    assert f"NATS at {host} refused the user" in str(caught.value)
    assert "user and password in DROVER_NATS_SYSTEM_URL" in str(caught.value)
    assert "wrong" not in str(caught.value)


async def test_a_reader_survives_a_restart_of_the_server(own_nats):
    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "restarts")
        log = JetStreamLog(client, Partition("restarts"))
        seq = await log.append(commit(b"1\n"), 0)
        async with log.read(0) as reader:
            assert [found.payload for found in await reader.next()] == [b"1\n"]
            await own_nats.restart()
            await log.append(commit(b"2\n"), seq)
            assert [found.payload for found in await reader.next()] == [b"2\n"]


@pytest.mark.parametrize("cut_at", ["request_lost", "request_torn", "reply_lost", "reply_torn"])
async def test_an_append_whose_line_is_cut_happens_once(nats, client, partition, cut_at):
    """The line is cut at a chosen point of the first append; the append heals and is in the log exactly once."""
    async with faulty_line("127.0.0.1", nats.port) as line:
        url = nats.url.replace(str(nats.port), str(line.port))
        async with connected(url, "cut") as through:
            log = JetStreamLog(through, partition, append_try_s=0.5)
            await log.last()  # so that the next exchange is the append
            armed = True

            def cut(data, passing):
                nonlocal armed
                if armed and (b"Drover-Commit" in data or b'"seq"' in data):
                    armed = False
                    return passing(data)
                return None

            def rule(data):
                return cut(data, lambda data: len(data) // 2 if cut_at.endswith("torn") else 0)

            if cut_at.startswith("request"):
                line.cut_to_server = rule
            else:
                line.cut_from_server = rule
            sent = commit(b'{"only":"once"}\n')
            seq = await log.append(sent, 0)
            assert line.cuts == 1
    direct = JetStreamLog(client, partition)
    assert (await direct.last()).seq == seq
    async with direct.read(0) as reader:
        assert [found.id for found in await reader.next()] == [sent.id]


async def test_a_commit_that_was_on_the_line_when_it_broke_is_read_again(nats, client, partition):
    """The server counts it as delivered, and goes on to send heartbeats as if nothing were missing."""
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(faulty_line("127.0.0.1", nats.port))
        url = nats.url.replace(str(nats.port), str(line.port))
        through = await stack.enter_async_context(connected(url, "cut"))
        log = JetStreamLog(client, partition)
        reader = await stack.enter_async_context(JetStreamLog(through, partition).read(0))
        seq = await log.append(commit(b"1\n"), 0)
        assert [found.payload for found in await reader.next()] == [b"1\n"]
        following = asyncio.create_task(reader.next())
        await asyncio.sleep(0)
        line.cut_from_server = lambda data: 0 if b"Drover-Commit" in data and not line.cuts else None
        await log.append(commit(b"2\n"), seq)
        assert [found.payload for found in await following] == [b"2\n"]
        assert line.cuts == 1


async def append_through_a_line_that_is_cut(nats, partition, append, cuts):
    """Appends one after the other, each with the line cut once, after a chosen number of bytes of its exchange."""
    seq = 0
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(faulty_line("127.0.0.1", nats.port))
        url = nats.url.replace(str(nats.port), str(line.port))
        through = await stack.enter_async_context(connected(url, "cut"))
        log = JetStreamLog(through, partition, append_try_s=0.2)
        for number, (direction, after_bytes) in enumerate(cuts):
            sent = commit(f'{{"number":{number}}}\n'.encode())
            passed, armed = 0, False

            def cut(data, after_bytes=after_bytes):
                nonlocal passed, armed
                armed = armed or b"Drover-Commit" in data or b'"seq":' in data
                if not armed or passed > after_bytes:
                    return None
                start, passed = passed, passed + len(data)
                return after_bytes - start if passed > after_bytes else None

            setattr(line, f"cut_{direction}_server", cut)
            seq = await append(log, sent, seq)
            line.cut_to_server = line.cut_from_server = None
        return line.cuts


ANY_POINT = [(direction, after) for direction in ("to", "from") for after in (0, 1, 7, 20, 45, 60, 90, 120, 170, 230)]


async def numbers(client, partition):
    log = JetStreamLog(client, partition)
    found, last = [], await log.last()
    async with log.read(0) as reader:
        while not found or found[-1].seq < last.seq:
            found += await reader.next()
    return [int(found.payload[10:-2]) for found in found]


async def test_a_line_cut_at_any_point_of_an_append_never_doubles_or_loses_it(nats, client, partition):
    cuts = await append_through_a_line_that_is_cut(nats, partition, JetStreamLog.append, ANY_POINT)
    assert cuts >= len(ANY_POINT) // 2  # short exchanges end before the later points
    assert await numbers(client, partition) == list(range(len(ANY_POINT)))


@pytest.mark.control
async def test_control_sending_again_without_the_fence_doubles(nats, client, partition):
    async def append_again_and_again(log, sent, expected):
        while not isinstance(seq := await log._publish(sent, {"Drover-Commit": sent.id}), int):
            await asyncio.sleep(0.05)
        return seq

    await append_through_a_line_that_is_cut(nats, partition, append_again_and_again, ANY_POINT)
    found = await numbers(client, partition)
    assert len(found) > len(set(found))


async def test_an_append_that_is_not_answered_says_since_when_and_why(nats, client, partition):
    async with faulty_line("127.0.0.1", nats.port) as line:
        url = nats.url.replace(str(nats.port), str(line.port))
        async with connected(url, "held") as through:
            log = JetStreamLog(through, partition, append_try_s=0.2)
            assert log.unsettled is None
            line.hold()
            began = time.monotonic()
            pending = asyncio.create_task(log.append(commit(), 0))
            await eventually(lambda: log.unsettled is not None and log.unsettled.last_result == NO_ANSWER)
            assert began <= log.unsettled.since_s <= time.monotonic()
            line.resume()
            await pending
            assert log.unsettled is None


async def test_an_ambiguous_append_that_another_writer_beat_is_a_conflict(nats, client, partition):
    async with faulty_line("127.0.0.1", nats.port) as line:
        url = nats.url.replace(str(nats.port), str(line.port))
        async with connected(url, "cut") as through:
            log = JetStreamLog(through, partition)
            await log.last()
            line.hold()
            pending = asyncio.create_task(log.append(commit(), 0))
            await asyncio.sleep(0)
            rival = commit()
            await JetStreamLog(client, partition).append(rival, 0)
            line.resume()
            with pytest.raises(AppendConflict):
                await pending
    assert (await JetStreamLog(client, partition).last()).id == rival.id
