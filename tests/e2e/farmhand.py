"""An agent for the tests, over HTTP or on a socket, and the back office that gives it work."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from drover.testing.waiting import eventually
from tests.e2e.client import Answer, Http

POLL_EVERY_S = 0.3
FRAME_S = 60.0


class Farmhand:
    """One phone, registered and heard."""

    def __init__(self, http: Http, serial: str, device_id: str) -> None:
        self.http, self.serial, self.device_id = http, serial, device_id

    async def poll(self) -> list[dict[str, Any]]:
        query = f"select=*,jobs(*)&device_id=eq.{self.device_id}&status=eq.pending&order=assigned_at.asc&limit=1"
        answer = await self.http.call("GET", f"/rest/v1/job_assignments?{query}", anon=True)
        assert answer.status == 200, answer
        return answer.json

    async def work(self) -> dict[str, Any]:
        """Beat and poll until there is some."""

        async def found() -> list[dict[str, Any]]:
            assert (await self.http.beat(self.serial)).status == 204
            return await self.poll()

        return (await eventually(found, every_s=POLL_EVERY_S))[0]

    async def report(self, work: dict[str, Any], status: str, **fields: Any) -> Answer:
        path = f"/rest/v1/job_assignments?id=eq.{work['id']}"
        return await self.http.call("PATCH", path, anon=True, json={"status": status, "run": work["run"], **fields})

    async def complete(self, work: dict[str, Any]) -> Answer:
        return await self.report(work, "completed", progress_pct=100, actual_duration_sec=5)


async def hire(http: Http, serial: str, pc: str = "PC-E2E") -> Farmhand:
    row = {"serial_number": serial, "group_id": "P1-G1", "pc_id": pc}
    answer = await http.call("POST", "/rest/v1/devices", json=row, headers={"Prefer": "return=representation"})
    assert answer.status == 201, answer
    hand = Farmhand(http, serial, answer.json[0]["id"])
    assert (await http.beat(serial)).status == 204
    return hand


async def order(http: Http, *hands: Farmhand, **fields: Any) -> str:
    """A job for these phones; its id."""
    target = {"device_ids": [hand.device_id for hand in hands]}
    job = {"target_url": "https://youtu.be/e2e", "target": target, **fields}
    answer = await http.call("POST", "/rest/v1/jobs", json=job, headers={"Prefer": "return=representation"})
    assert answer.status == 201, answer
    return answer.json[0]["id"]


class Line:
    """A socket of the agents' protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.seen: list[dict[str, Any]] = []

    async def say(self, **frame: Any) -> None:
        await self._socket.send_str(msgspec.json.encode(frame).decode())

    async def hear(self, kind: str) -> dict[str, Any]:
        """The next frame of this kind; what comes before it is kept in `seen`."""
        while True:
            frame = msgspec.json.decode(await self._socket.receive_str(timeout=FRAME_S))
            self.seen.append(frame)
            if frame["type"] == kind:
                return frame

    async def cut(self) -> None:
        """As a network does: without a word."""
        transport = self._socket._response.connection.transport  # type: ignore[union-attr]
        transport.abort()


@asynccontextmanager
async def connected(url: str, key: str, **hello: Any):
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}/agent/v1/connect", headers={"apikey": key}) as socket,
    ):
        line = Line(socket)
        await line.say(type="hello", **hello)
        yield line
