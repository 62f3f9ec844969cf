"""The guard of the disk of the embedded NATS: when the logs stop growing, and when the server is restarted."""

from itertools import pairwise

import pytest

from drover.eventlog.quotas import QuotaRefused
from drover.platform.disk_guard import EMPTY_BYTES, NO_SPACE, RESTART, DiskGuard, Room

pytestmark = pytest.mark.req("YR-12")

TOTAL = 100 * 1024**3
AMPLE, SHORT, EMPTY = 50 * 1024**3, 1024**3, EMPTY_BYTES - 1


class Bench:
    """A server and a disk of which the test says how much is free."""

    def __init__(self):
        self.free = AMPLE
        self.pid = 1
        self.kills = 0
        self.now_s = 0.0
        self.output = ""
        self.limits = []
        self.trouble = None
        self.guard = DiskGuard(self, self.limit, lambda: Room(self.free, TOTAL), lambda: self.now_s)

    async def kill(self):
        self.kills += 1
        self.pid += 1

    def said(self, text):
        return text in self.output

    async def limit(self, stopped):
        if self.trouble is not None:
            raise self.trouble
        self.limits.append(stopped)

    async def look(self, free, *, after_s=1.0):
        self.free = free
        self.now_s += after_s
        await self.guard.look()
        return self.kills


@pytest.fixture
def bench():
    return Bench()


@pytest.mark.parametrize(
    ("total", "reserve"), [(220 * 1024**2, 32 * 1024**2), (20 * 1024**3, 1024**3), (10 * 1024**4, 2 * 1024**3)]
)
def test_a_twentieth_of_the_disk_is_kept_free_within_bounds(total, reserve):
    assert Room(0, total).reserve == reserve


async def test_the_logs_stop_growing_before_the_disk_is_full_and_go_on_when_there_is_room(bench):
    for free in (AMPLE, AMPLE, SHORT, SHORT, AMPLE):
        await bench.look(free)
    assert bench.limits == [False, True, False], "at its start it applies the limit of the settings"
    assert bench.kills == 0, "the disk was never full"


async def test_the_logs_are_not_stopped_and_released_in_turns(bench):
    reserve = Room(0, TOTAL).reserve
    for free in (AMPLE, reserve - 1, reserve, reserve - 1, reserve + 1):
        await bench.look(free)
    assert bench.limits == [False, True]


async def test_limits_that_nats_did_not_take_are_tried_again(bench):
    await bench.look(AMPLE)
    bench.trouble = QuotaRefused("no")
    await bench.look(SHORT)
    bench.trouble = None
    await bench.look(SHORT)
    assert bench.limits == [False, True]


async def test_limits_are_not_touched_while_the_disk_is_full(bench):
    await bench.look(EMPTY)
    assert bench.limits == []


async def test_a_server_whose_disk_was_full_is_restarted_when_there_is_room_and_not_before(bench):
    assert await bench.look(EMPTY) == 0
    assert await bench.look(SHORT) == 0, "it would be full again at once"
    assert await bench.look(AMPLE) == 1
    assert await bench.look(AMPLE) == 1, "once is enough"


async def test_a_disk_that_was_full_for_a_moment_is_noticed_by_what_the_server_says(bench):
    bench.output = f"[ERR] write: {NO_SPACE}"
    assert await bench.look(AMPLE) == 1


async def test_a_disk_that_fills_again_and_again_does_not_make_a_loop_of_restarts(bench):
    restarted_at = []
    for _ in range(200):
        await bench.look(EMPTY)
        before = bench.kills
        if await bench.look(AMPLE) > before:
            restarted_at.append(bench.now_s)
    pauses = [later - sooner for sooner, later in pairwise(restarted_at)]
    assert len(pauses) == 4
    assert all(pause >= RESTART.pause_s(number + 1) for number, pause in enumerate(pauses)), pauses


async def test_a_server_that_is_being_started_is_left_alone(bench):
    await bench.look(EMPTY)
    bench.pid = 0
    assert await bench.look(AMPLE) == 0
    bench.pid = 2
    assert await bench.look(AMPLE) == 1
