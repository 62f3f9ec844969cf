"""What the back office of the soak farm does: PCs of a given capacity, and always a job for all phones in the queue."""

from __future__ import annotations

import asyncio

from drover.simulator.population import pc_id
from tests.e2e.client import Http

ROWS = 100
WAITING = 2
LOOK_EVERY_S = 2.0


async def register_pcs(edge: Http, pcs: int, capacity: int) -> None:
    rows = [{"id": pc_id(number), "capacity": capacity} for number in range(1, pcs + 1)]
    for start in range(0, pcs, ROWS):
        answer = await edge.call("POST", "/rest/v1/pcs", json=rows[start : start + ROWS])
        assert answer.status == 201, answer


async def keep_jobs_waiting(edge: Http) -> None:
    number = 0
    while True:
        open_jobs = await edge.rows("jobs", "status=in.(created,active)&select=id")
        for _ in range(WAITING - len(open_jobs)):
            number += 1
            job = {"title": f"Soak {number}", "target_url": f"https://youtu.be/soak-{number:04d}"}
            answer = await edge.call("POST", "/rest/v1/jobs", json=job)
            assert answer.status == 201, answer
        await asyncio.sleep(LOOK_EVERY_S)
