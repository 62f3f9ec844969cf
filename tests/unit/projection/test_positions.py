"""Position headers, and waiting for a read model to come as far as a write."""

from __future__ import annotations

import asyncio

import pytest

from drover.eventlog.log import Partition
from drover.projection.errors import BadPosition
from drover.projection.positions import (
    Positions,
    asking,
    context_of,
    format_position,
    parse_position,
    place_of,
)

IN_TIME_S = 5.0
AT_ONCE_S = 0.001
FLEET = (Partition("fleet"),)
REMINDER = (Partition("reminder", "p0"), Partition("reminder", "p1"))


def test_a_position_reads_as_it_was_written() -> None:
    assert parse_position(format_position({"fleet": 123, "render": 45})) == {"fleet": 123, "render": 45}


def test_a_position_may_be_of_one_partition() -> None:
    place = place_of("reminder", "p2")
    assert parse_position(format_position({place: 7, place_of("fleet", "main"): 1})) == {"reminder.p2": 7, "fleet": 1}
    assert context_of(place) == "reminder"


def test_an_empty_header_asks_for_nothing() -> None:
    assert parse_position("  ") == {}


@pytest.mark.parametrize(
    "value",
    [
        "fleet",
        "fleet=",
        "fleet=-1",
        "fleet=１２",
        "Fleet=1",
        "fleet=1,",
        "fleet=1,fleet=2",
        "fleet=9223372036854775808",
        "fleet=99999999999999999999",
        "fleet=1;render=2",
        "reminder.=1",
        "reminder.p1.p2=1",
        ".p1=1",
        "x" * 1000,
        ",".join(f"c{i}=1" for i in range(17)),
    ],
)
def test_a_header_that_reads_otherwise_is_refused_with_its_name(value: str) -> None:
    with pytest.raises(BadPosition) as caught:
        parse_position(value)
    assert caught.value.field == "Drover-Min-Position"


async def test_what_is_already_there_is_not_waited_for() -> None:
    positions = Positions(FLEET)
    positions.observe("fleet", "main", 5)
    assert await positions.wait("fleet", 5, timeout_s=0)


async def test_a_read_waits_until_its_write_is_projected() -> None:
    positions = Positions(FLEET)
    read = asyncio.create_task(positions.wait("fleet", 7, IN_TIME_S))
    while not positions.waiting:
        await asyncio.sleep(0)
    positions.observe("fleet", "main", 6)
    await asyncio.sleep(0)
    assert not read.done()
    positions.observe("fleet", "main", 7)
    assert await read
    assert positions.waiting == 0


async def test_a_read_that_waits_too_long_is_told_and_forgotten() -> None:
    positions = Positions([*FLEET, Partition("render")])
    positions.observe("render", "main", 100)
    assert not await positions.wait("fleet", 1, AT_ONCE_S)
    assert positions.waiting == 0


async def test_a_context_is_as_far_as_the_last_of_its_partitions() -> None:
    positions = Positions(REMINDER)
    positions.observe("reminder", "p0", 10)
    positions.observe("reminder", "p1", 4)
    assert positions.position("reminder") == 4


async def test_a_partition_that_does_not_exist_is_not_heard() -> None:
    positions = Positions(REMINDER)
    for context, partition in (("reminder", "p2"), ("elsewhere", "main")):
        positions.observe(context, partition, 10)
    assert [positions.position(place) for place in ("reminder", "reminder.p2", "elsewhere")] == [0, 0, 0]


async def test_a_partition_that_was_not_heard_of_yet_holds_its_context_back() -> None:
    positions = Positions(REMINDER)
    positions.observe("reminder", "p0", 10)
    assert positions.position("reminder") == 0
    assert not await positions.wait("reminder", 5, AT_ONCE_S)
    positions.observe("reminder", "p1", 5)
    assert await positions.wait("reminder", 5, timeout_s=0)


async def test_who_waits_for_one_partition_does_not_wait_for_the_others() -> None:
    positions = Positions(REMINDER)
    read = asyncio.create_task(positions.wait("reminder.p1", 7, IN_TIME_S))
    while not positions.waiting:
        await asyncio.sleep(0)
    positions.observe("reminder", "p0", 100)
    await asyncio.sleep(0)
    assert not read.done()
    positions.observe("reminder", "p1", 7)
    assert await read
    assert positions.position("reminder.p1") == 7
    assert positions.waiting == 0


async def test_a_read_model_that_is_folded_anew_is_behind_again() -> None:
    positions = Positions(FLEET)
    positions.observe("fleet", "main", 10)
    positions.observe("fleet", "main", 2)
    assert not await positions.wait("fleet", 10, AT_ONCE_S)


async def test_only_so_many_reads_wait_at_once() -> None:
    positions = Positions(FLEET, waiters_max=1)
    first = asyncio.create_task(positions.wait("fleet", 1, IN_TIME_S))
    while not positions.waiting:
        await asyncio.sleep(0)
    assert not await positions.wait("fleet", 1, IN_TIME_S)
    positions.observe("fleet", "main", 1)
    assert await first


@pytest.mark.req("DI-07")
async def test_the_projector_is_asked_once_for_a_position_that_reads_wait_for():
    asked = []
    positions = Positions([Partition("fleet")], ask=lambda place, seq: asked.append((place, seq)))
    positions.observe("fleet", "main", 5)
    assert await positions.wait("fleet", 5, 1.0)
    assert not await positions.wait("fleet", 6, 0.0)
    assert asked == [], "nobody waits"
    waits = [asyncio.create_task(positions.wait("fleet", seq, 60.0)) for seq in (7, 7, 6, 8)]
    await asyncio.sleep(0)
    assert asked == [("fleet", 7), ("fleet", 8)]
    positions.observe("fleet", "main", 8)
    assert await asyncio.gather(*waits) == [True] * 4


def test_a_request_goes_to_one_partition_or_to_all_of_a_context():
    sent = []
    ask = asking(lambda *what: sent.append(what))
    ask("fleet", 7)
    ask("reminder.p2", 8)
    assert sent == [("fleet", "*", 7), ("reminder", "p2", 8)]
