"""Events of the render queue. No event has gfx_data in clear text: it stays sealed."""

from __future__ import annotations

from datetime import date, datetime

from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.event import Event, TermStarted


class RenderEvent(Event):
    """Fields that all events of one render share."""

    render_id: int
    """Numbered from 1 in the order of requests."""


class RunEvent(RenderEvent):
    """Fields that all events of one run share. A run is one worker's work on a render, from its claim on."""

    run: int
    """Grows with each claim. Reports carry it, so reports of older runs can be refused (a fencing token)."""
    worker_id: str


class RenderRequested(RenderEvent):
    composition_id: str
    composition: str
    """The name of the composition, in After Effects and in the file name."""
    gfx_id: str
    """The id that gfx_data was sealed with: it can be opened only together with this id."""
    gfx_data: str
    """The data to render, sealed (encrypted)."""
    cue_item_id: str | int | None
    """The id of the cue item, as the client wrote it: a number stays a number."""
    broadcast_date: date
    uid: str
    """The job's uid at nexrender."""


class RenderClaimed(RunEvent):
    """A worker claimed the render, or resumed it after a crash of its own."""

    lease_until: datetime
    resumed: bool
    """Whether the same worker held the render before."""
    external: bool = False
    """Whether the worker is a program of the users, which works through the table `render_queue` and has its own job at
    nexrender."""


class LeaseRenewed(RunEvent):
    lease_until: datetime


class RenderSubmitted(RunEvent):
    """The worker has submitted the job to nexrender."""

    uid: str
    nexrender_job_id: str
    """The id of the job at nexrender: our uid, or the id that nexrender gave the job instead. Empty: an external worker
    did not report it."""
    found: bool
    """Whether nexrender had the job already, because a worker had submitted it and could not report that."""
    timeout_at: datetime


class RenderProgressed(RunEvent):
    progress: int


class EncodingStarted(RunEvent):
    progress: int


class UploadStarted(RunEvent):
    """nexrender has finished the job. The worker begins to check the file and to copy it to the NAS."""


class FieldsUnmapped(RunEvent):
    """These fields of gfx_data have no layer in this composition; the others are rendered."""

    fields: list[str]


class RetryScheduled(RunEvent):
    """The worker keeps the render and will retry the step that failed."""

    fault: str
    number: int
    """The number of the retry, from 1."""
    due_at: datetime
    message: str


class RenderRequeued(RenderEvent):
    """The render is pending again, without a worker."""

    run: int
    reason: str
    """Why. `lapsed`: the lease expired. `released`: by an operator. `handed_back`: by its worker. `rerun`: by a person.
    `superseded`: an external worker starts a job of its own. Any other value is the fault that caused it."""
    message: str
    recovery_count: int
    generation: int
    """Number of the next nexrender job of this render, from 1."""
    uid: str
    stop: str | None = None
    """The uid of the nexrender job to stop."""


class RenderCompleted(RunEvent):
    output_file_path: str
    """This field and those below are empty or 0 if an external worker did not report them."""
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
    """A worker will stop a nexrender job and discard its files."""

    uid: str
    worker_id: str
    until: datetime
    tries: int
    composition: str
    broadcast_date: date
    discard: bool
    """Whether to remove the file on the NAS, too."""
    nexrender_job_id: str | None


class RenderStopped(RenderEvent):
    uid: str
    worker_id: str


class StopAbandoned(RenderEvent):
    """The nexrender job could not be stopped, and no more tries are made."""

    uid: str
    tries: int


class StaleRunRefused(RenderEvent):
    """A worker's report about a run that has ended was refused. Nothing else changed."""

    run: int
    worker_id: str
    report: str
    current_run: int
    status: str


class RenderArchived(RenderEvent):
    """The render left the decider's state; the read model keeps it."""


class RenderErased(RenderEvent):
    """The gfx_data of a render was erased: the key that it is sealed with is destroyed."""

    gfx_id: str


class CompositionDescribed(Event):
    composition_id: str
    name: str
    template: str
    """The template: a file in the template folder, or an absolute path."""
    output_module: str
    version: int
    """Grows with each change of the composition or its fields, so that caches can tell whether they are outdated."""


class CompositionRemoved(Event):
    composition_id: str
    version: int


class FieldMapped(Event):
    """A field of a composition was mapped to a layer, for the first time or anew."""

    mapping_id: int
    composition_id: str
    field_name: str
    """The name of the field: `Slot N - field`, `Single - field` or `Flag N`."""
    layer_name: str
    kind: str
    """`data`, `image` or `expression`."""
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
    | RenderErased
    | CompositionDescribed
    | CompositionRemoved
    | FieldMapped
    | FieldUnmapped
    | AlertRaised
    | AlertResolved
    | AlertAcknowledged
    | AlertSnoozed
    | AlertSnoozeEnded
)
