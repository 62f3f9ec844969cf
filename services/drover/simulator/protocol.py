"""The words between an agent and the platform (docs/agents.md), whatever carries them. When to say them is not here.

Times are seconds of the farm's clock; they become dates where a word leaves the house.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from drover.domain.errors import Code


class Job(msgspec.Struct, frozen=True):
    """What is to be done. Fields that no agent needs are left out."""

    target_url: str
    duration_min_pct: int = 30
    duration_max_pct: int = 90
    prob_like: int = 50
    prob_comment: int = 30
    prob_playlist: int = 10


class Offer(msgspec.Struct, frozen=True):
    """A row of job_assignments with its job: work, handed out as run number `run`."""

    id: str
    device_id: str
    run: int
    job: Job = msgspec.field(name="jobs")
    retry_count: int = 0
    """Attempts that have failed before."""
    job_id: str = ""


class Heartbeat(NamedTuple):
    """The phone is there."""

    status: Literal["online", "busy"]


class Poll(NamedTuple):
    """Is there work?"""


class Report(msgspec.Struct, frozen=True):
    """What became of a run so far. What is None is not said."""

    assignment_id: str
    run: int
    status: Literal["running", "completed", "failed"]
    progress_pct: int | None = None
    started_at: float | None = None
    ad_playing: bool | None = None
    popup_closed: bool | None = None
    completed_at: float | None = None
    actual_duration_sec: int | None = None
    did_like: bool | None = None
    did_comment: bool | None = None
    did_playlist: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    screenshot_ref: str | None = None
    activity_stack: str | None = None

    @property
    def is_final(self) -> bool:
        return self.status != "running"


Action = Heartbeat | Poll | Report
"""All that an agent can want to say."""

_ADDRESS: Final = ("assignment_id",)
_TIMES: Final = frozenset({"started_at", "completed_at"})
_SAID: Final = tuple(field for field in Report.__struct_fields__ if field not in _ADDRESS)


def body_of(report: Report, wall: Callable[[float], datetime]) -> dict[str, Any]:
    """The fields of a report as they travel."""
    said = ((field, getattr(report, field)) for field in _SAID)
    return {field: wall(value) if field in _TIMES else value for field, value in said if value is not None}


class Answer(NamedTuple):
    """What became of one action."""

    status: int | None
    """As over HTTP. None: no answer."""
    retry_after_s: float | None = None
    code: str | None = None
    """Of a refusal."""
    poll_after_s: float | None = None
    """How long the platform wants us to wait before the next poll."""
    offer: Offer | None = None
    """What a poll found."""
    connected: bool = True
    """False: nobody was reached at all."""

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def stale(self) -> bool:
        """The run is over; another one may come."""
        return self.status == 409 and self.code == Code.STALE_ATTEMPT

    @property
    def refused(self) -> bool:
        """Saying the same again would not help. A key that is not taken may be mended; the others are not that."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in (401, 403, 408, 425, 429)


NO_CONNECTION: Final = Answer(None, connected=False)
NO_ANSWER: Final = Answer(None)
"""Somebody is there, but said nothing in time. Whether it was heard is not known."""
DONE: Final = Answer(204)
