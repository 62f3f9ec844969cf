"""Work in hand while things are taken away: Postgres, the connection, the whole platform."""

from __future__ import annotations

import signal

import pytest

from drover.testing.waiting import eventually
from tests.e2e.farmhand import connected, hire, order
from tests.e2e.process import paused

BACK_S = 30.0


async def status_of(http, work):
    rows = await http.rows("job_assignments", f"id=eq.{work['id']}&select=status")
    return rows[0]["status"] if rows else None


@pytest.mark.req("DF-09", "DF-10", "EV-03")
async def test_while_postgres_hangs_work_is_given_out_done_and_replaced(start):
    platform = await start()
    async with platform.calling() as http:
        hand = await hire(http, "NODATABASE1")
        await order(http, hand)
        second = await order(http, hand)
        first = await hand.work()
        with paused(platform.server("postgres")):
            assert (await hand.report(first, "running", progress_pct=0)).status == 204
            assert (await hand.report(first, "running", progress_pct=55)).status == 204
            assert (await hand.complete(first)).status == 204
            assert (await hand.complete(first)).code == "CONFLICT"
            then = await hand.work()
            assert then["job_id"] == second
            assert (await hand.report(then, "running", progress_pct=0)).status == 204

        async def caught_up():
            answer = await http.get(f"/rest/v1/job_assignments?id=eq.{then['id']}&select=status")
            return answer.status == 200 and answer.json == [{"status": "running"}]

        await eventually(caught_up, BACK_S, every_s=0.2)
        assert await status_of(http, first) == "completed"


@pytest.mark.req("DF-13", "DF-09")
async def test_an_agent_on_a_socket_is_pushed_work_and_loses_none_of_it_when_its_line_is_cut(start):
    platform = await start()
    key = platform.credentials["anon_key"]
    async with platform.calling() as http:
        hand = await hire(http, "ONASOCKET01")
        async with connected(platform.url, key, serial_number=hand.serial) as line:
            assert (await line.hear("welcome"))["devices"] == [{"id": hand.device_id, "serial_number": hand.serial}]
            await order(http, hand)
            second = await order(http, hand)
            work = (await line.hear("offer"))["assignment"]
            assert work["jobs"]["target_url"] == "https://youtu.be/e2e"
            mine = {"assignment_id": work["id"], "run": work["run"]}
            await line.say(type="report", ref=1, status="running", progress_pct=30, **mine)
            assert (await line.hear("done"))["ref"] == 1
            await line.cut()

        held = [{**mine, "progress_pct": 30}]
        async with connected(platform.url, key, serial_number=hand.serial, holding=held) as line:
            assert (await line.hear("welcome"))["holding"] == [{**mine, "verdict": "continue"}]
            end = {"status": "completed", "progress_pct": 100, "actual_duration_sec": 9}
            await line.say(type="report", ref=2, **end, **mine)
            offer = (await line.hear("offer"))["assignment"]
            assert offer["job_id"] == second
            assert ("done", 2) in [(frame["type"], frame.get("ref")) for frame in line.seen]
            await line.say(type="report", ref=3, **end, **mine)
            assert (await line.hear("refused"))["code"] == "CONFLICT"

        await http.catch_up()
        rows = await http.rows("tasks_event", f"task_device_id=eq.{work['id']}&select=event_type&order=id")
        assert [row["event_type"] for row in rows] == ["CREATED", "SENT", "ACKED", "SUCCEEDED"]


@pytest.mark.req("DF-05", "DF-13")
async def test_after_kill_9_of_everything_an_agent_goes_on_with_the_same_run(start):
    platform = await start()
    async with platform.calling() as http:
        hand = await hire(http, "KILLEDALL01")
        await order(http, hand)
        work = await hand.work()
        assert (await hand.report(work, "running", progress_pct=40)).status == 204
        await http.catch_up()
    platform.send(signal.SIGKILL)
    await platform.ended()
    again = await start()
    async with again.calling() as http:
        hand.http = http
        assert (await http.beat(hand.serial)).status == 204
        assert (await hand.report(work, "running", progress_pct=60)).status == 204
        assert (await hand.complete(work)).status == 204
        await http.catch_up()
        assert await status_of(http, work) == "completed"
        rolled_back = await http.rows("tasks_event", "event_type=eq.ROLLED_BACK")
        assert rolled_back == []
