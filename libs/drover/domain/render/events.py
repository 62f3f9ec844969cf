"""Facts of the render queue. What is sealed stays sealed here: no event has gfx_data in clear."""

from __future__ import annotations

from datetime import date, datetime

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import Event, TermStarted


class RenderEvent(Event):
    """Something about one render."""

    render_id: int
    """Counts from 1 in the order of requests."""


class RunEvent(RenderEvent):
    """Something about one run: a render in the hands of one worker, from its claim on."""

    run: int
    """Grows with each claim. The fence: reports carry it."""
    worker_id: str


class RenderRequested(RenderEvent):
    composition_id: str
    composition: str
    """Its name in After Effects, and in the name of the file."""
    gfx_id: str
    """What the seal of gfx_data is bound to."""
    gfx_data: str
    """Sealed."""
    cue_item_id: str | None
    broadcast_date: date
    uid: str
    """Under which nexrender is to know it."""


class RenderClaimed(RunEvent):
    """A worker has it. Also when the same worker begins again, after a crash of its own."""

    lease_until: datetime
    resumed: bool
    """It was in the hands of this worker before."""


class LeaseRenewed(RunEvent):
    lease_until: datetime


class RenderSubmitted(RunEvent):
    """nexrender has the job."""

    uid: str
    nexrender_job_id: str
    """What nexrender itself calls it, where it does not take our uid."""
    found: bool
    """It was there already: somebody had submitted it and could not say so."""
    timeout_at: datetime


class RenderProgressed(RunEvent):
    progress: int


class EncodingStarted(RunEvent):
    progress: int


class UploadStarted(RunEvent):
    """nexrender has finished. The file is validated and copied from here on."""


class FieldsUnmapped(RunEvent):
    """Fields of gfx_data that have no layer in this composition; the rest is rendered."""

    fields: list[str]


class RetryScheduled(RunEvent):
    """The same worker tries the same step again."""

    fault: str
    number: int
    """1 is the first retry."""
    due_at: datetime
    message: str


class RenderRequeued(RenderEvent):
    """It is pending again, and nobody's."""

    run: int
    reason: str
    """`lapsed`, `released`, `handed_back`, `rerun`, or the fault."""
    message: str
    recovery_count: int
    generation: int
    """Which job at nexrender is the next one, counted from 1."""
    uid: str
    stop: str | None = None
    """The uid of the job at nexrender that must not go on."""


class RenderCompleted(RunEvent):
    output_file_path: str
    size_bytes: int
    sha256: str
    duration_seconds: float
    codec: str
    width: int
    height: int


class RenderFailed(RenderEvent):
    run: int
    fault: str
    message: str
    stop: str | None = None


class RenderCancelled(RenderEvent):
    run: int
    reason: str
    stop: str | None = None


class StopClaimed(RenderEvent):
    """A worker goes to stop a job at nexrender and to discard its files."""

    uid: str
    worker_id: str
    until: datetime
    tries: int
    composition: str
    broadcast_date: date
    discard: bool
    """The file on the NAS must go, too."""
    nexrender_job_id: str | None


class RenderStopped(RenderEvent):
    uid: str
    worker_id: str


class StopAbandoned(RenderEvent):
    """Nobody could stop it, and nobody tries any more."""

    uid: str
    tries: int


class StaleRunRefused(RenderEvent):
    """A worker reported about a run that is over. Nothing changed."""

    run: int
    worker_id: str
    report: str
    current_run: int
    status: str


class RenderArchived(RenderEvent):
    """It is no longer in the state; the read model keeps it."""


class CompositionDescribed(Event):
    composition_id: str
    name: str
    template: str
    """A file in the template folder, or a whole path."""
    output_module: str
    version: int
    """Grows with each change of the composition or its fields: caches compare it."""


class CompositionRemoved(Event):
    composition_id: str
    version: int


class FieldMapped(Event):
    """New or changed: one field of one composition has one layer."""

    mapping_id: int
    composition_id: str
    field_name: str
    """`Slot N - field`, `Single - field` or `Flag N`."""
    layer_name: str
    kind: str
    """`data` or `image`."""
    property: str
    version: int


class FieldUnmapped(Event):
    mapping_id: int
    composition_id: str
    field_name: str
    version: int


QueueEvent = (
    TermStarted
    | RenderRequested
    | RenderClaimed
    | LeaseRenewed
    | RenderSubmitted
    | RenderProgressed
    | EncodingStarted
    | UploadStarted
    | FieldsUnmapped
    | RetryScheduled
    | RenderRequeued
    | RenderCompleted
    | RenderFailed
    | RenderCancelled
    | StopClaimed
    | RenderStopped
    | StopAbandoned
    | StaleRunRefused
    | RenderArchived
    | CompositionDescribed
    | CompositionRemoved
    | FieldMapped
    | FieldUnmapped
    | AlertRaised
    | AlertResolved
)
