"""The platform that the simulator's tests talk to, and agents on a fast clock that work for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from drover.agent import Agent
from drover.agent.clock import Clock
from tests.unit.simulator.conftest import clocks_of_the_loop, platform

__all__ = ["clocks_of_the_loop", "platform"]

SPEED = 50.0
KEY = "key of the phone"
SERIAL = "SERIAL0001"

Working = Callable[..., AbstractAsyncContextManager[Agent]]


@pytest.fixture
def working(platform, clocks_of_the_loop, tmp_path: Path) -> Working:
    """Runs an agent of one phone, which the platform knows, with this function as its work."""

    @asynccontextmanager
    async def run(handler: Any, **options: Any) -> AsyncIterator[Agent]:
        platform.agent_keys.add(KEY)
        platform.devices.setdefault(SERIAL, {"serial_number": SERIAL, "pc_id": "PC-01"})
        how = {"key": KEY, "serial": SERIAL, "data_dir": tmp_path, "clock": Clock(SPEED), **options}
        agent = Agent(how.pop("url", platform.url), **how)
        agent.work(handler)
        serving = asyncio.create_task(agent.serve())
        try:
            yield agent
        finally:
            serving.cancel()
            await asyncio.wait([serving])
            if not serving.cancelled():
                serving.result()

    return run
