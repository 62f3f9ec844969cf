"""A stand-in for the platform: it speaks docs/agents.md over real HTTP and WebSockets, and counts what it hears."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from drover.agent import clock
from drover.simulator.http import Client, connect
from drover.web.serve import serve

ANON_KEY = "anon"
SERVICE_KEY = "service"


def device_id(serial: str) -> str:
    return f"id-of-{serial}"


def picture_of(assignment_id: str, run: str | int) -> str:
    """The reference of an uploaded picture."""
    return f"/api/evidence/today/{assignment_id}.{run}.png"


@dataclass
class Line:
    """One socket, as the platform sees it."""

    socket: web.WebSocketResponse
    hello: dict[str, Any]
    devices: set[str]
    frames: list[dict[str, Any]] = field(default_factory=list)

    async def say(self, **frame: Any) -> None:
        await self.socket.send_json(frame)

    def heard(self, type: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == type]


@dataclass
class Platform:
    """Registers, takes heartbeats, hands work out, takes reports, and has bad days on request."""

    url: str = ""
    ready_after: int = 0
    pcs: set[str] = field(default_factory=set)
    devices: dict[str, dict] = field(default_factory=dict)
    beats: Counter[str] = field(default_factory=Counter)
    statuses: set[str] = field(default_factory=set)
    conditions: dict[str, dict] = field(default_factory=dict)
    """The last heartbeat of each phone."""
    posts: list[tuple[str, int]] = field(default_factory=list)
    refuse: Callable[[web.Request], web.Response | None] = lambda request: None
    delay: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
    at_once: int = 0
    at_once_max: int = 0
    assignments: dict[str, dict] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    polls: Counter[str] = field(default_factory=Counter)
    poll_after_s: int = 5
    reports: list[dict] = field(default_factory=list)
    """Bodies with `assignment_id`, in the order in which they came, and what they were answered as `answer`."""
    lines: list[Line] = field(default_factory=list)
    silent: bool = False
    """Reports on sockets are applied, but not answered."""
    pictures: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Uploads: assignment, run and content."""
    jobs: list[dict] = field(default_factory=list)
    unfinished: int = 0
    agent_keys: set[str] = field(default_factory=lambda: {ANON_KEY})
    numbers: Any = field(default_factory=lambda: count(1))

    # Work

    def hand_out(self, serial: str, url: str = "https://youtu.be/simulated-0001", **row: Any) -> str:
        """A new assignment, which polls find at once; sockets are told with `push`."""
        assignment_id = f"assignment-{next(self.numbers)}"
        job = {"target_url": url, "title": "t", "duration_min_pct": 100, "duration_max_pct": 100}
        self.assignments[assignment_id] = {
            "id": assignment_id, "device_id": device_id(serial), "status": "pending", "run": 1, "retry_count": 0,
            "progress_pct": 0, "jobs": job, **row,
        }  # fmt: skip
        return assignment_id

    def roll_back(self, assignment_id: str) -> None:
        self.assignments[assignment_id]["run"] += 1
        self.assignments[assignment_id]["status"] = "pending"

    async def push(self, assignment_id: str) -> None:
        row = self.assignments[assignment_id]
        for line in self.lines:
            if row["device_id"] in line.devices and not line.socket.closed:
                await line.say(type="offer", assignment=row)

    def take(self, assignment_id: str, body: dict) -> tuple[int, str | None]:
        status, code = self._judge(assignment_id, body)
        self.reports.append({"assignment_id": assignment_id, **body, "answer": code or status})
        return status, code

    def _judge(self, assignment_id: str, body: dict) -> tuple[int, str | None]:
        row = self.assignments.get(assignment_id)
        if row is None:
            return 404, "NOT_FOUND"
        if body["run"] != row["run"]:
            return 409, "STALE_ATTEMPT"
        if assignment_id in self.ended:
            return 409, "CONFLICT"
        row["status"], row["progress_pct"] = body["status"], body.get("progress_pct", row["progress_pct"])
        if body["status"] != "running":
            self.ended[assignment_id] = body["status"]
        return 204, None

    # Back office

    async def readyz(self, request: web.Request) -> web.Response:
        self.ready_after -= 1
        return web.Response(status=200 if self.ready_after < 0 else 503)

    async def get_pcs(self, request: web.Request) -> web.Response:
        return web.json_response([{"id": pc} for pc in self._asked_for(request, "id") if pc in self.pcs])

    async def get_devices(self, request: web.Request) -> web.Response:
        assert request.query["select"] == "id,serial_number"
        known = [serial for serial in self._asked_for(request, "serial_number") if serial in self.devices]
        return web.json_response([{"id": device_id(serial), "serial_number": serial} for serial in known])

    def _asked_for(self, request: web.Request, column: str) -> list[str]:
        if (one := request.query[column]).startswith("eq."):
            assert request.headers["apikey"] in self.agent_keys
            return [one.removeprefix("eq.")]
        assert request.headers["apikey"] == SERVICE_KEY
        return request.query[column].removeprefix("in.(").removesuffix(")").split(",")

    async def post_pcs(self, request: web.Request) -> web.Response:
        if (refusal := self.refuse(request)) is not None:
            return refusal
        rows = await self._rows(request)
        self.pcs |= {row["id"] for row in rows}
        return web.Response(status=201)

    async def post_devices(self, request: web.Request) -> web.Response:
        if (refusal := self.refuse(request)) is not None:
            return refusal
        rows = await self._rows(request)
        taken = any(row["serial_number"] in self.devices for row in rows)
        for row in rows:
            self.devices.setdefault(row["serial_number"], row)
        return web.json_response({"code": "23505"}, status=409) if taken else web.Response(status=201)

    async def _rows(self, request: web.Request) -> list[dict]:
        assert request.headers["apikey"] == SERVICE_KEY
        assert request.headers["Authorization"] == f"Bearer {SERVICE_KEY}"
        rows = await request.json()
        self.posts.append((request.path, len(rows)))
        return rows

    async def post_jobs(self, request: web.Request) -> web.Response:
        if (refusal := self.refuse(request)) is not None:
            return refusal
        assert request.headers["apikey"] == SERVICE_KEY
        self.jobs.append(await request.json())
        self.unfinished += 1
        return web.Response(status=201)

    async def get_tasks(self, request: web.Request) -> web.Response:
        assert request.query["status"] == "in.(pending,running,retrying)"
        assert request.query["created_at"].startswith("gte.20") and request.query["created_at"].endswith("Z")
        return web.json_response([{"id": str(number)} for number in range(self.unfinished)])

    # Agents over HTTP

    async def patch_devices(self, request: web.Request) -> web.Response:
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        await self.delay()
        self.at_once -= 1
        assert request.headers["apikey"] in self.agent_keys
        if (refusal := self.refuse(request)) is not None:
            return refusal
        body = await request.json()
        assert body.keys() >= {"last_seen_at", "status"} and body["last_seen_at"].endswith("Z")
        assert body.keys() <= {"last_seen_at", "status", "screen_locked", "battery_pct"}
        serial = request.query["serial_number"].removeprefix("eq.")
        if serial not in self.devices:
            return web.Response(status=404)
        self.statuses.add(body["status"])
        self.conditions[serial] = body
        self.beats[serial] += 1
        return web.Response(status=204)

    async def get_assignments(self, request: web.Request) -> web.Response:
        assert request.headers["apikey"] in self.agent_keys
        device = request.query["device_id"].removeprefix("eq.")
        self.polls[device] += 1
        if (refusal := self.refuse(request)) is not None:
            return refusal
        assert request.query_string.startswith("select=*,jobs(*)&device_id=eq.")
        assert request.query_string.endswith("&status=eq.pending&order=assigned_at.asc&limit=1")
        rows = [row for row in self.assignments.values() if row["device_id"] == device and row["status"] == "pending"]
        return web.json_response(rows[:1], headers={"Drover-Poll-After": str(self.poll_after_s)})

    async def patch_assignments(self, request: web.Request) -> web.Response:
        assert request.headers["apikey"] in self.agent_keys
        if (refusal := self.refuse(request)) is not None:
            return refusal
        status, code = self.take(request.query["id"].removeprefix("eq."), await request.json())
        return web.Response(status=204) if code is None else web.json_response({"code": code}, status=status)

    async def post_evidence(self, request: web.Request) -> web.Response:
        assert request.headers["apikey"] in self.agent_keys
        if (refusal := self.refuse(request)) is not None:
            return refusal
        assignment_id, run = request.match_info["assignment_id"], request.query["run"]
        self.pictures.append((assignment_id, run, await request.read()))
        return web.json_response({"screenshot_ref": picture_of(assignment_id, run)}, status=201)

    # Agents over sockets

    async def connect(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["apikey"] in self.agent_keys
        if (refusal := self.refuse(request)) is not None:
            return refusal
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        hello = await socket.receive_json(timeout=10)
        assert hello["type"] == "hello" and len(hello) == 3
        rows = [
            row for row in self.devices.values()
            if hello.get("pc_id") == row["pc_id"] or hello.get("serial_number") == row["serial_number"]
        ]  # fmt: skip
        if not rows:
            await socket.close(code=4404)
            return socket
        line = Line(socket, hello, {device_id(row["serial_number"]) for row in rows})
        self.lines.append(line)
        await line.say(
            type="welcome",
            devices=[{"id": device_id(row["serial_number"]), "serial_number": row["serial_number"]} for row in rows],
            heartbeat_every_s=10,
            holding=[{**held, "verdict": self._verdict(held)} for held in hello["holding"]],
        )
        async for message in socket:
            assert message.type is WSMsgType.TEXT
            await self._hear(line, message.json())
        return socket

    def _verdict(self, held: dict) -> str:
        row = self.assignments.get(held["assignment_id"])
        goes_on = row is not None and held["assignment_id"] not in self.ended and row["run"] == held["run"]
        return "continue" if goes_on else "drop"

    async def _hear(self, line: Line, frame: dict) -> None:
        line.frames.append(frame)
        if frame["type"] == "heartbeat":
            assert device_id(frame["serial_number"]) in line.devices
            self.statuses.add(frame["status"])
            self.conditions[frame["serial_number"]] = frame
            self.beats[frame["serial_number"]] += 1
            return
        assert frame["type"] == "report"
        body = {key: value for key, value in frame.items() if key not in ("type", "ref", "assignment_id")}
        status, code = self.take(frame["assignment_id"], body)
        if self.silent:
            return
        if code is None:
            await line.say(type="done", ref=frame["ref"])
        else:
            await line.say(type="refused", ref=frame["ref"], status=status, code=code, message="no", details=None)

    async def drop_lines(self) -> None:
        """Every socket is cut, without a word."""
        for line in self.lines:
            if not line.socket.closed and line.socket._req is not None and line.socket._req.transport is not None:
                line.socket._req.transport.abort()

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[int]:
        app = web.Application()
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/rest/v1/pcs", self.get_pcs)
        app.router.add_post("/rest/v1/pcs", self.post_pcs)
        app.router.add_get("/rest/v1/devices", self.get_devices)
        app.router.add_post("/rest/v1/devices", self.post_devices)
        app.router.add_patch("/rest/v1/devices", self.patch_devices)
        app.router.add_get("/rest/v1/job_assignments", self.get_assignments)
        app.router.add_patch("/rest/v1/job_assignments", self.patch_assignments)
        app.router.add_post("/rest/v1/jobs", self.post_jobs)
        app.router.add_get("/rest/v1/tasks", self.get_tasks)
        app.router.add_post("/agent/v1/assignments/{assignment_id}/evidence", self.post_evidence)
        app.router.add_get("/agent/v1/connect", self.connect)
        async with serve(app, "127.0.0.1", port, grace_s=1) as taken:
            self.url = f"http://127.0.0.1:{taken}"
            yield taken


@pytest.fixture
async def clocks_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A farm at a speed of 50 would live through a fault and miss heartbeats in 200 ms that the machine is busy."""
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=loop.time, time=time.time))


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    platform = Platform()
    async with platform.serving():
        yield platform


@pytest.fixture
async def client(platform: Platform) -> AsyncIterator[Client]:
    async with connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        yield client
