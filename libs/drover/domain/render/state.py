"""State of the render queue: only what decisions need. `evolution` changes it."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.erasure import Erasures
from drover.domain.past import Past
from drover.domain.render.mapping_spec import CompositionSpec, Layer
from drover.domain.timers import Timers


class Status(StrEnum):
    """The status of a render that clients see (document 003, the render queue, §2)."""

    PENDING = "pending"
    PREPARING = "preparing"
    RENDERING = "rendering"
    ENCODING = "encoding"
    UPLOADING = "uploading"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


WORKING: Final = frozenset({Status.PREPARING, Status.RENDERING, Status.ENCODING, Status.UPLOADING})
ENDED: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


class RenderPurpose(msgspec.Struct, kw_only=True):
    """What a render is for: its composition, cue item and broadcast date."""

    composition_id: str
    cue_item_id: str | int | None
    broadcast_date: date


class Render(RenderPurpose, kw_only=True):
    render_id: int
    composition: str
    gfx_id: str
    gfx_data: str
    """The data to render, sealed (encrypted). Empty once the render is completed."""
    requested_at: datetime
    uid: str
    """The uid of the render's present nexrender job, which may not be submitted yet."""
    status: Status = Status.PENDING
    run: int = 0
    generation: int = 1
    touched: bool = False
    """Whether one of our workers has held the render in this generation. Then nexrender may have the job, even if no
    worker reported it. External workers do not count: they have jobs of their own."""
    handled: bool = False
    """Whether one of our workers has ever held the render. Then a file of it may be on the NAS."""
    worker_id: str | None = None
    external: bool = False
    """Whether the present or last worker is an external one."""
    leased_at: datetime | None = None
    """When the lease was granted or last renewed."""
    lease_until: datetime | None = None
    nexrender_job_id: str | None = None
    progress: int = 0
    started_at: datetime | None = None
    rendered: bool = False
    """Whether nexrender has finished the job of this generation. Then the render can no longer time out."""
    retries: dict[str, int] = msgspec.field(default_factory=dict)
    """Retries used so far, by fault."""
    retry_due: datetime | None = None
    recovery_count: int = 0
    resumes: int = 0
    """How often the worker resumed the render after a crash."""
    sha256: str | None = None
    """Hash of the file, once completed. Empty if an external worker did not report it."""


class Stop(msgspec.Struct):
    """A nexrender job that must be stopped, and the files to remove after it."""

    render_id: int
    uid: str
    composition: str
    broadcast_date: date
    discard: bool
    """Whether to remove the file on the NAS, too, because the render was cancelled."""
    nexrender_job_id: str | None = None
    tries: int = 0


class Field(Layer, frozen=True, kw_only=True):
    mapping_id: int


class Composition(msgspec.Struct):
    spec: CompositionSpec = CompositionSpec()
    version: int = 0
    fields: dict[str, Field] = {}


class RenderQueue(msgspec.Struct):
    renders: dict[int, Render] = {}
    """Renders that have not ended, or that ended recently."""
    past: Past = msgspec.field(default_factory=Past)
    """Renders that have ended."""
    last_id: int = 0
    pending: Timers = msgspec.field(default_factory=Timers)
    """Renders that wait for a worker, by request time: the first is next."""
    held: dict[str, int] = {}
    """By id of one of our workers, the id of the render that it holds. Each holds at most one."""
    lent: set[int] = msgspec.field(default_factory=set)
    """Renders that external workers hold. Such a worker may hold several."""
    renewal_due: datetime | None = None
    """The latest time at which the next renewal of a lease is expected. None: no worker holds a render."""
    stops: dict[str, Stop] = {}
    """Jobs to stop, by their uid."""
    stops_due: Timers = msgspec.field(default_factory=Timers)
    """By uid of the nexrender job, when its stop may be claimed."""
    compositions: dict[str, Composition] = {}
    mappings: dict[int, tuple[str, str]] = {}
    """By id of the mapping, its composition and field name."""
    last_mapping_id: int = 0
    mapping_version: int = 0
    """Grows with every change of any composition, so that a composition that is removed and added again gets a new
    version."""
    alerts: dict[str, str] = {}
    snoozes: dict[str, Snooze] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
    erased: Erasures = {}
    """The gfx_data that were erased, by the token of the `gfx_id` (`erasure.token_of`)."""
    ahead_s: float = 0.0
    """Seconds by which the partition's time is ahead of the wall clock."""
