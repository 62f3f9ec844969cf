"""The messages between an agent and the platform (docs/agents.md), the same for HTTP and sockets.

Times are seconds of the agent's clock. They become dates when a message is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from drover.domain.errors import Code


class Job(msgspec.Struct, frozen=True):
    """A job, without the fields that agents do not need."""

    target_url: str
    title: str | None = None
    script_type: str = "youtube_watch"
    duration_min_pct: int = 30
    duration_max_pct: int = 90
    prob_like: int = 50
    prob_comment: int = 30
    prob_playlist: int = 10


class Offer(msgspec.Struct, frozen=True):
    """An offer of work: a row of `job_assignments` with its job, for the run with number `run`."""

    id: str
    device_id: str
    run: int
    job: Job = msgspec.field(name="jobs")
    retry_count: int = 0
    """How many earlier attempts of the assignment failed."""
    job_id: str = ""


class Holding(NamedTuple):
    """The run that an agent reports as its own in the first frame of a new socket."""

    assignment_id: str
    run: int
    progress_pct: int


class Heartbeat(NamedTuple):
    """A sign of life of the phone."""

    status: Literal["online", "busy"]
    screen_locked: bool | None = None
    battery_pct: int | None = None

    def body(self, seen_at: datetime) -> dict[str, Any]:
        """Return the fields as they are sent. Those that are None are left out."""
        said = {"status": self.status, "screen_locked": self.screen_locked, "battery_pct": self.battery_pct}
        return {"last_seen_at": seen_at} | {name: value for name, value in said.items() if value is not None}


class Poll(NamedTuple):
    """A request for work."""


class Report(msgspec.Struct, frozen=True):
    """A report about a run. Fields that are None are not sent."""

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
"""Everything that an agent can send."""

_ADDRESS: Final = ("assignment_id",)
_TIMES: Final = frozenset({"started_at", "completed_at"})
_SAID: Final = tuple(field for field in Report.__struct_fields__ if field not in _ADDRESS)


def body_of(report: Report, wall: Callable[[float], datetime]) -> dict[str, Any]:
    """Return the fields of a report as they are sent."""
    said = ((field, getattr(report, field)) for field in _SAID)
    return {field: wall(value) if field in _TIMES else value for field, value in said if value is not None}


class Answer(NamedTuple):
    """The outcome of one action."""

    status: int | None
    """The HTTP status, or its equivalent on a socket. None: there was no answer."""
    retry_after_s: float | None = None
    code: str | None = None
    """The error code of a refusal."""
    poll_after_s: float | None = None
    """How many seconds the platform asks the agent to wait before its next poll."""
    offer: Offer | None = None
    """The offer in the answer to a poll."""
    connected: bool = True
    """Whether the platform could be reached."""

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def stale(self) -> bool:
        """Whether the platform says that the run is over. Another run may follow."""
        return self.status == 409 and self.code == Code.STALE_ATTEMPT

    @property
    def refused(self) -> bool:
        """Whether the platform refused the action and a retry would not help. False for rejected keys (an operator may
        fix them), time-outs and rate limits."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in (401, 403, 408, 425, 429)


NO_CONNECTION: Final = Answer(None, connected=False)
NO_ANSWER: Final = Answer(None)
"""The answer that stands for a time-out: the platform is reachable, but whether it got the request is unknown."""
DONE: Final = Answer(204)

MOVED: Final = "the platform has another address. Start the agent with that one, mostly the same with https"
ADVICE: Final = {
    **dict.fromkeys((301, 302, 303, 307, 308), MOVED),
    401: "its key was revoked or has expired. Make a code for its PC with `drover key enrol`, and start with that code",
    403: "its key may not do this. A phone's key speaks for that phone only",
    404: "the platform does not know this phone. Register it, or enrol it with a code of its PC",
}
"""What to do about a refusal, by HTTP status."""
