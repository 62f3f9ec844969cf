"""What happens to the work of an agent that was written with the library. The platform speaks the protocol."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise

import pytest
from aiohttp import web

from drover.agent import Result, Work, WorkFailed
from drover.testing.waiting import eventually
from tests.unit.simulator.conftest import picture_of

from .conftest import SERIAL

pytestmark = pytest.mark.timeout(60)

both_ways = pytest.mark.parametrize("transport", ["socket", "http"])


async def ten_steps(work: Work) -> None:
    for step in range(10):
        await asyncio.sleep(0.01)
        await work.progress(10 * (step + 1))


async def for_ever(work: Work) -> None:
    await work.progress(30, checkpoint={"done": 3})
    await asyncio.Event().wait()


async def hand_out(platform, transport="socket", **row):
    """Work that the phone gets: a socket must be told."""
    assignment = platform.hand_out(SERIAL, **row)
    if transport == "socket":
        await eventually(lambda: platform.lines)
        await platform.push(assignment)
    return assignment


def reports_of(platform, assignment):
    return [report for report in platform.reports if report["assignment_id"] == assignment]


@pytest.mark.req("DF-24", "DF-25")
@both_ways
async def test_work_is_begun_reported_every_ten_points_and_completed(platform, working, transport):
    async with working(ten_steps, transport=transport):
        work = await hand_out(platform, transport)
        await eventually(lambda: platform.ended == {work: "completed"})
        await eventually(lambda: platform.beats[SERIAL] >= 3)
    first, *rest = reports_of(platform, work)
    assert (first["progress_pct"], "started_at" in first) == (0, True)
    assert rest[-1]["progress_pct"] == 100 and rest[-1]["actual_duration_sec"] >= 1 and "completed_at" in rest[-1]
    running = [report["progress_pct"] for report in [first, *rest[:-1]]]
    assert all(later - earlier >= 9 for earlier, later in pairwise(running))  # 99 is the most before the last report
    assert {report["run"] for report in [first, *rest]} == {1}
    assert platform.statuses >= {"online"}


@pytest.mark.req("DF-24")
async def test_work_that_says_nothing_is_reported_every_15_seconds(platform, working):
    async def slow(work: Work) -> None:
        await work.progress(5)
        await asyncio.sleep(1)  # 50 s on the clock of the agent

    async with working(slow):
        work = await hand_out(platform)
        await eventually(lambda: platform.ended)
    assert [report["progress_pct"] for report in reports_of(platform, work)] == [0, 5, 5, 5, 100]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (WorkFailed("APP_CRASH", "The app closed", screenshot_ref="s.png"), "APP_CRASH", "The app closed"),
        (ZeroDivisionError("division by zero"), "E4001", "ZeroDivisionError: division by zero"),
        (asyncio.CancelledError(), "E4001", "CancelledError: "),
        (OSError("no such file: \udcff.png"), "E4001", "OSError: no such file: ?.png"),
    ],
)
async def test_a_failure_is_reported_by_its_code_and_anything_else_is_unknown(platform, working, error, code, message):
    async def fail(work: Work) -> None:
        raise error

    async with working(fail):
        work = await hand_out(platform)
        await eventually(lambda: platform.ended == {work: "failed"})
    last = reports_of(platform, work)[-1]
    assert (last["error_code"], last["error_message"]) == (code, message)
    assert last.get("screenshot_ref") == getattr(error, "screenshot_ref", None)


@pytest.mark.req("DF-30")
async def test_a_picture_is_uploaded_before_the_failure_that_names_it(platform, working):
    async def fail(work: Work) -> None:
        raise WorkFailed("APP_CRASH", screenshot_ref=await work.upload(b"a picture"))

    async with working(fail):
        work = await hand_out(platform)
        await eventually(lambda: platform.ended == {work: "failed"})
    assert platform.pictures == [(work, "1", b"a picture")]
    assert reports_of(platform, work)[-1]["screenshot_ref"] == picture_of(work, 1)


@pytest.mark.parametrize(
    "refusal", [lambda: web.json_response({"code": "EVIDENCE_FULL"}, status=507), lambda: web.Response(body=b"{}")]
)
async def test_a_failure_is_reported_without_the_picture_that_was_not_kept(platform, working, caplog, refusal):
    platform.refuse = lambda request: refusal() if "evidence" in request.path else None

    async def fail(work: Work) -> None:
        raise WorkFailed("APP_CRASH", screenshot_ref=await work.upload(b"a picture"))

    async with working(fail):
        work = await hand_out(platform)
        await eventually(lambda: platform.ended == {work: "failed"})
    assert "screenshot_ref" not in reports_of(platform, work)[-1]
    assert "the picture of assignment" in caplog.text


@pytest.mark.parametrize("duration_s", [math.nan, math.inf, 7 * 86_400 + 1])
def test_a_duration_that_the_platform_would_refuse_is_refused_at_once(duration_s):
    with pytest.raises(ValueError, match="duration_s is at most 604800"):
        Result(duration_s=duration_s)


async def test_a_result_says_what_was_done_and_nothing_else_may_be_returned(platform, working):
    results = [Result(did_like=True, duration_s=156.4), "done"]

    async def give(work: Work) -> Result:
        return results.pop(0)

    async with working(give):
        good = await hand_out(platform)
        await eventually(lambda: good in platform.ended)
        bad = await hand_out(platform)
        await eventually(lambda: bad in platform.ended)
    last = reports_of(platform, good)[-1]
    assert (last["status"], last["did_like"], last["did_comment"], last["actual_duration_sec"]) == (
        "completed",
        True,
        False,
        156,
    )
    assert reports_of(platform, bad)[-1]["error_code"] == "E4001"


async def test_withdrawn_work_is_cancelled_and_the_next_waits_until_it_has_cleaned_up(platform, working):
    seen: list[str] = []
    clean = asyncio.Event()

    async def run(work: Work) -> None:
        seen.append(f"begins {work.id}")
        try:
            if len(seen) == 1:
                await asyncio.Event().wait()
        finally:
            if len(seen) == 1:
                await clean.wait()
            seen.append(f"ends {work.id}")

    async with working(run):
        first = await hand_out(platform)
        await eventually(lambda: seen)
        await platform.lines[0].say(type="withdrawn", assignment_id=first, run=1, reason="cancelled")
        second = await hand_out(platform)
        await eventually(lambda: reports_of(platform, second))
        assert seen == [f"begins {first}"]
        clean.set()
        await eventually(lambda: platform.ended == {second: "completed"})
    assert seen == [f"begins {first}", f"ends {first}", f"begins {second}", f"ends {second}"]
    assert [report["status"] for report in reports_of(platform, first)] == ["running"]


async def test_work_that_still_cleans_up_is_waited_for_also_if_the_next_was_withdrawn_meanwhile(
    platform, working, tmp_path
):
    seen: list[str] = []
    clean = asyncio.Event()

    async def run(work: Work) -> None:
        seen.append(f"begins {work.id}")
        if len(seen) == 1:
            try:
                await asyncio.Event().wait()
            finally:
                await clean.wait()
                seen.append(f"ends {work.id}")

    async with working(run):
        first = await hand_out(platform)
        await eventually(lambda: seen)
        await platform.lines[0].say(type="withdrawn", assignment_id=first, run=1, reason="cancelled")
        second = await hand_out(platform)
        await eventually(lambda: reports_of(platform, second))
        await platform.lines[0].say(type="withdrawn", assignment_id=second, run=1, reason="cancelled")
        third = await hand_out(platform)
        stored = tmp_path / "progress" / "SERIAL0001.json"
        await eventually(lambda: stored.exists() and third in (text := stored.read_text()) and '"begun":true' in text)
        await asyncio.sleep(0)  # so that its task has had a turn
        assert seen == [f"begins {first}"]
        clean.set()
        await eventually(lambda: platform.ended == {third: "completed"})
    assert seen == [f"begins {first}", f"ends {first}", f"begins {third}"]


@pytest.mark.req("DF-13")
async def test_a_run_that_was_rolled_back_is_dropped_and_the_next_run_starts_over(platform, working):
    starts: list[tuple[int, float]] = []

    async def run(work: Work) -> None:
        starts.append((work.run, work.progress_pct))
        await work.progress(50)
        if work.run == 1:
            await asyncio.Event().wait()

    async with working(run, transport="http"):
        work = await hand_out(platform, "http")
        await eventually(lambda: len(reports_of(platform, work)) >= 2)
        platform.roll_back(work)
        await eventually(lambda: platform.ended == {work: "completed"})
    assert starts == [(1, 0), (2, 0)]
    assert "STALE_ATTEMPT" in [report["answer"] for report in reports_of(platform, work)]


@pytest.mark.req("DF-27")
@both_ways
async def test_work_goes_on_where_it_was_after_a_restart(platform, working, transport):
    starts: list[tuple[float, dict]] = []

    async def run(work: Work) -> None:
        starts.append((work.progress_pct, dict(work.checkpoint)))
        await for_ever(work) if len(starts) == 1 else await ten_steps(work)

    async with working(run, transport=transport):
        work = await hand_out(platform, transport)
        await eventually(lambda: any(report["progress_pct"] == 30 for report in platform.reports))
    assert platform.ended == {}
    async with working(run, transport=transport):
        await eventually(lambda: platform.ended == {work: "completed"})
    assert starts == [(0, {}), (30, {"done": 3})]


@pytest.mark.req("DF-13", "DF-27")
async def test_work_goes_on_without_a_connection_and_its_end_is_reported_later(platform, working):
    ended = asyncio.Event()

    async def run(work: Work) -> None:
        await work.progress(40)
        await platform.drop_lines()
        platform.refuse = lambda request: web.Response(status=503)
        await asyncio.sleep(0.1)
        await work.progress(80)
        ended.set()

    async with working(run):
        work = await hand_out(platform)
        await ended.wait()
        assert platform.ended == {}
        platform.refuse = lambda request: None
        await eventually(lambda: platform.ended == {work: "completed"})


@pytest.mark.req("DF-27")
async def test_after_five_minutes_without_a_connection_progress_waits_until_the_platform_is_back(platform, working):
    steps: list[int] = []

    async def run(work: Work) -> None:
        for step in range(1000):
            steps.append(step)
            await asyncio.sleep(0.02)
            await work.progress(50 + step % 2)

    async with working(run):
        await hand_out(platform)
        await eventually(lambda: len(steps) > 3)
        platform.refuse = lambda request: web.Response(status=503)
        await platform.drop_lines()

        async def stand_still() -> bool:
            before = len(steps)
            await asyncio.sleep(0.3)  # 15 s on the clock of the agent
            return len(steps) == before

        await eventually(stand_still, 30)
        before = len(steps)
        platform.refuse = lambda request: None
        await eventually(lambda: len(steps) > before + 3, 30)


@pytest.mark.req("DF-19", "DF-28")
async def test_a_throttled_agent_waits_a_minute_and_loses_nothing(platform, working):
    refused: list[float] = []

    def once(request):
        if request.method == "PATCH" and request.path.endswith("job_assignments") and not refused:
            refused.append(asyncio.get_running_loop().time())
            return web.Response(status=429)
        return None

    platform.refuse = once
    async with working(ten_steps, transport="http"):
        work = await hand_out(platform, "http")
        await eventually(lambda: platform.reports)
        assert asyncio.get_running_loop().time() - refused[0] >= 60 / 50 - 0.05
        await eventually(lambda: platform.ended == {work: "completed"})


@both_ways
async def test_a_phone_that_is_not_known_or_not_allowed_says_what_to_do(platform, working, transport, caplog):
    platform.devices.clear()
    async with working(ten_steps, transport=transport, serial="SERIAL0002"):
        await eventually(lambda: "SERIAL0002: refused with 404" in caplog.text)
    assert "enrol it with a code of its PC" in caplog.text
    platform.refuse = lambda request: web.Response(status=401)
    async with working(ten_steps, transport="http"):
        await eventually(lambda: "SERIAL0001: refused with 401" in caplog.text)
    assert caplog.text.count("SERIAL0001: refused with 401") == 1


@both_ways
async def test_a_lost_connection_is_logged_once_with_its_address(platform, working, transport, caplog):
    said = f"{SERIAL}: no connection to http://127.0.0.1:9; trying again"
    async with working(ten_steps, transport=transport, url="http://127.0.0.1:9"):
        await eventually(lambda: said in caplog.text)
    assert caplog.text.count(said) == 1
    caplog.clear()
    async with working(ten_steps, transport=transport):
        await eventually(lambda: platform.beats[SERIAL] >= 3)
    assert "no connection" not in caplog.text


async def test_a_socket_that_another_agent_has_replaced_says_so(platform, working, caplog):
    async with working(ten_steps):
        await eventually(lambda: platform.lines)
        (line,) = platform.lines
        await line.say(type="bye", reason="A newer socket speaks for the same device or PC", reconnect_after_s=30)
        await line.socket.close(code=1000)
        await eventually(lambda: "replaced by a newer socket" in caplog.text)
    assert f"{SERIAL}: replaced by a newer socket for it; connecting again in 30 s. Does another agent" in caplog.text


@pytest.mark.parametrize(
    ("code", "advice"),
    [("APP_CRASHED", " Did you mean APP_CRASH?"), ("app_crash", " Did you mean APP_CRASH?"), ("NO_SUCH_ROW", "")],
)
async def test_an_error_code_without_a_rule_is_logged_with_what_becomes_of_it(platform, working, code, advice, caplog):
    async def fail(work: Work) -> None:
        raise WorkFailed(code)

    async with working(fail):
        await hand_out(platform)
        await eventually(lambda: platform.ended)
        await eventually(lambda: "no rule for this code" in caplog.text)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.endswith(
        f"is failed with {code}. Drover has no rule for this code, and treats it as an unknown error (E4001).{advice}"
    )


@both_ways
async def test_heartbeats_say_what_the_agent_says_about_its_phone(platform, working, transport):
    async with working(ten_steps, transport=transport) as agent:
        await eventually(lambda: platform.beats[SERIAL])
        assert "battery_pct" not in platform.conditions[SERIAL]
        agent.say(SERIAL, screen_locked=False, battery_pct=55)
        await eventually(lambda: "battery_pct" in platform.conditions[SERIAL])
    said = platform.conditions[SERIAL]
    assert (said["screen_locked"], said["battery_pct"]) == (False, 55)


async def test_progress_and_checkpoints_have_bounds(platform, working):
    found: list[str] = []

    async def run(work: Work) -> None:
        for how in ({"pct": 101}, {"pct": -1}, {"pct": 10, "checkpoint": {"text": "x" * 70_000}}):
            with pytest.raises(ValueError) as error:
                await work.progress(**how)
            found.append(str(error.value))

    async with working(run):
        await hand_out(platform)
        await eventually(lambda: platform.ended)
    assert list(platform.ended.values()) == ["completed"]
    assert [text[:16] for text in found] == ["progress is from", "progress is from", "a checkpoint has"]


async def test_a_full_disk_does_not_stop_the_work(platform, working, monkeypatch, caplog):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("drover.agent.store.write_private", full)
    async with working(ten_steps):
        work = await hand_out(platform)
        await eventually(lambda: platform.ended == {work: "completed"})
    assert "No space left on device" in caplog.text
