"""An alert when one is wanted: with a calm farm hours can pass without one."""

from __future__ import annotations

import asyncio
from typing import Final

from drover.testing.waiting import eventually
from tests.e2e.client import Http

POLLS: Final = 50
"""More at once than a phone may."""


async def raise_alert(http: Http) -> None:
    """One phone asks for work so often that an alert is raised."""
    (phone,) = (await http.get("/rest/v1/devices?pc_id=eq.PC-01&order=serial_number.desc&limit=1")).json
    path = f"/rest/v1/job_assignments?device_id=eq.{phone['id']}&status=eq.pending&limit=1"

    async def raised() -> bool:
        await asyncio.gather(*(http.get(path, anon=True) for _ in range(POLLS)))
        return bool((await http.get(f"/rest/v1/alerts?subject=eq.{phone['id']}&resolved_at=is.null&limit=1")).json)

    await eventually(raised, every_s=0.5)
