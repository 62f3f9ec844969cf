"""Streams of a real log: restarts, slow readers, a server that goes away. Nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import aiohttp
import pytest

from drover.api.live.window import Window
from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.streams import ensure_stream
from drover.testing.waiting import eventually
from drover.web.sse import HEARTBEAT_S
from tests.integration.api.conftest import Writer
from tests.integration.api.office import office_on

NARROW = partial(Window, events_max=50)
OVERFLOWS = "drover_api_stream_overflows_total"
MORE_THAN_A_LINE_HOLDS_BYTES = 8 * 1024 * 1024
"""A server's end of a connection takes up to 4 MiB."""
PADDING = "x" * 10_000


def ids(heard):
    return [event.id for event in heard]


@pytest.mark.req("DF-23")
async def test_what_is_committed_is_told_at_once_and_as_it_stands_in_the_log(writer):
    await writer.write()
    async with office_on([writer.log]) as office, office.listening() as one, office.listening() as other:
        assert one.hello.id == writer.ids[0]
        for _ in range(3):
            await writer.write(2)
            heard = [ids(await listener.next(2, within_s=HEARTBEAT_S)) for listener in (one, other)]
            assert heard == [writer.ids[-2:]] * 2


@pytest.mark.req("DF-23")
@pytest.mark.parametrize("missed", [3, 700], ids=["a few", "more than a window"])
async def test_a_client_goes_on_where_it_was_after_the_api_was_started_anew(client, writer, missed):
    async with office_on([writer.log], window=NARROW) as office, office.listening() as listener:
        await writer.write(3)
        heard = await listener.next(2)
    for _ in range(missed):
        await writer.write(3)
    async with (
        office_on([JetStreamLog(client, writer.partition)], window=NARROW) as office,
        office.listening(last_id=heard[-1].id) as listener,
    ):
        heard += await listener.next(writer.events - 2)
        await writer.write(2)
        heard += await listener.next(2)
    assert ids(heard) == writer.ids
    assert [event.data["n"] for event in heard] == [*range(writer.events)]


@pytest.mark.req("DF-23")
async def test_a_stream_that_catches_up_while_the_log_grows_joins_without_gap_or_repeat(writer):
    async def write_on():
        while not enough.is_set():
            await writer.write(3)

    enough = asyncio.Event()
    for _ in range(300):
        await writer.write(2)
    async with office_on([writer.log], window=NARROW) as office:
        writing = asyncio.create_task(write_on())
        begins = [0, 1, 250, 599]
        async with asyncio.TaskGroup() as group:

            async def listen(begin):
                async with office.listening(last_id=writer.ids[begin]) as listener:
                    return await listener.next(2000)

            listening = [group.create_task(listen(begin)) for begin in begins]
        enough.set()
        await writing
    for begin, task in zip(begins, listening, strict=True):
        assert ids(task.result()) == writer.ids[begin + 1 : begin + 2001]


@pytest.mark.req("DF-23")
async def test_a_slow_reader_holds_up_nobody_and_misses_nothing(writer):
    async with (
        office_on([writer.log], window=NARROW) as office,
        office.listening(takes_little=True) as slow,
        office.listening() as quick,
    ):
        before = await office.metric(OVERFLOWS)
        while writer.events * len(PADDING) < MORE_THAN_A_LINE_HOLDS_BYTES:
            await writer.write(20, PADDING)
            await writer.write(20, PADDING)
            assert ids(await quick.next(40)) == writer.ids[-40:], "the other one is up to date all the time"
        assert len(office.live._tails[writer.context].window) <= 2, "nothing is kept for the slow one"
        assert ids(await slow.next(writer.events)) == writer.ids
        assert await office.metric(OVERFLOWS) > before, "it was slow indeed"
        await writer.write()
        assert ids(await slow.next()) == writer.ids[-1:], "it has caught up and is live again"


async def test_a_client_that_does_not_read_at_all_is_cut_off_and_can_come_back(writer):
    async with office_on([writer.log], window=NARROW, send_s=0.5) as office:
        async with office.listening(takes_little=True) as listener:
            while office.streams:
                await writer.write(20, PADDING)
            heard = []
            with suppress(aiohttp.ClientPayloadError):  # cut in the middle of something
                while True:
                    heard += await listener.next()
        async with office.listening(last_id=listener.ear.last_id) as listener:
            heard += await listener.next(writer.events - len(heard))
    assert ids(heard) == writer.ids


async def test_streams_outlive_a_restart_of_the_log_server(own_nats):
    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "restarts")
        writer = Writer(client, "restarts")
        await writer.write()
        async with office_on([writer.log]) as office, office.listening() as listener:
            await writer.write(2)
            heard = await listener.next(2)
            await own_nats.restart()
            await writer.write(2)
            heard += await listener.next(2)
            assert ids(heard) == writer.ids[1:]


async def test_two_hundred_streams_are_told_by_one_reader(client, writer):
    async with office_on([writer.log]) as office:
        async with asyncio.TaskGroup() as group:
            ready = asyncio.Barrier(201)

            async def listen():
                async with office.listening() as listener:
                    await ready.wait()
                    return await listener.next(30)

            listening = [group.create_task(listen()) for _ in range(200)]
            await ready.wait()
            info = await client.jsm().stream_info(writer.context.upper())
            assert info.state.consumer_count == 1
            for _ in range(10):
                await writer.write(3)
        assert all(ids(task.result()) == writer.ids for task in listening)
        await eventually(lambda: office.streams == 0)
