"""A simulated farm beside a platform: its phones work several times faster than real ones, and nothing goes wrong."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from drover.testing.waiting import eventually
from tests.e2e.process import ends_with_us
from tests.e2e.up import Platform

PCS: Final = 3
PHONES_PER_PC: Final = 10
PHONES: Final = PCS * PHONES_PER_PC
SPEED: Final = 4
OPTIONS: Final = ("--script", "calm", "--jobs", "0", "--renders", "2", "--users", "3", "--readers", "3")
STOP_S: Final = 60.0
HEARD_S: Final = 120.0


@asynccontextmanager
async def simulated_farm(platform: Platform) -> AsyncIterator[None]:
    """All its phones are online when this begins."""
    size = ("--pcs", str(PCS), "--phones", str(PHONES_PER_PC), "--speed", str(SPEED))
    where = ("--url", platform.url, "--data-dir", str(platform.data_dir))
    with platform.data_dir.with_name("simulator.log").open("ab") as output:
        process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            ends_with_us([sys.executable, "-m", "drover.simulator", *where, *size, *OPTIONS]),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        await _heard(platform, process)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            await eventually(lambda: process.poll() is not None, STOP_S)
        finally:
            process.kill()
            process.wait()


async def _heard(platform: Platform, process: subprocess.Popen[bytes]) -> None:
    async with platform.calling() as http:

        async def online() -> bool:
            assert process.poll() is None, "the simulated farm has ended"
            return len(await http.rows("devices", "status=eq.online&select=id")) >= PHONES

        await eventually(online, HEARD_S, every_s=0.2)
