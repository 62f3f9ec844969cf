"""The system's chromium under measurement: long tasks from its trace, and the heap after a collection."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from playwright.async_api import CDPSession, Page

from tests.browser.chromium import SIZE, chromium

CATEGORIES = ("devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel", "v8", "__metadata")
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")
LONG_MS = 100.0
NOTABLE_MS = 50.0
READ_BYTES = 1 << 20
EXPLAINED = 3
"""Of the longest tasks, what took their time."""


class Task(NamedTuple):
    ms: float
    cpu_ms: float
    at_s: float
    """From the begin of the trace."""
    what: str

    def __str__(self) -> str:
        return f"{self.ms:.0f} ms (cpu {self.cpu_ms:.0f}) at {self.at_s:.1f} s: {self.what}"


class Trace(NamedTuple):
    tasks: list[Task]
    """Of the page's main thread, longest first."""
    frames: int
    seconds: float

    @property
    def longest_ms(self) -> float:
        return self.tasks[0].ms if self.tasks else 0.0

    def said(self) -> str:
        over = [sum(task.ms > bound for task in self.tasks) for bound in (NOTABLE_MS, LONG_MS)]
        busy = sum(task.ms for task in self.tasks) / self.seconds / 10
        longest = "; ".join(
            f"{t.ms:.0f} ms (cpu {t.cpu_ms:.0f}) at {t.at_s:.1f} s: {t.what}" for t in self.tasks[:EXPLAINED]
        )
        cpu_ms = max((task.cpu_ms for task in self.tasks), default=0.0)
        return (
            f"{self.seconds:.0f} s, main thread busy {busy:.0f} %, {self.frames / self.seconds:.0f} frames/s, "
            f"{over[0]} tasks over {NOTABLE_MS:.0f} ms, {over[1]} over {LONG_MS:.0f} ms, none with more than "
            f"{cpu_ms:.0f} ms of CPU; longest: {longest}"
        )


@asynccontextmanager
async def browsing() -> AsyncIterator[tuple[Page, CDPSession]]:
    async with chromium() as browser:
        page = await browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        yield page, await page.context.new_cdp_session(page)


@asynccontextmanager
async def tracing(cdp: CDPSession) -> AsyncIterator[list[Trace]]:
    """The list has the trace in it when the block is over: it is fetched then, so that it disturbs nobody."""
    found: list[Trace] = []
    config = {"recordMode": "recordAsMuchAsPossible", "includedCategories": list(CATEGORIES)}
    await cdp.send("Tracing.start", {"transferMode": "ReturnAsStream", "traceConfig": config})
    yield found
    complete = _once(cdp, "Tracing.tracingComplete")
    await cdp.send("Tracing.end")
    stream = (await complete)["stream"]
    pieces = []
    while True:
        piece = await cdp.send("IO.read", {"handle": stream, "size": READ_BYTES})
        pieces.append(piece["data"])
        if piece["eof"]:
            break
    await cdp.send("IO.close", {"handle": stream})
    found.append(read_trace(msgspec.json.decode("".join(pieces))["traceEvents"]))


def _once(cdp: CDPSession, name: str) -> asyncio.Future[Any]:
    future = asyncio.get_running_loop().create_future()
    cdp.once(name, lambda event: future.done() or future.set_result(event))
    return future


def read_trace(events: list[dict[str, Any]]) -> Trace:
    """Tasks of the renderer's main thread, each with what took most of it."""
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    own = [event for event in events if (event["pid"], event["tid"]) in main and event.get("ph") == "X"]
    times = [event["ts"] for event in events if event.get("ts")]
    begin = min(times)
    named = TASKS[0] if any(event["name"] == TASKS[0] for event in own) else TASKS[1]
    tasks = sorted((event for event in own if event["name"] == named), key=lambda event: -event.get("dur", 0))
    frames = sum(event["name"] == "Commit" for event in own)
    read = [
        Task(
            event.get("dur", 0) / 1000,
            event.get("tdur", 0) / 1000,
            (event["ts"] - begin) / 1e6,
            _within(own, event) if number < EXPLAINED else "",
        )
        for number, event in enumerate(tasks)
    ]
    return Trace(read, frames, (max(times) - begin) / 1e6)


def _within(events: list[dict[str, Any]], task: dict[str, Any]) -> str:
    spent: Counter[str] = Counter()
    for event in events:
        inside = task["ts"] <= event["ts"] and event["ts"] + event.get("dur", 0) <= task["ts"] + task.get("dur", 0)
        if inside and event is not task and event["pid"] == task["pid"] and event["name"] not in TASKS:
            spent[event["name"]] += event.get("dur", 0)
    return ", ".join(f"{name} {took / 1000:.0f}" for name, took in spent.most_common(4))


async def heap_mb(cdp: CDPSession) -> float:
    """What is alive in the page, after a collection."""
    await cdp.send("HeapProfiler.collectGarbage")
    usage = await cdp.send("Runtime.getHeapUsage")
    return usage["usedSize"] / 1e6
