"""Uploads a picture for some of the failures of the farm, before they are reported. A few only: they fill a disk, and
one picture looks much like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from drover.agent.client import PhoneClient
from drover.agent.protocol import Report
from drover.simulator.phone import Errand
from drover.simulator.screenshot import screenshot

PICTURES_MAX: Final = 1_000
"""How many pictures a farm uploads until it is stopped. Each has about half a kilobyte."""
EVERY_S: Final = 2.0
"""Seconds between two pictures, so that a job that fails on thousands of phones does not become as many uploads."""


class Pictures:
    """Decides which failures get a picture, and uploads it."""

    def __init__(self, client: PhoneClient, now: Callable[[], float], *, pictures_max: int = PICTURES_MAX) -> None:
        self._client = client
        self._now = now
        self._left = pictures_max
        self._next_at = now()

    def wants(self, errand: Errand) -> bool:
        """Whether this errand reports a failure that gets a picture. The answer is yes at most once in `EVERY_S`."""
        action = errand.action
        if not (isinstance(action, Report) and action.status == "failed") or errand.repeated:
            return False
        if self._left <= 0 or self._now() < self._next_at:
            return False
        self._left -= 1
        self._next_at = self._now() + EVERY_S
        return True

    async def add(self, errand: Errand, serial_number: str) -> Errand:
        """Upload a picture, and return the errand with its reference: without one if the platform does not keep it."""
        report = errand.action
        assert isinstance(report, Report)
        picture = screenshot(f"{report.assignment_id} {report.run}")
        _, reference = await self._client.upload(report.assignment_id, report.run, picture, serial_number)
        if reference is None:
            return errand
        return errand._replace(action=msgspec.structs.replace(report, screenshot_ref=reference))
