"""Scenarios of the render queue: renders as far as a test wants them to be, and what workers say. No expectations."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from drover.domain.decider import Command
from drover.domain.event import Event
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.policy import Fault
from drover.domain.render.requests import uid_of
from drover.domain.render.state import Render, RenderQueue
from drover.testing.scenario import NOON, Scenario, given

W1, W2, W3 = "worker-1", "worker-2", "worker-3"
CHIPS, CLOCK = "comp_chips", "comp_clock"
SEALED = '{"v":1,"kid":"k1","ct":"c2VhbGVk"}'
PATH = "/nas/broadcast/output/2026-03-02/_MAIN Mini Chip Count_1.mp4"
SHA = "ab" * 32
LEASE = TIMEOUT = timedelta(minutes=30)
DAY = date(2026, 3, 2)


def at(**passed: float) -> datetime:
    """So long after the beginning of the scenario."""
    return NOON + timedelta(**passed)


def uid(render_id: int = 1, generation: int = 1, since: datetime = NOON) -> str:
    return uid_of(render_id, generation, since)


# Renders


def request(composition_id: str = CHIPS, **fields: Any) -> c.RequestRender:
    return c.RequestRender(composition_id, **({"gfx_id": "gfx-1", "gfx_data": SEALED} | fields))


def requested(render_id: int = 1, composition_id: str = CHIPS) -> e.RenderRequested:
    name = "_MAIN Mini Chip Count"
    return e.RenderRequested(
        render_id=render_id,
        composition_id=composition_id,
        composition=name,
        gfx_id=f"gfx-{render_id}",
        gfx_data=SEALED,
        cue_item_id=f"cue-{render_id}",
        broadcast_date=DAY,
        uid=uid(render_id),
    )


class Hand:
    """A render in the hands of a worker: the events of one run, and what the worker says of it."""

    def __init__(self, render_id: int = 1, run: int = 1, worker: str = W1, *, uid_now: str | None = None) -> None:
        self.render_id, self.run, self.worker = render_id, run, worker
        self.of = (render_id, run, worker)
        self.uid = uid_now or uid(render_id)

    # Events

    def claimed(self, *, since: datetime = NOON, resumed: bool = False) -> e.RenderClaimed:
        return e.RenderClaimed(*self.of, since + LEASE, resumed)

    def submitted(self, *, since: datetime = NOON, found: bool = False) -> e.RenderSubmitted:
        return e.RenderSubmitted(*self.of, self.uid, "nx-1", found, since + TIMEOUT)

    def retry(self, fault: str, number: int, due_at: datetime, message: str = "oh") -> e.RetryScheduled:
        return e.RetryScheduled(*self.of, fault, number, due_at, message)

    def stale(self, report: type[Command], current: int, status: str) -> e.StaleRunRefused:
        return e.StaleRunRefused(self.render_id, self.run, self.worker, report.__name__, current, status)

    def was_completed(self, seconds: float = 0.0) -> e.RenderCompleted:
        return e.RenderCompleted(
            *self.of,
            output_file_path=PATH,
            size_bytes=200_000,
            sha256=SHA,
            duration_seconds=seconds,
            codec="h264",
            width=1920,
            height=1080,
        )

    # Histories, from the claim on

    def preparing(self) -> list[Event]:
        return [self.claimed()]

    def rendering(self) -> list[Event]:
        return [*self.preparing(), self.submitted()]

    def encoding(self) -> list[Event]:
        return [*self.rendering(), e.EncodingStarted(*self.of, 90)]

    def uploading(self) -> list[Event]:
        return [*self.encoding(), e.UploadStarted(*self.of)]

    def completed(self) -> list[Event]:
        return [*self.uploading(), self.was_completed()]

    # What the worker says

    def renews(self) -> c.RenewLease:
        return c.RenewLease(*self.of)

    def hands_back(self) -> c.HandBack:
        return c.HandBack(*self.of)

    def submits(self, job: str = "nx-1", *, found: bool = False) -> c.ReportSubmitted:
        return c.ReportSubmitted(*self.of, job, found)

    def progresses(self, progress: int, stage: Any = "rendering") -> c.ReportProgress:
        return c.ReportProgress(*self.of, progress, stage)

    def has_rendered(self) -> c.ReportRendered:
        return c.ReportRendered(*self.of)

    def misses(self, *fields: str) -> c.ReportUnmapped:
        return c.ReportUnmapped(*self.of, list(fields))

    def fails(self, fault: str, message: str = "oh") -> c.ReportFault:
        return c.ReportFault(*self.of, Fault(fault), message)

    def completes(self, **fields: Any) -> c.ReportCompleted:
        given_by = {"output_file_path": PATH, "size_bytes": 200_000, "sha256": SHA, "codec": "h264"}
        return c.ReportCompleted(*self.of, **(given_by | {"width": 1920, "height": 1080} | fields))

    def says(self) -> list[Command]:
        """One report of each kind, well formed."""
        return [
            self.renews(),
            self.hands_back(),
            self.submits(),
            self.progresses(50),
            self.has_rendered(),
            self.misses("Slot 1 - name"),
            self.fails("NAS_AWAY"),
            self.completes(),
        ]


HAND = Hand()

WORKING_STATES: dict[str, list[Event]] = {
    "preparing": [requested(), *HAND.preparing()],
    "rendering": [requested(), *HAND.rendering()],
    "encoding": [requested(), *HAND.encoding()],
    "uploading": [requested(), *HAND.uploading()],
}
ENDED_STATES: dict[str, list[Event]] = {
    "completed": [requested(), *HAND.completed()],
    "failed": [requested(), *HAND.rendering(), e.RenderFailed(1, 1, "RENDER_ERROR", "oh", uid())],
    "cancelled": [requested(), *HAND.rendering(), e.RenderCancelled(1, 1, "", uid())],
}


def queue(*events: Event) -> Scenario:
    return given(RENDER, *events)


TRIES_MAX = 12
"""More than any fault has."""


def fail_for_good(scenario: Scenario, fault: str, render_id: int = 1) -> Scenario:
    """The first worker has it, and meets this fault as often as it takes."""
    for _ in range(TRIES_MAX):
        if W1 not in queue_of(scenario).held:
            scenario.when(c.Claim(W1))
        scenario.when(hand_of(scenario).fails(fault))
        if render_of(scenario, render_id).status == "failed":
            return scenario
    raise AssertionError(f"{TRIES_MAX} times {fault}, and it has not failed")


# Looking at what has become of it


def queue_of(scenario: Scenario) -> RenderQueue:
    state: RenderQueue = scenario.state
    return state


def render_of(scenario: Scenario, render_id: int = 1) -> Render:
    return queue_of(scenario).renders[render_id]


def told(scenario: Scenario, kind: type[Event]) -> list[Any]:
    """Events of this type in the latest decision."""
    return [event for event in scenario.decision.events if type(event) is kind]


def answered(scenario: Scenario) -> Any:
    """What the caller of the latest command is told."""
    events = scenario.decision.events
    return RENDER.answer(events) if events else scenario.decision.result


def frozen(scenario: Scenario) -> bytes:
    """The whole state, to be compared with what becomes of it."""
    return msgspec.msgpack.encode(scenario.state)


def hand_of(scenario: Scenario, worker: str = W1) -> Hand:
    """What this worker has in its hands now."""
    render = render_of(scenario, queue_of(scenario).held[worker])
    return Hand(render.render_id, render.run, worker, uid_now=render.uid)
