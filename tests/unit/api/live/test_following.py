"""Every event after a place once and in order: from the window, from the log, and from one to the other."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, aclosing
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.api.live import follower as following
from drover.api.live.follower import Follower
from drover.api.live.metrics import OVERFLOWS
from drover.api.live.place import START, Place, format_id, parse_id
from drover.api.live.selection import Selection
from drover.api.live.stream import chunks
from drover.api.live.tail import Bell, Tail
from drover.api.live.window import Window
from drover.service.tasks import end
from drover.testing.waiting import eventually
from tests.integration.api.listening import Ear
from tests.unit.api.live.writing import WrittenLog

NARROW = partial(Window, events_max=6)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(following, "LOG_PAUSE_S", 0)


def follower_at(tail: Tail, log: WrittenLog, place: Place) -> Follower:
    lines = sum(known.seq == place.seq for known in log.places) if place != START else 1
    return Follower(tail, place, lines, asyncio.Semaphore(1))


def places_of(told) -> list[Place]:
    return [Place(commit.seq, record.line) for commit in told for record in commit.records]


class Interleaved(WrittenLog):
    """A log in which something may happen whenever somebody who reads it waits."""

    def __init__(self, meanwhile, batch_max: int) -> None:
        super().__init__(batch_max=batch_max)
        self._meanwhile = meanwhile

    async def wait_beyond(self, seq):
        await self._meanwhile()
        batch = await super().wait_beyond(seq)
        await self._meanwhile()
        return batch


STEP = st.sampled_from(["write", "write", "read", "read", "take", "take", "take"])


@pytest.mark.req("DF-23")
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_whatever_happens_in_whichever_order_nothing_is_lost_or_repeated(data):
    """The log grows, the shared tail gets on or lags, the window is too small, the stream begins anywhere."""
    asyncio.run(_any_order(data))


async def _any_order(data):
    async def write():
        await log.write(data.draw(st.integers(1, 4)))

    async def read():
        """The tail gets on by one commit."""
        if tail.window.seq < len(log._commits):
            tail._add(log.commit(tail.window.seq + 1))

    async def meanwhile():
        for act in data.draw(st.lists(st.sampled_from([write, read]), max_size=3)):
            await act()

    log = Interleaved(meanwhile, batch_max=data.draw(st.integers(1, 4)))
    tail = Tail(log, Bell(), partial(Window, events_max=data.draw(st.integers(1, 8))))
    for _ in range(data.draw(st.integers(0, 6))):
        await write()
    for _ in range(data.draw(st.integers(0, 6))):
        await read()

    begin = data.draw(st.sampled_from([START, *log.places]))
    follower = follower_at(tail, log, begin)
    told: list[Place] = []

    async def take():
        told.extend(places_of(await follower.take()))
        assert told == log.after(begin)[: len(told)]
        assert follower.place == (told[-1] if told else begin)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "LOG_PAUSE_S", 0)
        patch.setattr(following, "CHUNK_BYTES", data.draw(st.sampled_from([1, 100, 10_000])))
        patch.setattr(following, "LOG_BYTES", data.draw(st.sampled_from([1, 100, 10_000])))
        for step in data.draw(st.lists(STEP, max_size=30)):
            await {"write": write, "read": read, "take": take}[step]()
        log._meanwhile = _nothing
        while tail.window.seq < len(log._commits):
            await read()
        while len(told) < len(log.after(begin)):
            before = len(told)
            await take()
            assert len(told) > before, "there is more, and it was not told"
    assert told == log.after(begin)
    assert await follower.take() == []
    assert not follower.is_behind


async def _nothing():
    pass


@pytest.mark.req("DF-23")
@pytest.mark.parametrize("seed", range(8))
async def test_many_streams_of_all_speeds_each_hear_everything_once(seed):
    """A running tail, a writer that does not wait for anybody, and clients that come, dawdle, leave and come back."""
    dice = random.Random(seed)
    log, bell = WrittenLog(batch_max=3), Bell()
    tail = Tail(log, bell, NARROW)
    readers = asyncio.Semaphore(2)

    async def dawdle(most: int):
        for _ in range(dice.randrange(most)):
            await asyncio.sleep(0)

    async def write():
        for _ in range(150):
            await log.write(dice.randint(1, 4))
            await dawdle(6)
        await log.write(type_="Last")

    async def listen(slowness: int) -> tuple[Place, list[Place]]:
        await dawdle(200)
        begin = place = dice.choice([tail.end, START, *log.places])
        heard: list[Place] = []
        while True:
            lines = sum(known.seq == place.seq for known in log.places) if place != START else 1
            ear, source = Ear(), chunks([Follower(tail, place, lines, readers)], Selection(), bell, pause_s=0)
            async with aclosing(source):
                for _ in range(dice.randint(2, 40)):
                    chunk = await anext(source)
                    events = ear.hear(chunk.data)
                    heard += [parse_id(event.id)["fleet"] for event in events if event.type != "hello"]
                    assert ear.last_id == chunk.id
                    if any(event.type == "Last" for event in events):
                        return begin, heard
                    place = parse_id(chunk.id)["fleet"]
                    await dawdle(slowness)

    async with tail.running(), asyncio.timeout(20):
        await eventually(lambda: tail.end is not None)
        writing = asyncio.create_task(write())
        for begin, heard in await asyncio.gather(*(listen(dice.choice([1, 5, 60])) for _ in range(12))):
            assert heard == log.after(begin)
        await writing
    assert len(tail.window) <= 6, "the window kept its bound"


async def test_who_keeps_up_never_reads_the_log_itself():
    log, bell = WrittenLog(), Bell()
    tail = Tail(log, bell)
    async with tail.running():
        await eventually(lambda: tail.end is not None)
        streams = [follower_at(tail, log, tail.end) for _ in range(50)]
        for _ in range(5):
            seq = await log.write(3)
            await eventually(lambda seq=seq: tail.window.seq == seq)
            for stream in streams:
                assert places_of(await stream.take()) == [Place(seq, line) for line in range(3)]
    assert log.opened == 1, "one shared tail"


async def test_who_falls_out_of_the_window_goes_back_to_the_log_and_is_counted():
    log = WrittenLog()
    tail = Tail(log, Bell(), NARROW)
    await log.write()
    tail._add(log.commit(1))
    stream = follower_at(tail, log, Place(1, 0))
    assert await stream.take() == []
    for _ in range(10):
        tail._add(log.commit(await log.write()))
    before = OVERFLOWS._value.get()
    assert places_of(await stream.take()) == log.after(Place(1, 0))
    assert (log.opened, OVERFLOWS._value.get()) == (1, before + 1)
    tail._add(log.commit(await log.write()))
    assert places_of(await stream.take()) == [Place(12, 0)]
    assert (log.opened, OVERFLOWS._value.get()) == (1, before + 1), "it has joined again"


async def test_what_one_look_into_the_log_gave_is_told_before_the_next_look():
    log = WrittenLog()
    tail = Tail(log, Bell(), NARROW)
    for _ in range(20):
        tail._add(log.commit(await log.write()))
    stream = follower_at(tail, log, START)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "CHUNK_BYTES", 1)
        for place in log.places:
            assert places_of(await stream.take()) == [place]
    assert log.opened == 1


async def test_a_stream_that_comes_back_soon_is_served_from_memory_also_after_a_restart():
    log = WrittenLog()
    for _ in range(40):
        await log.write(2)
    tail = Tail(log, Bell())
    async with tail.running():
        await eventually(lambda: tail.window.seq == 40)
        assert places_of(await follower_at(tail, log, Place(31, 0)).take()) == log.after(Place(31, 0))
        assert log.opened == 1


async def test_who_reads_the_log_waits_for_a_turn_and_keeps_little_of_it():
    log = WrittenLog()
    tail = Tail(log, Bell(), NARROW)
    for _ in range(20):
        tail._add(log.commit(await log.write()))
    readers = asyncio.Semaphore(1)
    await readers.acquire()
    stream = Follower(tail, START, 1, readers)
    turn = asyncio.create_task(stream.take())
    for _ in range(20):
        await asyncio.sleep(0)
    assert log.opened == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "LOG_BYTES", 100)
        readers.release()
        assert 1 <= len(places_of(await turn)) < 5
    await end(turn)
    assert not readers.locked(), "a turn is over when the log has been read, not when all has been sent"


async def test_a_window_has_a_bound_by_events_and_by_bytes_and_keeps_the_last_commit():
    log = WrittenLog()
    for window in (Window(0, events_max=5), Window(0, bytes_max=150)):
        for _ in range(20):
            await log.write()
        tail = Tail(log, Bell())
        async with tail.running():
            await eventually(lambda tail=tail: tail.window.seq == len(log._commits))
            for commit in tail.window.after(0, 10**9):
                window.add(commit)
        assert 1 <= len(window) <= 5
        assert window.seq == len(log._commits)
        assert [found.seq for found in window.after(window.floor, 10**9)] == [*range(window.floor + 1, window.seq + 1)]
        assert not window.covers(window.floor - 1)
    window = Window(0, events_max=1)
    window.add(tail.window.get(1))
    assert len(window) == 1


@pytest.mark.req("DF-23")
async def test_one_stream_of_two_contexts_goes_on_in_both_by_one_id():
    bell, logs = Bell(), {name: WrittenLog(name) for name in ("fleet", "render")}
    tails = {name: Tail(log, bell) for name, log in logs.items()}
    async with AsyncExitStack() as stack:
        for tail in tails.values():
            await stack.enter_async_context(tail.running())
        await eventually(lambda: all(tail.end is not None for tail in tails.values()))

        def stream(places):
            followers = [follower_at(tails[name], logs[name], place) for name, place in places.items()]
            return chunks(followers, Selection(), bell, pause_s=0)

        ear, ids = Ear(), []
        begin = {"fleet": START, "render": START}
        async with aclosing(stream(begin)) as source:
            ear.hear((await anext(source)).data)
            for name, events in (("fleet", 2), ("render", 1), ("fleet", 1)):
                await logs[name].write(events)
                ids += [heard.id for heard in ear.hear((await anext(source)).data)]
        assert ids == [
            "fleet=1.0,render=0.0",
            "fleet=1.1,render=0.0",
            "fleet=1.1,render=1.0",
            "fleet=2.0,render=1.0",
        ]
        async with aclosing(stream(parse_id(ids[1]))) as source:
            await anext(source)
            again = Ear()
            heard = again.hear((await anext(source)).data) + again.hear((await anext(source)).data)
            assert sorted((event.id for event in heard), key=len) == ["fleet=2.0,render=0.0", "fleet=2.0,render=1.0"]
            assert again.last_id == format_id({"fleet": Place(2, 0), "render": Place(1, 0)})


async def test_what_is_filtered_out_still_moves_the_id():
    log, bell = WrittenLog(), Bell()
    tail = Tail(log, bell)
    async with tail.running():
        await eventually(lambda: tail.end is not None)
        async with aclosing(chunks([follower_at(tail, log, START)], Selection(["Nope"]), bell, pause_s=0)) as source:
            await anext(source)
            await log.write(3)
            assert await anext(source) == (b"", "fleet=1.2")
