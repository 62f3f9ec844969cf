"""Commands about renders, from people, workers and the clock."""

from __future__ import annotations

from datetime import date
from typing import Final, Literal

from drover.domain.decider import Command, Tick
from drover.domain.render.mapping_spec import CompositionChange, FieldChange, Layer
from drover.domain.render.policy import Fault

MESSAGE_CHARS_MAX: Final = 2000
IDS_PER_QUESTION_MAX: Final = 200


class RequestRender(Command):
    composition_id: str
    gfx_id: str
    gfx_data: str
    """The data to render, sealed by the edge."""
    composition: str = ""
    """Name of the composition. Empty: the name in the composition's description, else the id."""
    cue_item_id: str | None = None
    broadcast_date: date | None = None
    """None: today in Seoul."""


class CancelRender(Command):
    render_id: int
    reason: str = ""


class ReleaseRender(Command):
    """An operator takes the render from a stuck worker."""

    render_id: int


class RerunRender(Command):
    """Run a failed or cancelled render again, from the start."""

    render_id: int


class Claim(Command):
    """A worker without a render claims the oldest pending one."""

    worker_id: str


class Report(Command):
    """A worker's report about its run."""

    render_id: int
    run: int
    worker_id: str


class RenewLease(Report):
    """The worker is alive and working."""


class HandBack(Report):
    """The worker shuts down cleanly and gives up this render."""


class ReportSubmitted(Report):
    nexrender_job_id: str
    found: bool = False


class ReportProgress(Report):
    can_wait = True

    progress: int
    stage: Literal["rendering", "encoding"] = "rendering"


class ReportRendered(Report):
    """nexrender reports `finished`."""


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
    """A worker claims one nexrender job that must be stopped."""

    worker_id: str


class ReportStopped(Command):
    render_id: int
    uid: str
    worker_id: str


class GetRender(Command):
    """Read what a worker needs to know about a render; answered from live state."""

    render_id: int


class GetRuns(Command):
    """Read the status of these renders, for the sweep of abandoned files."""

    render_ids: list[int]


class GetComposition(Command):
    composition_id: str


class DescribeComposition(CompositionChange, Command, tag=True):
    """Describe a composition. None: keep the present value, or the default."""

    composition_id: str


class RemoveComposition(Command):
    composition_id: str


class MapField(Layer, Command, frozen=True, tag=True, kw_only=True):  # type: ignore[misc]  # others are mutable
    composition_id: str
    field_name: str


class ChangeField(FieldChange, Command, tag=True):
    """Change a field's mapping. None: leave as it is."""

    mapping_id: int


class UnmapField(Command):
    mapping_id: int


QueueCommand = (
    RequestRender
    | CancelRender
    | ReleaseRender
    | RerunRender
    | Claim
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
    | Tick
)
