"""Wishes of people, workers and the clock about renders."""

from __future__ import annotations

from datetime import date
from typing import Final, Literal

from drover.domain.decider import Command, Tick
from drover.domain.render.policy import Fault

MESSAGE_CHARS_MAX: Final = 2000
IDS_PER_QUESTION_MAX: Final = 200


class RequestRender(Command):
    composition_id: str
    gfx_id: str
    gfx_data: str
    """Sealed by the edge."""
    composition: str = ""
    """Its name; empty: what is described for it, else the id itself."""
    cue_item_id: str | None = None
    broadcast_date: date | None = None
    """None: today in Seoul."""


class CancelRender(Command):
    render_id: int
    reason: str = ""


class ReleaseRender(Command):
    """An operator takes it from a worker that is stuck."""

    render_id: int


class RerunRender(Command):
    """Once more from the start, of one that failed or was cancelled."""

    render_id: int


class Claim(Command):
    """The oldest pending render, for a worker that has none."""

    worker_id: str


class Report(Command):
    """What a worker says about its run."""

    render_id: int
    run: int
    worker_id: str


class RenewLease(Report):
    """It is alive and at work."""


class HandBack(Report):
    """It stops in good order and will not come back to this render."""


class ReportSubmitted(Report):
    nexrender_job_id: str
    found: bool = False


class ReportProgress(Report):
    can_wait = True

    progress: int
    stage: Literal["rendering", "encoding"] = "rendering"


class ReportRendered(Report):
    """nexrender says `finished`."""


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
    """One job at nexrender that must not go on, for a worker that will see to it."""

    worker_id: str


class ReportStopped(Command):
    render_id: int
    uid: str
    worker_id: str


class GetRender(Command):
    """What a worker needs to know of a render; answered from live state."""

    render_id: int


class GetRuns(Command):
    """How these renders stand: for the sweep of files that nobody will come back for."""

    render_ids: list[int]


class GetComposition(Command):
    composition_id: str


class DescribeComposition(Command):
    composition_id: str
    name: str | None = None
    template: str | None = None
    output_module: str | None = None
    """None: as it is, or the default."""


class RemoveComposition(Command):
    composition_id: str


class MapField(Command):
    composition_id: str
    field_name: str
    layer_name: str
    kind: Literal["data", "image"] = "data"
    property: str = "Source Text"


class ChangeField(Command):
    """None: as it is."""

    mapping_id: int
    layer_name: str | None = None
    kind: Literal["data", "image"] | None = None
    property: str | None = None


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
