"""Accesses on their way to the audit: each is recorded by one process, or its sender is told that it is not."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from drover.bus.audit import SUBJECT, Access, NatsRecorder, NotRecorded, recording
from drover.bus.connection import connected
from drover.domain.errors import Code
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("SE-11")


def access(number: int = 1) -> Access:
    return Access(id=f"id-{number}", by="user:kim", kind="film", what=f"/films/{number}", address="203.0.113.9")


class Office:
    """Takes accesses, or gives the answers that a test wants."""

    def __init__(self, *answers: str | None) -> None:
        self.asked: list[Access] = []
        self.answers = list(answers)

    async def record(self, access: Access) -> str | None:
        self.asked.append(access)
        return self.answers.pop(0) if self.answers else None


@asynccontextmanager
async def two(server):
    async with connected(server.url, "sender") as sender, connected(server.url, "office") as office:
        yield NatsRecorder(sender), office


async def test_an_access_arrives_as_it_was_sent(server):
    async with two(server) as (recorder, client):
        office = Office()
        async with recording(client, office.record):
            await recorder.record(access())
        assert office.asked == [access()]


async def test_one_of_several_processes_records_it(server):
    async with two(server) as (recorder, client), connected(server.url, "another") as another:
        offices = Office(), Office()
        async with recording(client, offices[0].record), recording(another, offices[1].record):
            await asyncio.gather(*(recorder.record(access(number)) for number in range(20)))
        assert sorted(one.id for office in offices for one in office.asked) == sorted(f"id-{n}" for n in range(20))


async def test_if_nobody_answers_it_is_not_recorded(server):
    async with two(server) as (recorder, _):
        with pytest.raises(NotRecorded):
            await recorder.record(access(), within_s=0.3)


async def test_a_momentary_refusal_is_tried_again_with_the_same_id(server):
    async with two(server) as (recorder, client):
        office = Office(Code.UNAVAILABLE, Code.OVERLOADED, None)
        async with recording(client, office.record):
            await recorder.record(access())
        assert [one.id for one in office.asked] == ["id-1"] * 3


async def test_who_comes_late_still_records_it(server):
    async with two(server) as (recorder, client):
        office = Office()
        waiting = asyncio.ensure_future(recorder.record(access()))
        await asyncio.sleep(0)
        async with recording(client, office.record):
            await waiting
        assert len(office.asked) == 1


@pytest.mark.parametrize("code", [Code.LOG_FULL, Code.VALIDATION_ERROR])
async def test_a_definite_refusal_is_told_at_once(server, code):
    async with two(server) as (recorder, client):
        office = Office(code)
        async with recording(client, office.record):
            with pytest.raises(NotRecorded, match=code):
                await recorder.record(access())
        assert len(office.asked) == 1


async def test_what_cannot_be_read_or_fails_is_answered_too(server):
    async with two(server) as (recorder, client):

        async def fail(access: Access) -> str | None:
            raise RuntimeError("a fault")

        async with recording(client, fail):
            answer = await client.request(SUBJECT, b"{", timeout=5)
            assert Code.VALIDATION_ERROR.encode() in answer.data
            with pytest.raises(NotRecorded, match=Code.INTERNAL):
                await recorder.record(access(), within_s=3.0)


async def test_a_process_that_stops_answers_what_it_has_taken(server):
    async with two(server) as (recorder, client):
        gate, taken = asyncio.Event(), asyncio.Event()

        async def slow(access: Access) -> str | None:
            taken.set()
            await gate.wait()
            return None

        async def serve() -> None:
            async with recording(client, slow):
                await taken.wait()

        serving = asyncio.ensure_future(serve())
        await eventually(lambda: client._subs)
        waiting = asyncio.ensure_future(recorder.record(access()))
        await taken.wait()
        gate.set()
        await asyncio.gather(serving, waiting)
