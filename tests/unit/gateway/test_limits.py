"""Too many requests: polls and progress are throttled and then stopped; signs of life and final reports are not."""

from __future__ import annotations

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import ReportThrottled
from drover.gateway.limits import DeviceLimits
from drover.testing.waiting import eventually
from drover.web.errors import ApiError

SELDOM = {"DROVER_DEVICE_REQUESTS_PER_S": "0.001", "DROVER_DEVICE_REQUESTS_BURST": "2"}
"""So seldom that a slow machine does not earn another turn while the test runs."""
ONE_REQUEST = {"DROVER_REQUESTS_PER_S": "0.001", "DROVER_REQUESTS_BURST": "1"}
"""One for each device, and ten for all other callers with the anon key."""
UNKNOWN = "00000000-0000-4000-8000-0000000000{:02}"
DONE = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 156}


class Bus:
    def __init__(self) -> None:
        self.sent = []
        self.answer = Rejected(Code.UNAVAILABLE, "nobody answered")

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.sent.append((context, command, by))
        return self.answer


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(check, device_id: str) -> int | None:
    """Seconds to wait; None: it was let in."""
    try:
        check(device_id)
    except ApiError as error:
        return int(error.headers["Retry-After"])
    return None


@pytest.mark.req("DF-19")
async def test_three_refusals_in_a_row_stop_the_device_for_five_minutes_and_are_reported_once():
    bus, time = Bus(), Time()
    limits = DeviceLimits(bus, per_s=1, burst=2, clock=time)
    assert [refused(limits.check, "d1") for _ in range(7)] == [None, None, 1, 1, 300, 300, 300]
    assert refused(limits.check, "d2") is None, "the others are not its business"
    await eventually(lambda: bus.sent)
    assert bus.sent == [("fleet", ReportThrottled("d1"), "gateway")]
    time.now = 299.5
    assert refused(limits.check, "d1") == 1
    time.now = 300
    assert refused(limits.check, "d1") is None


@pytest.mark.req("DF-19")
async def test_heartbeats_and_final_reports_have_a_larger_bucket_of_their_own_and_are_never_stopped():
    bus, time = Bus(), Time()
    limits = DeviceLimits(bus, per_s=1, burst=2, clock=time)
    for _ in range(5):
        refused(limits.check, "d1")
    for check in (limits.check_heartbeat, limits.check_vital):
        time.now = 0.0
        assert [refused(check, "d1") for _ in range(8)] == [None] * 8, "not those of the other kind either"
        assert [refused(check, "d1") for _ in range(9)] == [1] * 9
        time.now = 0.25
        assert refused(check, "d1") is None
    assert len(bus.sent) <= 1


@pytest.mark.req("DF-19")
async def test_a_phone_that_was_stopped_can_still_begin_what_it_was_sent(world):
    device_id = await world.phone()
    world.job()
    (work,) = await (await world.poll(device_id)).json()
    answers = []
    while len(answers) < 200 and answers[-1:] != ["300"]:
        answers.append((await world.poll(device_id)).headers.get("Retry-After"))
    assert answers[-1] == "300"
    assert (await world.report(work["id"], {"status": "running", "run": 1})).status == 204


@pytest.mark.req("DF-11", "DF-19")
@pytest.mark.parametrize("world", [SELDOM], indirect=True)
async def test_one_phone_that_beats_too_often_does_not_silence_the_others_of_the_same_heartbeat(world):
    phones = [await world.phone(f"PHONE0000{number}") for number in range(3)]
    alone, together = f"id=eq.{phones[0]}", f"id=in.({','.join(phones)})"
    while (await world.client.patch(f"/rest/v1/devices?{alone}", json={}, headers=world.anon)).status == 204:
        pass
    world.telemetry.heard.clear()
    answer = await world.client.patch(f"/rest/v1/devices?{together}", json={}, headers=world.anon)
    assert answer.status == 429
    assert [heard[0] for heard in world.telemetry.heard] == phones


@pytest.mark.req("DF-19")
@pytest.mark.parametrize("world", [SELDOM], indirect=True)
async def test_reports_of_what_nobody_knows_have_a_limit_too(world):
    world.pool.rows = []
    answers = [(await world.report(f"00000000-0000-4000-8000-{n:012d}", DONE)).status for n in range(81)]
    assert answers == [404] * 40 + [429] * 41, "a burst of two, twenty times over"


@pytest.mark.req("DF-19")
async def test_a_device_that_polls_too_often_gets_429_and_the_dashboard_an_alert(world):
    device_id = await world.phone()
    world.job()
    assignment_id = world.running(device_id).assignment_id
    answers = []
    while len(answers) < 200 and answers[-1:] != ["300"]:
        answers.append((await world.poll(device_id)).headers.get("Retry-After"))
    assert answers[:20] == [None] * 20
    assert answers[-1] == "300"
    answer = await world.poll(device_id)
    assert (answer.status, (await answer.json())["code"]) == (429, "RATE_LIMITED")
    await eventually(lambda: f"rate_limited:{device_id}" in world.bus.fleet.state.alerts)
    assert len(world.telemetry.heard) == len(answers) + 1, "each of them was a sign of life"

    answer = await world.report(assignment_id, {"status": "running", "progress_pct": 50})
    assert answer.status == 429
    assert world.telemetry.work[-1][1].progress_pct == 50, "so that nobody takes it for stalled"
    beat = await world.client.patch(f"/rest/v1/devices?id=eq.{device_id}", json={}, headers=world.anon)
    assert beat.status == 204
    assert (await world.report(assignment_id, DONE)).status == 204


async def test_phones_that_nobody_knows_take_no_room(world):
    for _ in range(30):
        assert (await world.poll("00000000-0000-7000-8000-000000000000")).status == 200


@pytest.mark.req("SE-05")
@pytest.mark.parametrize("world", [ONE_REQUEST], indirect=True)
async def test_the_anon_key_is_counted_by_the_device_or_the_work_that_its_query_names(world):
    by_serial, by_id, by_work = [await world.phone(f"ABC1234{n}") for n in range(3)]
    world.job()
    world.pool.rows = []
    for query in (
        "devices?serial_number=eq.ABC12340",
        f"devices?select=id&id=eq.{by_id}",
        f"job_assignments?id=eq.{world.offered(by_work).assignment_id}",
    ):
        assert await statuses(world, [query] * 2) == [200, 429], query
    assert await statuses(world, [f"job_assignments?device_id=eq.{by_serial}&status=eq.failed"]) == [429], "the same"


@pytest.mark.req("SE-05")
@pytest.mark.parametrize("world", [ONE_REQUEST], indirect=True)
@pytest.mark.parametrize(
    "query", ["devices?serial_number=eq.MADEUP{:02}", f"devices?id=eq.{UNKNOWN}", f"job_assignments?id=eq.{UNKNOWN}"]
)
async def test_devices_and_work_that_nobody_knows_share_the_limit_of_the_anon_key(world, query):
    await world.phone()
    world.pool.rows = []
    assert await statuses(world, [query.format(n) for n in range(12)]) == [200] * 10 + [429] * 2
    assert await statuses(world, ["devices?serial_number=eq.ABC12345"]) == [200], "a known phone is not held up"


async def statuses(world, queries: list[str]) -> list[int]:
    return [(await world.client.get(f"/rest/v1/{query}", headers=world.anon)).status for query in queries]
