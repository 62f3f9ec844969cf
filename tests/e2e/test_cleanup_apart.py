"""Two cleanup services and ten callers at once, over a thousand stalled tests: each is failed and given back once."""

from __future__ import annotations

import asyncio
import signal

import aiohttp
import pytest

from drover.testing.waiting import eventually
from tests.e2e.analyses import (
    CALL_S,
    CRON_SECRET,
    HAD,
    TESTS,
    USERS,
    clean,
    killing_in_the_middle,
    office,
    settings,
    user,
    was_interrupted,
)

CALLS = 10
ROUNDS_MAX = 5


async def read_model_agrees(farm, reading):
    """Every user has what they had, every test is failed and given back, the ledger adds up."""
    async with farm.calling(reading) as http:

        async def settled():
            rows = await http.rows("saju_tests", "select=status&status=eq.processing")
            runs = await http.rows("cleanup_runs", "select=status&status=eq.running")
            return not rows and not runs

        await eventually(settled, within_s=CALL_S)
        users = await http.rows("users", "order=id")
        assert [(row["id"], row["remaining_tests"]) for row in users] == [(user(n), HAD) for n in range(USERS)]
        tests = await http.rows("saju_tests", "select=id,status,error_message,refunded,cleanup_run_id&order=id")
        assert {(row["status"], row["error_message"], row["refunded"]) for row in tests} == {
            ("failed", "시스템 타임아웃으로 자동 정리됨", True)
        }
        ledger = await http.rows("test_ledger", "order=id")
        for kind in ("charge", "refund"):
            entries = [row["test_id"] for row in ledger if row["kind"] == kind]
            assert sorted(entries) == [row["id"] for row in tests], f"one {kind} for each test"
        for row in users:
            assert sum(entry["amount"] for entry in ledger if entry["user_id"] == row["id"]) == HAD
        runs = await http.rows("cleanup_runs", "order=started_at")
        assert sum(row["cleaned_count"] for row in runs) == len(tests)
        assert sum(len(row["tests_cleaned"]) for row in runs) == len(tests)
        return runs


@pytest.mark.slow
@pytest.mark.req("SY-03", "SY-04", "SY-06", "SY-07")
async def test_two_instances_and_ten_calls_at_once(farm, own_nats):
    settings(farm)
    one, two, reading = await asyncio.gather(
        farm.serve("cleanup", name="one"), farm.serve("cleanup", name="two"), farm.serve("gateway", "projector")
    )
    async with office(farm, one, own_nats.url) as back, aiohttp.ClientSession() as session:
        await back.register()
        await back.start()
        answers = await asyncio.gather(*(clean(session, (one, two)[n % 2].url) for n in range(CALLS)))
        for answer in answers:
            assert answer["message"] == "Cleanup completed"
            assert answer["cleaned_count"] in (0, TESTS)
        (users,) = {tuple(answer["users_affected"]) for answer in answers if answer["cleaned_count"]}
        assert sorted(users) == [user(n) for n in range(USERS)]
        books = await back.audit()
    assert len(books.refunds) == TESTS
    assert not books.under_way()
    runs = await read_model_agrees(farm, reading)
    (run,) = (row for row in runs if row["cleaned_count"])
    assert (run["trigger"], run["by"], run["users_count"]) == ("manual", "cron_secret", USERS)
    for process in (one, two):
        process.send(signal.SIGTERM)
        assert await process.ended() == 0
    lines = [line for process in (one, two) for line in process.output.splitlines()]
    assert sum(f"Cleaned {TESTS} stalled tests for users [user_" in line for line in lines) == 1
    assert not [line for line in lines if CRON_SECRET in line or "Traceback" in line]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("SY-03", "SY-06")
async def test_the_same_with_a_kill_9_of_the_leader_in_the_middle(farm, own_nats):
    """A cleanup takes a tenth of a second: where the kill came too late, it is done again with another leader."""
    settings(farm)
    leader, reading = await asyncio.gather(farm.serve("cleanup", name="one"), farm.serve("gateway", "projector"))
    standby = None
    async with aiohttp.ClientSession() as session:
        for number in range(1, ROUNDS_MAX + 1):
            standby = await farm.serve("cleanup", name=f"standby-{number}")
            async with office(farm, standby, own_nats.url) as back:
                if number == 1:
                    await back.register()
                await back.start()
                async with killing_in_the_middle(back.client, leader) as killed:
                    answers = await asyncio.gather(*(clean(session, leader.url, standby.url) for _ in range(CALLS)))
                    assert killed.is_set()
                assert {answer["message"] for answer in answers} == {"Cleanup completed"}
                await leader.ended()
                await eventually(lambda: back.leads(f"standby-{number}"))  # noqa: B023 - awaited in this round
                books = await back.audit()
                assert len(books.refunds) == TESTS * number
                assert not books.under_way()
                assert {books.balance(user(n)) for n in range(USERS)} == {HAD}
                if was_interrupted(await back.commits()):
                    break
            leader = standby
        else:
            pytest.fail("the leader was never killed while its cleanup was at work")
    await read_model_agrees(farm, reading)
    assert f"Cleaned {TESTS} stalled tests" in standby.output, "the one that came after tells of it"
