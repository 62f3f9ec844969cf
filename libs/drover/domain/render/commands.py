"""Commands about renders, from people, workers and the clock."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final, Literal

from drover.domain.alert_handling import AlertCommand
from drover.domain.decider import Command, Tick
from drover.domain.render.fence import RowFence
from drover.domain.render.mapping_spec import CompositionChange, FieldChange, Layer
from drover.domain.render.policy import Fault

MESSAGE_CHARS_MAX: Final = 2000
IDS_PER_QUESTION_MAX: Final = 200


class RequestRender(Command):
    composition_id: str
    gfx_id: str
    gfx_data: str
    """The data to render, sealed (encrypted) by the HTTP service that received it."""
    composition: str = ""
    """Name of the composition. Empty: the name in the composition's description, else the id."""
    cue_item_id: str | int | None = None
    broadcast_date: date | None = None
    """The date in the file's folder. None: today in Seoul."""


class CancelRender(Command):
    render_id: int
    reason: str = ""
    only_if: RowFence | None = None


class ReleaseRender(Command):
    """Take the render from a worker that is stuck, at the request of an operator."""

    render_id: int
    only_if: RowFence | None = None


class RerunRender(Command):
    """Run a failed or cancelled render again, from the start."""

    render_id: int
    only_if: RowFence | None = None


class EraseRender(Command):
    """Erase the gfx_data of a render that has ended. Afterwards nobody can read it."""

    render_id: int
    gfx_id: str
    """The id that its gfx_data was sealed with. The state forgets renders that ended long ago, so the caller looks it
    up."""


class Claim(Command):
    """Claim the oldest pending render for a worker that has none."""

    worker_id: str


class ClaimRender(Command):
    """Claim this render for an external worker: a program of the users that writes to the table `render_queue`."""

    render_id: int
    worker_id: str | None = None
    """None: the worker that holds the render starts it again."""
    lease_until: datetime | None = None
    only_if: RowFence | None = None


class ReportWork(Command):
    """A report of an external worker about a render that it holds. One report may have several changes."""

    render_id: int
    status: Literal["rendering", "encoding", "uploading", "completed", "failed"] | None = None
    worker_id: str | None = None
    """The worker that reports. None: the worker that holds the render."""
    progress: int | None = None
    nexrender_job_id: str | None = None
    lease_until: datetime | None = None
    output_file_path: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    message: str | None = None
    """Why the render failed."""
    only_if: RowFence | None = None


class Report(Command):
    """The fields that all reports of workers about their run share."""

    render_id: int
    run: int
    worker_id: str


class RenewLease(Report):
    """Extend the lease of a worker that is alive and works on the render."""


class HandBack(Report):
    """Give a render back, because its worker shuts down cleanly."""


class ReportSubmitted(Report):
    nexrender_job_id: str
    found: bool = False


class ReportProgress(Report):
    can_wait = True

    progress: int
    stage: Literal["rendering", "encoding"] = "rendering"


class ReportRendered(Report):
    """Report that nexrender has finished the job."""


class ReportUnmapped(Report):
    fields: list[str]


class ReportFault(Report):
    fault: Fault
    message: str


class ReportCompleted(Report):
    output_file_path: str
    size_bytes: int
    sha256: str
    codec: str = ""
    width: int = 0
    height: int = 0


class ClaimStop(Command):
    """Claim one nexrender job that must be stopped, for a worker to stop it."""

    worker_id: str


class ReportStopped(Command):
    render_id: int
    uid: str
    worker_id: str


class GetRender(Command):
    """Read what a worker needs to know about a render. Answered from the decider's state, without events."""

    render_id: int


class GetRuns(Command):
    """Read the status of these renders, for the worker that removes abandoned files."""

    render_ids: list[int]


class GetComposition(Command):
    composition_id: str


class DescribeComposition(CompositionChange, Command, tag=True):
    """Describe a composition. A field that is None keeps its present value, or gets the default."""

    composition_id: str
    is_new: bool = False
    """Refuse the command if the composition exists already."""


class RemoveComposition(Command):
    composition_id: str


class MapField(Layer, Command, frozen=True, tag=True, kw_only=True):  # type: ignore[misc]  # others are mutable
    composition_id: str
    field_name: str


class ChangeField(FieldChange, Command, tag=True):
    """Change the mapping of a field. A field of this command that is None changes nothing."""

    mapping_id: int


class UnmapField(Command):
    mapping_id: int


QueueCommand = (
    RequestRender
    | CancelRender
    | ReleaseRender
    | RerunRender
    | EraseRender
    | Claim
    | ClaimRender
    | ReportWork
    | RenewLease
    | HandBack
    | ReportSubmitted
    | ReportProgress
    | ReportRendered
    | ReportUnmapped
    | ReportFault
    | ReportCompleted
    | ClaimStop
    | ReportStopped
    | GetRender
    | GetRuns
    | GetComposition
    | DescribeComposition
    | RemoveComposition
    | MapField
    | ChangeField
    | UnmapField
    | AlertCommand
    | Tick
)
