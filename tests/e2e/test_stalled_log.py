"""A log that does not take anything, and callers who do not care: answers stay honest, memory stays bounded."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from drover.bus.client import WAITING_MAX
from drover.testing.waiting import eventually
from tests.e2e.process import paused

SENDERS = 50
PATIENCE_S = 1.0
"""Of the impatient callers: less than the log is away."""
POSTS = 5_000
ROWS_PER_POST = 100
FILLING_POSTS = 300
"""Times the rows of each: more than may wait."""
GROWTH_BYTES_MAX = 150 * 1024 * 1024
GROWTH_WHEN_FULL_BYTES_MAX = 30 * 1024 * 1024
BACK_S = 20.0
BACK_ALL_S = 60.0


def serial(number: int) -> str:
    return f"STALL{number:07}"


@pytest.mark.alone  # all must have come before the first of those who wait is answered
@pytest.mark.req("EV-02")
async def test_while_the_log_takes_nothing_callers_wait_or_are_sent_away_and_none_is_lied_to(start):
    platform = await start()
    acknowledged: list[str] = []
    refused: list[str] = []
    """Told that there was no room, which is to say that nothing happened."""
    outcomes: Counter[object] = Counter()

    async def register(*serials, **how):
        try:
            answer = await http.register(*serials, **how)
        except TimeoutError:
            outcomes["went away"] += 1
            return
        outcomes[answer.status] += 1
        if answer.status == 201:
            acknowledged.extend(serials)
        else:
            assert answer.status == 503
            assert int(answer.headers["Retry-After"]) > 0
            assert answer.code in ("OVERLOADED", "UNAVAILABLE")
            accepted = (answer.json["details"] or {}).get("accepted", ())
            acknowledged.extend(serials[index] for index in accepted)
            if answer.code == "OVERLOADED":
                refused.extend(one for index, one in enumerate(serials) if index not in accepted)

    async with platform.calling() as http:
        await register(serial(0))
        assert outcomes == {201: 1}
        before = platform.rss_bytes
        with paused(platform.server("nats-server")):
            impatient = [
                asyncio.create_task(register(serial(number), timeout_s=PATIENCE_S)) for number in range(1, SENDERS)
            ]
            patient = asyncio.create_task(register(serial(SENDERS)))
            await asyncio.gather(*impatient)
            assert outcomes == {201: 1, "went away": SENDERS - 1}

            waiting = [
                asyncio.create_task(register(*(serial(1_000_000 + post * 100 + row) for row in range(ROWS_PER_POST))))
                for post in range(FILLING_POSTS)
            ]
            # Then all places are taken; those who found none were told at once.
            await eventually(lambda: outcomes[503] >= FILLING_POSTS - WAITING_MAX // ROWS_PER_POST, BACK_S)
            full = platform.rss_bytes

            numbers = iter(range(2_000_000, 2_000_000 + POSTS - FILLING_POSTS))

            async def flood():
                for number in numbers:
                    await register(serial(number))

            await asyncio.gather(*(flood() for _ in range(SENDERS)))
            assert outcomes[503] >= POSTS - FILLING_POSTS, "whoever came after that was told at once, too"
            assert (await http.beat(serial(0))).status == 204
            assert (await http.get("/livez")).status == 200
            now = platform.rss_bytes
            assert now - before < GROWTH_BYTES_MAX, f"{before} to {now} bytes"
            assert now - full < GROWTH_WHEN_FULL_BYTES_MAX, f"{full} to {now} bytes: it grows with those sent away"

        await asyncio.wait_for(asyncio.gather(patient, *waiting), BACK_ALL_S)
        assert set(outcomes) == {201, 503, "went away"}
        assert serial(SENDERS) in acknowledged, "who waited was served"
        assert (await http.register("AFTERWARDS")).status == 201
        await http.catch_up()
        there = await http.serials()
        assert len(there) == len(set(there))
        assert set(acknowledged) <= set(there)
        assert set(refused).isdisjoint(there)
