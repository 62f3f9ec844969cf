"""Server-sent events: their bytes, and how a stream begins, goes on and ends."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from drover.service.tasks import end
from drover.testing.waiting import eventually
from drover.web import sse
from drover.web.errors import ApiError
from drover.web.sockets import Sockets
from drover.web.sse import HEARTBEAT_S, Chunk, Streams, StreamSession, bye, event, heartbeat


def test_an_event_is_its_id_its_name_and_one_line_of_data():
    assert event("JobCreated", b'{"a":1}', id="fleet=12.3") == b'id: fleet=12.3\nevent: JobCreated\ndata: {"a":1}\n\n'
    assert event("hello", b"{}", id="x", retry_ms=2000) == b"retry: 2000\nid: x\nevent: hello\ndata: {}\n\n"
    assert event("plain", b"{}") == b"event: plain\ndata: {}\n\n"


def test_what_would_break_the_form_is_not_let_through():
    with pytest.raises(AssertionError):
        event("JobCreated", b"{}\nevent: Forged")


def test_a_heartbeat_is_a_comment_and_notes_how_far_the_stream_is():
    assert heartbeat("fleet=12.3") == b": heartbeat\nid: fleet=12.3\n\n"
    assert heartbeat(None) == b": heartbeat\n\n"


def test_a_goodbye_says_why_and_from_where_to_go_on():
    assert bye("Enough", "fleet=1.0") == b'id: fleet=1.0\nevent: bye\ndata: {"reason":"Enough"}\n\n'


class Line:
    """A connection that takes what is written, or does not."""

    def __init__(self) -> None:
        self.written = b""
        self.flows = asyncio.Event()
        self.flows.set()
        self.is_lost = False
        self.aborted = False

    async def write(self, data: bytes) -> None:
        await self.flows.wait()
        if self.is_lost:
            raise ConnectionResetError
        self.written += data

    def is_closing(self) -> bool:
        return self.is_lost

    def abort(self) -> None:
        self.aborted = self.is_lost = True


class Source:
    """Tells what a test puts in."""

    def __init__(self) -> None:
        self.put: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
        self.closed = False

    async def chunks(self):
        try:
            while (item := await self.put.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed = True

    def tell(self, *texts: str) -> None:
        for text in texts:
            self.put.put_nowait(Chunk(text.encode(), f"id-{text}"))


@asynccontextmanager
async def running(session: StreamSession, line: Line):
    task = asyncio.create_task(session.run(line))
    try:
        yield task
    finally:
        await end(task)


async def test_chunks_are_sent_in_order_and_a_stop_says_goodbye_with_the_last_id():
    line, source = Line(), Source()
    session = StreamSession(source.chunks(), line)
    async with running(session, line) as task:
        source.tell("a", "b")
        await eventually(lambda: line.written == b"ab")
        await session.leave()
        await task
    assert line.written == b"ab" + bye("The server restarts", "id-b")
    assert source.closed
    assert not line.aborted


async def test_what_was_not_sent_when_the_server_stops_is_not_counted_as_told():
    line, source = Line(), Source()
    session = StreamSession(source.chunks(), line)
    async with running(session, line) as task:
        source.tell("a")
        await eventually(lambda: line.written == b"a")
        await session.leave()
        source.tell("b")
        await task
    assert line.written == b"a" + bye("The server restarts", "id-a")


async def test_a_quiet_stream_gives_signs_of_life_with_how_far_it_has_looked():
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line, heartbeat_s=0.01), line):
        source.put.put_nowait(Chunk(b"", "far-away"))  # nothing of interest up to there
        await eventually(lambda: line.written.count(heartbeat("far-away")) >= 2)


async def test_a_client_that_does_not_read_is_cut_off():
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line, send_s=0.01), line) as task:
        line.flows.clear()
        source.tell("a")
        await task
    assert line.aborted
    assert source.closed


async def test_the_next_chunk_is_asked_for_only_when_there_is_room():
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line), line):
        line.flows.clear()
        source.tell("a", "b", "c")
        await eventually(lambda: source.put.qsize() == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert source.put.qsize() == 2
        line.flows.set()
        await eventually(lambda: line.written == b"abc")


async def test_a_client_that_left_is_noticed_while_nothing_happens(monkeypatch):
    monkeypatch.setattr(sse, "LOOK_S", 0.01)
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line), line) as task:
        source.tell("a")
        await eventually(lambda: line.written == b"a")
        line.is_lost = True
        await asyncio.wait_for(task, HEARTBEAT_S / 3)
    assert source.closed


async def test_a_stream_lasts_no_longer_than_its_key():
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line, lasts_s=0.05), line) as task:
        source.tell("a")
        await task
    assert line.written == b"a" + bye("The key has expired", "id-a")


@pytest.mark.req("SY-13")
async def test_a_stream_ends_with_the_session_of_who_listens(monkeypatch):
    monkeypatch.setattr(sse, "LOOK_S", 0.01)
    line, source, ended = Line(), Source(), set()
    session = StreamSession(source.chunks(), line, holds=lambda: "theirs" not in ended)
    async with running(session, line) as task:
        source.tell("a")
        await eventually(lambda: line.written == b"a")
        ended.add("theirs")
        await asyncio.wait_for(task, HEARTBEAT_S / 3)
    assert line.written == b"a" + bye("The key has expired", "id-a")


async def test_a_source_that_fails_or_ends_ends_the_stream_with_a_word():
    for last, reason in (
        (ConnectionResetError("secret"), "The stream failed"),
        (None, "There is nothing more to tell"),
    ):
        line, source = Line(), Source()
        with capture_logs() as logged:
            async with running(StreamSession(source.chunks(), line), line) as task:
                source.tell("a")
                source.put.put_nowait(last)
                await task
        assert line.written == b"a" + bye(reason, "id-a")
        assert [entry["event"] for entry in logged] == (["stream_failed"] if last else [])


async def test_a_stream_that_is_cut_short_leaves_no_connection_behind():
    line, source = Line(), Source()
    async with running(StreamSession(source.chunks(), line), line) as task:
        line.flows.clear()
        source.tell("a")
        await eventually(lambda: source.put.empty())
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert line.aborted
    assert source.closed


async def test_the_number_of_streams_has_a_bound_and_they_leave_with_the_sockets():
    sockets = Sockets()
    streams = Streams(sockets, "/test", streams_max=1)
    line, source = Line(), Source()
    session = StreamSession(source.chunks(), line)
    streams.check_room()

    async def run() -> None:
        with streams.opened(session):
            await session.run(line)

    task = asyncio.create_task(run())
    await eventually(lambda: len(streams) == 1)
    with pytest.raises(ApiError) as caught:
        streams.check_room()
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "2")
    await sockets.close_all()
    assert task.done()
    assert b"event: bye" in line.written
    assert len(streams) == 0
    with pytest.raises(ApiError):  # there is room, but the server is about to stop
        streams.check_room()


@pytest.mark.req("SE-01")
async def test_a_stream_ends_when_the_process_cannot_check_keys_any_more():
    line, source, known = Line(), Source(), [True]
    session = StreamSession(source.chunks(), line, knows=lambda: known[0], heartbeat_s=0.01)
    async with running(session, line) as task:
        source.tell("a")
        await eventually(lambda: b"a" in line.written)
        known[0] = False
        await task
    assert line.written.endswith(bye(sse.CUT_OFF, "id-a"))
