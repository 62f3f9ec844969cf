"""What a state holds after much ended work and after ten times as much, with the windows as they are: bytes of its
image, and memory of a process that has only this state."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as a
from drover.domain.decider import Decider, Tick
from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as f
from drover.domain.identity import IDENTITY
from drover.domain.identity import commands as i
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as m
from drover.domain.render import RENDER
from drover.domain.render import commands as r
from tests.bench.report import Figure, at_most

BOUND = 1.3
PHONES = 50
DIGEST = "0" * 64


def uuid(kind: int, number: int) -> str:
    return f"{kind:08d}-0000-4000-8000-{number:012d}"


class State:
    """A state without a log: only decisions and their folding, and the clock's ticks."""

    def __init__(self, decider: Decider[Any]) -> None:
        self.decider = decider
        self.now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
        self.state = decider.initial()

    def do(self, command: Any) -> None:
        decision = self.decider.decide(self.state, command, self.now)
        assert decision.rejection is None or decision.events, decision.rejection
        while True:
            for event in decision.events:
                event.at = self.now
                self.state = self.decider.evolve(self.state, event)
            if decision.then is None:
                return
            decision = decision.then(self.state, self.now)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        while (due := self.decider.next_deadline(self.state)) is not None and due <= self.now:
            self.do(Tick())


def fleet(count: int) -> State:
    """Jobs on fifty phones."""
    state = State(FLEET)
    for number in range(PHONES):
        state.do(f.RegisterDevice(uuid(1, number), f"SERIAL{number:04d}", "P1-G1", f"pc{number // 10}"))
        state.do(f.MarkOnline(uuid(1, number)))
    for number in range(count // PHONES):
        state.do(f.CreateJob(job_id=uuid(2, number), target_url="https://youtu.be/x"))
        state.wait(1)
        for assignment in list(state.state.assignments.values()):
            state.do(f.SendAttempt(assignment.assignment_id, 1))
            state.do(f.ReportRunning(assignment.assignment_id, 1))
            state.do(f.ReportCompleted(assignment.assignment_id, 1, progress_pct=100, actual_duration_sec=9))
        state.wait(30)
    return state


def render(count: int) -> State:
    state = State(RENDER)
    for number in range(1, count + 1):
        state.do(r.RequestRender("comp", gfx_id="g", gfx_data="x" * 1000))
        state.do(r.ClaimRender(number, "worker"))
        how = {"status": "failed", "message": "no"} if number % 10 == 0 else {"status": "completed"}
        state.do(r.ReportWork(number, **how))
        state.wait(5)
    return state


def analysis(count: int) -> State:
    state = State(ANALYSIS)
    state.do(a.RegisterUser("user", 1_000_000))
    for number in range(count):
        state.do(a.StartTest(uuid(3, number), "user"))
        state.do(a.CompleteTest(uuid(3, number)))
        state.wait(0.1)
    return state


def reminder(count: int) -> State:
    state = State(REMINDER)
    for number in range(count):
        state.do(m.RegisterByPage(f"page-{number}", "user_1", "title", "body"))
        state.do(m.DeletePages((f"page-{number}",), "user_1"))
        state.wait(0.05)
    return state


def identity(count: int) -> State:
    state = State(IDENTITY)
    state.do(i.CreateAccount(uuid(4, 1), DIGEST, "sealed", "admin", "sealed"))
    for number in range(count):
        session = uuid(5, number)
        state.do(
            i.StartSession(
                session_id=session,
                account_id=uuid(4, 1),
                revision=1,
                digest=DIGEST,
                user_agent="x",
                idle_s=3600,
                lifetime_s=3600,
            )
        )
        state.do(i.EndSession(session))
        state.wait(1)
    return state


WORK: dict[str, tuple[Callable[[int], State], int]] = {
    "assignments": (fleet, 60_000),
    "renders": (render, 6_000),
    "tests": (analysis, 65_000),
    "deleted pages": (reminder, 130_000),
    "ended sessions": (identity, 10_000),
}


def _rss() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def _measure(name: str, count: int) -> tuple[int, int]:
    work, _ = WORK[name]
    done = work(count)
    gc.collect()
    memory = _rss()
    return len(msgspec.msgpack.encode(done.decider.to_image(done.state))), memory


def measured() -> Iterator[Figure]:
    spawn = multiprocessing.get_context("spawn")
    for name, (_, count) in WORK.items():
        with spawn.Pool(1, maxtasksperchild=1) as pool:
            once = pool.apply(_measure, (name, count))
            often = pool.apply(_measure, (name, 10 * count))
        for what, low, high in zip(("image", "memory"), once, often, strict=True):
            label = f"{what} after {10 * count:,} {name}, after {count:,}"
            yield at_most(label, high / 1e6, low / 1e6, BOUND, "MB")


async def figures() -> list[Figure]:
    return list(measured())
