"""Realtime while 500 simulated phones work: the real supabase-js hears four tables, on 1,021 sockets.

One client with filters on every table, 20 without filters, which hear every change, and 1,000 that each hear one phone.
The delay of a callback counts from the time of the event in the row, which is a little before its commit. The memory of
a socket is compared with that of a bare WebSocket of aiohttp.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import psutil
import uvloop
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from drover.service import logging
from drover.service.api_keys import Role
from drover.service.process import tune_garbage_collection
from drover.service.tasks import in_background
from drover.testing.waiting import eventually
from drover.web.serve import serve
from tests.bench.report import Figure, at_least, at_most
from tests.e2e.apart import SEALING_KEY, SECRET
from tests.e2e.client import Http
from tests.e2e.process import DroverProcess
from tests.e2e.realtime_js import CLIENT
from tests.e2e.realtime_many import Clients, Told, clients_on, socket
from tests.node_packages import node_with
from tests.soak.farm import SoakFarm, soak_farm
from tests.soak.usage import Usage
from tests.soak.work import keep_jobs_waiting, register_pcs

PCS, PHONES_PER_PC = 25, 20
PHONES = PCS * PHONES_PER_PC
CAPACITY = 10
"""Half of a PC's phones at once: each end is followed by another phone's beginning, so work never stops."""
SPEED = 4
"""Phones work so much faster than real ones, and the farm makes as many more events."""
UNFILTERED = 20
FILTERED = 1_000
ONLINE_S = 120.0
WARM_UP_S = 15.0
MEASURED_S = 30.0
OFFICE_EVERY_S = 0.2
CALLBACK_MS = 150.0
ROWS_PER_S_MAX = 1.0
"""Of one phone."""
TABLES = ("devices", "job_assignments", "render_queue", "alarm")
FILTERS = (
    {"table": "devices", "filter": "status=neq.offline"},
    {"table": "job_assignments", "filter": "progress_pct=gte.0"},
    {"table": "render_queue", "filter": "composition_id=eq.bench"},
    {"table": "alarm", "filter": "user_id=like.bench%"},
)


async def figures() -> list[Figure]:
    if shutil.which("node") is None:
        _say("left out: it needs Node.js")
        return []
    logging.configure("console", "warning")
    node, usage = node_with(CLIENT), Usage()
    bare_bytes = await _bare_socket_bytes()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        farm = await enter(soak_farm(Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-"))), usage))
        farm.environ |= {"DROVER_SEALING_KEYS": SEALING_KEY, "DROVER_IDENTITY_SECRETS": SECRET}
        await farm.serve("projector", name="projector", kind="projector")
        edge = await farm.serve("scheduler", "gateway", "render", "reminder", name="edge", kind="edge and writers")
        api = await farm.serve("api", name="api", kind="api")
        http = await enter(farm.calling(edge))
        devices = await _working(farm, edge, http)
        await enter(in_background(keep_jobs_waiting(http), name="jobs"))
        await enter(in_background(_office(http), name="office"))
        watchers, phones = await enter(clients_on(node, api.url)), await enter(clients_on(node, api.url))
        usage.watch("clients without filters", watchers.process.pid)
        usage.watch("clients of one phone", phones.process.pid)

        key = farm.keys[Role.SERVICE_ROLE]
        await watchers.open("filters", [socket(key, *FILTERS)])
        await watchers.open("all", [socket(key, *({"table": table} for table in TABLES))] * UNFILTERED)
        socket_bytes = await _opened(api, phones, key, devices)
        await asyncio.sleep(WARM_UP_S)
        return await _measured(farm, api, watchers, phones) + [
            at_most("realtime.socket_memory", socket_bytes / 1024, bare_bytes / 1024, 3.0, "KiB"),
        ]


async def _working(farm: SoakFarm, edge: Any, http: Http) -> list[str]:
    """Start the phones; their ids, once all are online."""
    await register_pcs(http, PCS, CAPACITY)
    options = ["--pcs", str(PCS), "--phones", str(PHONES_PER_PC), "--script", "steady", "--speed", str(SPEED)]
    farm.start_simulator(edge.url, *options, "--jobs", "0", "--transport", "mixed", "--http-every", "5")

    async def are_online() -> bool:
        return len(await http.rows("devices", "status=in.(online,busy)&select=id")) >= PHONES

    await eventually(are_online, ONLINE_S, every_s=1.0)
    _say(f"{PHONES} phones online")
    return [row["id"] for row in await http.rows("devices", "select=id&order=id")]


async def _office(http: Http) -> None:
    """What people do meanwhile: request renders and cancel them, register pages, change and delete them."""
    number = 0
    while True:
        number += 1
        render = {"composition_id": "bench", "composition_name": "bench", "gfx_data": {}}
        made = await _write(http, "POST", "/rest/v1/render_queue", render)
        await _write(http, "PATCH", f"/rest/v1/render_queue?id=eq.{made[0]['id']}", {"status": "cancelled"})
        page = {"page_id": f"page-{number}", "user_id": f"bench-{number % 10}", "title": "A page"}
        await _write(http, "POST", "/api/reminder/register-by-page", page)
        await _write(http, "POST", "/api/reminder/register-by-page", page | {"title": "Another title"})
        gone = {"page_ids": [page["page_id"]], "user_id": page["user_id"]}
        await _write(http, "POST", "/api/reminder/pages-deleted", gone)
        await asyncio.sleep(OFFICE_EVERY_S)


async def _write(http: Http, method: str, path: str, row: dict[str, Any]) -> Any:
    answer = await http.call(method, path, json=row, headers={"Prefer": "return=representation"})
    assert answer.status < 300, answer
    return answer.json if answer.raw else None


async def _opened(api: DroverProcess, phones: Clients, key: str, devices: list[str]) -> float:
    """Open the sockets that hear one phone each; the memory of one, in bytes."""
    before = api.rss_bytes
    wanted = [
        socket(key, {"table": "job_assignments", "filter": f"device_id=eq.{devices[number % len(devices)]}"})
        for number in range(FILTERED)
    ]
    started = time.perf_counter()
    await phones.open("phones", wanted)
    _say(f"{FILTERED} sockets joined in {time.perf_counter() - started:.1f} s")
    found = (api.rss_bytes - before) / FILTERED
    _say(f"api: {before / 1e6:.0f} MB before them, {api.rss_bytes / 1e6:.0f} MB with them")
    return found


async def _measured(farm: SoakFarm, api: Any, watchers: Clients, phones: Clients) -> list[Figure]:
    process = psutil.Process(api.pid)
    async with farm.calling(api) as office:
        sent_before, cpu_before, began = await _frames_sent(office), _cpu_s(process), time.perf_counter()
        await watchers.begin()
        await phones.begin()
        used = Cores(farm.usage)
        await asyncio.sleep(MEASURED_S)
        _say(used.said())
        filtered, full, single = await watchers.tell("filters"), await watchers.tell("all"), await phones.tell("phones")
        seconds = time.perf_counter() - began
        frames, cpu_s = await _frames_sent(office) - sent_before, _cpu_s(process) - cpu_before
    groups = {"with_filters": filtered, "unfiltered": full, "one_phone": single}
    for name, told in groups.items():
        _say(f"{name}: {_said(told, seconds)}")
        assert set(told.states) == {"SUBSCRIBED"}, (told.states, told.errors)
    heard = {table: [kind for kind in filtered.heard if kind.startswith(f"{table} ")] for table in TABLES}
    assert all(heard.values()), heard
    assert "alarm DELETE" in filtered.heard, "only reminders are ever deleted"
    _say(f"unfiltered: from {min(full.rows)} to {max(full.rows)} rows each; what is on its way is not counted")
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    _say(f"api: {frames / seconds:.0f} frames/s, {cpu_s / seconds:.2f} cores, {process.memory_info().rss / 1e6:.0f} MB")
    _say(f"load {loads}; {cpu_s / frames * 1e6:.1f} us of the api's time a frame, all that it does included")
    return [
        *(
            at_most(f"realtime.callback_{name}_p95", _p(told.delays, 95), CALLBACK_MS, 1.0, "ms")
            for name, told in groups.items()
        ),
        at_least("realtime.rows_unfiltered", max(full.rows) / seconds, 1.0, 50.0, "rows/s"),
        at_most("realtime.rows_one_phone", max(single.rows) / seconds, ROWS_PER_S_MAX, 1.0, "rows/s"),
    ]


class Cores:
    """Who keeps the machine busy: a callback that waits for a core is late, whoever has it."""

    def __init__(self, usage: Usage) -> None:
        self._usage, self._began, self._before = usage, time.perf_counter(), self._cpu_s(usage)

    def said(self) -> str:
        seconds, now = time.perf_counter() - self._began, self._cpu_s(self._usage)
        used = {name: (now[name] - self._before.get(name, 0.0)) / seconds for name in now}
        return "cores: " + ", ".join(f"{name} {cores:.2f}" for name, cores in used.items())

    def _cpu_s(self, usage: Usage) -> dict[str, float]:
        for name in usage._seen:
            usage._sample(name)
        return {name: sum(usage.cpu_s.get(name, {}).values()) for name in usage._seen}


def _said(told: Told, seconds: float) -> str:
    quantiles = ", ".join(f"p{q} {_p(told.delays, q):.0f}" for q in (50, 95, 99))
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(told.heard.items()))
    after = _p(told.since_written, 95)
    sockets = f"{sum(told.rows) / seconds:.0f} rows/s over {len(told.rows)} sockets"
    return f"{sockets}; {quantiles} ms, p95 since it was written {after:.0f} ms; {kinds}"


async def _frames_sent(office: Http) -> float:
    text = (await office.get("/metrics")).raw.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return sum(sample.value for sample in families["drover_realtime_changes"].samples if sample.name.endswith("_total"))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _p(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


# A bare WebSocket


async def _bare_socket_bytes() -> float:
    """The memory of a WebSocket of aiohttp that reads and does nothing else."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_bare_process, args=(there,))
    process.start()
    loop = asyncio.get_running_loop()
    try:
        port = await loop.run_in_executor(None, here.recv)
        server = psutil.Process(process.pid)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session, AsyncExitStack() as stack:
            await stack.enter_async_context(_echoed(session, port))  # what is loaded once, at the first one
            before = server.memory_info().rss
            for _ in range(FILTERED):
                await stack.enter_async_context(_echoed(session, port))
            return (server.memory_info().rss - before) / FILTERED
    finally:
        here.send(None)
        await loop.run_in_executor(None, process.join, 10)


@asynccontextmanager
async def _echoed(session: aiohttp.ClientSession, port: int) -> AsyncIterator[None]:
    async with session.ws_connect(f"http://127.0.0.1:{port}/") as ws:
        await ws.send_str("x" * 300)
        await ws.receive_str()
        yield


def _bare_process(pipe: Any) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(compress=False)
        await ws.prepare(request)
        async for message in ws:
            await ws.send_str(message.data)
        return ws

    async def main() -> None:
        tune_garbage_collection()
        app = web.Application()
        app.router.add_get("/", echo)
        async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
            pipe.send(port)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    uvloop.run(main())


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
