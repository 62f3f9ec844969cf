"""An archiver that another one has taken over from."""

import asyncio

import pytest

from drover.archive.errors import ArchiveUnwritable
from drover.archiver.archiver import Archiver
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("YR-01")


class Full:
    context = "fleet"

    async def round(self):
        raise ArchiveUnwritable("/backup", "No space left on device")


async def test_it_no_longer_reports_what_failed_while_it_led():
    lock = asyncio.Lock()
    lease = LocalLease(lock)
    archiver = Archiver([Full()], lease, every_s=60.0)
    async with archiver.running():
        await eventually(lambda: archiver.why_not_ready() is not None)
        other = asyncio.create_task(lock.acquire())  # waits for its turn
        await asyncio.sleep(0)
        lease.lose()
        await other
        await eventually(lambda: archiver.why_not_ready() is None)
        lock.release()
