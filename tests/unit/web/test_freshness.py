"""Read your writes: who waits for what."""

from __future__ import annotations

import pytest

from drover.web import freshness
from drover.web.freshness import SOFT_WAIT_S, Freshness


class Positions:
    def __init__(self) -> None:
        self.waits: list[tuple[str, int, float]] = []

    async def wait(self, context: str, seq: int, timeout_s: float) -> bool:
        self.waits.append((context, seq, timeout_s))
        return True


@pytest.fixture
def positions() -> Positions:
    return Positions()


async def test_a_caller_waits_for_its_own_last_write(positions):
    memory = Freshness(positions)
    memory.wrote("service_role", "fleet", 7)
    memory.wrote("service_role", "fleet", 5)
    for principal, context in (("anon", "fleet"), ("service_role", "render"), ("service_role", "fleet")):
        await memory.wait({}, principal, context)
    assert positions.waits == [("fleet", 7, SOFT_WAIT_S)]


async def test_phones_that_share_a_key_do_not_wait_for_each_other(positions):
    memory = Freshness(positions)
    memory.wrote("anon", "fleet", 7, device="A")
    await memory.wait({}, "anon", "fleet", device="B")
    assert positions.waits == []
    await memory.wait({}, "anon", "fleet", device="A")
    assert positions.waits == [("fleet", 7, SOFT_WAIT_S)]


async def test_a_read_that_does_not_say_for_which_phone_waits_for_the_last_of_them(positions):
    memory = Freshness(positions)
    memory.wrote("anon", "fleet", 7, device="A")
    memory.wrote("anon", "fleet", 9, device="B")
    await memory.wait({}, "anon", "fleet")
    assert positions.waits == [("fleet", 9, SOFT_WAIT_S)]


async def test_in_a_divided_context_a_caller_waits_for_the_partitions_that_it_wrote_to(positions):
    memory = Freshness(positions)
    memory.wrote("service_role", "reminder.p1", 7)
    memory.wrote("service_role", "reminder.p3", 5)
    memory.wrote("service_role", "fleet", 9)
    await memory.wait({}, "service_role", "reminder")
    assert positions.waits == [("reminder.p1", 7, SOFT_WAIT_S), ("reminder.p3", 5, SOFT_WAIT_S)]


async def test_a_named_position_is_waited_for_in_its_partition_and_in_its_context_only(positions):
    memory = Freshness(positions)
    header = {"Drover-Min-Position": "reminder.p2=4,fleet=8"}
    await memory.wait(header, "anybody", "reminder")
    assert [(place, seq) for place, seq, _ in positions.waits] == [("reminder.p2", 4)]
    await memory.wait(header, "anybody", "render")
    assert len(positions.waits) == 1


async def test_the_memory_of_writers_has_a_bound(positions, monkeypatch):
    monkeypatch.setattr(freshness, "WRITERS_REMEMBERED_MAX", 3)  # one of them is for reads that name no device
    memory = Freshness(positions)
    for number in range(10):
        memory.wrote("anon", "fleet", number + 1, device=str(number))
    for number in range(10):
        await memory.wait({}, "anon", "fleet", device=str(number))
    assert [seq for _, seq, _ in positions.waits] == [9, 10]
