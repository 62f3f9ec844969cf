"""A sender of the users' own (004) works beside ours, and is killed in the middle: no alarm is lost or sent twice.

What holds exactly: an alarm is sent by one sender and once. Only those that a killed sender had in hand stay claimed,
sent or not. For six hours nobody sends them; then they are taken up, with the same key.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from drover.gateway.writes.body import ROWS_PER_POST_MAX
from drover.testing.waiting import eventually
from tests.e2e.process import ends_with_us
from tests.e2e.realtime_js import CLIENT
from tests.e2e.up import Platform
from tests.node_packages import node_with

ALARMS = 400
USERS = 40
FAILING = 10
"""One of so many sendings fails, of each sender: ours sends few, and by dice all of them might go well."""
OURS_TAKES_S = 0.2
"""Ours sends one after the other, so that theirs get their share."""
IN_HAND_MAX = 10
"""Alarms that one of their senders works on at the same time."""
PATIENCE_S = 120.0
SETTINGS = {
    "DROVER_REMINDER_PROVIDER": "webhook",
    "DROVER_REMINDER_ALLOW_PRIVATE": "1",
    "DROVER_REMINDER_WEBHOOK_SECRETS": "what the receiver checks signatures with",
    "DROVER_REMINDER_CONCURRENCY": "1",
    "DROVER_REMINDER_FETCH_LIMIT": "1",
    "DROVER_REMINDER_RETRY_S": "0.5",
}


class Push:
    """A push service that fails at times, and drops no repeats: it counts them."""

    url: str

    def __init__(self) -> None:
        self.delivered: defaultdict[str, list[str]] = defaultdict(list)
        """By key: who has sent it."""
        self.failed: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self.hold = ""
        """Whose next sendings get no answer."""
        self.held: list[str] = []
        self._released = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        who, key = request.match_info["who"], request.headers["Idempotency-Key"]
        await request.read()
        self._taken[who] += 1
        if who == self.hold:
            self.delivered[key].append(who)
            self.held.append(key)
            await self._released.wait()
        elif self._taken[who] % FAILING == FAILING // 2:
            self.failed[who] += 1
            return web.Response(status=503)
        else:
            self.delivered[key].append(who)
        if who == "ours":
            await asyncio.sleep(OURS_TAKES_S)
        return web.json_response({"id": f"push-{key}"})

    def release(self) -> None:
        self.hold = ""
        self._released.set()

    def by(self, who: str) -> int:
        return sum(senders.count(who) for senders in self.delivered.values())


@pytest.fixture
async def push():
    app, push = web.Application(), Push()
    app.router.add_post("/{who}", push.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    push.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield push
    push.release()
    await runner.cleanup()


@asynccontextmanager
async def senders(platform, push, folder):
    """Starts senders of the users' own by name, and ends whatever is left of them."""
    node = node_with(CLIENT)
    running = []

    async def start(name):
        environ = {
            "SUPABASE_URL": platform.url,
            "SUPABASE_SERVICE_ROLE_KEY": platform.credentials["service_key"],
            "PUSH_URL": f"{push.url}/{name}",
        }
        with (folder / f"{name}.txt").open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *ends_with_us([node, str(CLIENT / "own_sender.mjs")]),
                env=os.environ | environ,
                stdout=output,
                stderr=output,
            )
        running.append(process)
        return process

    try:
        yield start
    finally:
        for process in running:
            await kill(process)


async def kill(process):
    if process.returncode is None:
        process.kill()
    await process.wait()


@asynccontextmanager
async def platform_for(push, folder):
    platform = Platform(folder / "data", environ=SETTINGS | {"DROVER_REMINDER_WEBHOOK_URL": f"{push.url}/ours"})
    try:
        await platform.ready()
        async with platform.calling() as http:
            yield platform, http
    finally:
        await platform.end()
    assert "Traceback" not in platform.output


async def register_all(http):
    now = datetime.now(UTC).isoformat()
    for begin in range(0, ALARMS, ROWS_PER_POST_MAX):
        rows = [
            {"page_id": f"page-{n}", "user_id": f"user-{n % USERS}", "title": f"{n}", "next_alarm_time": now}
            for n in range(begin, begin + ROWS_PER_POST_MAX)
        ]
        answer = await http.call("POST", "/rest/v1/alarm", json=rows)
        assert answer.status == 201, answer


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("DI-04", "RM-06", "RM-07", "RM-10")
async def test_their_sender_and_ours_share_the_alarms_and_a_killed_one_loses_none(push, tmp_path):
    def has_sent(part):
        return lambda: len(push.delivered) >= ALARMS * part

    async with platform_for(push, tmp_path) as (platform, http), senders(platform, push, tmp_path) as start:
        await register_all(http)
        first, second = await asyncio.gather(start("first"), start("second"))
        await eventually(has_sent(0.2), PATIENCE_S)
        push.hold = "first"
        await eventually(lambda: push.held, PATIENCE_S)
        await kill(first)  # it has sent them, and has not said so
        push.release()
        third = await start("third")
        await eventually(has_sent(0.5), PATIENCE_S)
        await kill(second)  # wherever it is
        killed_at = datetime.now(UTC)
        await start("fourth")

        async def left():
            """The alarms that only killed senders have in hand, once all others were sent."""
            rows = await http.rows("alarm", "sent_count=eq.1")
            marks = [row["processed_at"] for row in rows]
            done = all(mark is not None and datetime.fromisoformat(mark) < killed_at for mark in marks)
            return {f"{row['page_id']}:1" for row in rows} if done else None

        in_hand = await eventually(left, PATIENCE_S)
        pages = {f"page-{number}:1" for number in range(ALARMS)}
        assert set(push.held) <= in_hand, "what was in flight at the kill stays claimed"
        assert len(in_hand) <= 2 * IN_HAND_MAX
        assert {key: len(push.delivered[key]) for key in pages - in_hand} == dict.fromkeys(pages - in_hand, 1)
        assert all(len(push.delivered[key]) <= 1 for key in in_hand), "nobody sends it a second time within six hours"

        # Six hours later.
        long_ago = (datetime.now(UTC) - timedelta(hours=7)).isoformat()
        named = ",".join(key.removesuffix(":1") for key in sorted(in_hand))
        answer = await http.call("PATCH", f"/rest/v1/alarm?page_id=in.({named})", json={"processed_at": long_ago})
        assert answer.status == 204, answer

        async def all_sent():
            return not await http.rows("alarm", "or=(sent_count.eq.1,processed_at.not.is.null)")

        await eventually(all_sent, PATIENCE_S)
        counts = {key: len(senders) for key, senders in push.delivered.items()}
        assert counts.keys() == pages, "none was lost, and none was sent again before its next time"
        assert {key for key, count in counts.items() if count > 1} <= in_hand
        assert max(counts.values()) <= 2
        told = await http.rows("alarms_event", "event_type=eq.SENT&select=page_id,sent_count")
        assert Counter(f"{row['page_id']}:{row['sent_count']}" for row in told) == dict.fromkeys(pages, 1)
        rows = await http.rows("alarm", "select=sent_count,last_notification_id,page_id")
        assert {row["sent_count"] for row in rows} == {2}
        assert all(row["last_notification_id"] == f"push-{row['page_id']}:1" for row in rows)
        # Both sides really worked, and both had failures.
        assert all(push.by(who) for who in ("ours", "first", "second", "third")), push.failed
        assert push.failed["ours"]
        assert push.failed["first"] + push.failed["second"] + push.failed["third"]
        assert third.returncode is None
        assert not [file.read_text() for file in tmp_path.glob("*.txt") if file.stat().st_size], "no write was refused"
