"""The render queue as it stands: what decisions look at, and nothing else. How it follows from events is elsewhere."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.timers import Timers

OUTPUT_MODULE_DEFAULT: Final = "H.264 - Match Render Settings - 15 Mbps"


class Status(StrEnum):
    """As clients see it (003 §2)."""

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


class Render(msgspec.Struct):
    render_id: int
    composition_id: str
    composition: str
    gfx_id: str
    gfx_data: str
    """Empty once it is completed."""
    cue_item_id: str | None
    broadcast_date: date
    requested_at: datetime
    uid: str
    """Of its present job at nexrender, which may not be there yet."""
    status: Status = Status.PENDING
    run: int = 0
    generation: int = 1
    touched: bool = False
    """A worker had it since this generation began: nexrender may know its uid, whatever was reported."""
    worker_id: str | None = None
    lease_until: datetime | None = None
    nexrender_job_id: str | None = None
    progress: int = 0
    started_at: datetime | None = None
    rendered: bool = False
    """nexrender has finished this generation's job: its time is not measured any more."""
    retries: dict[str, int] = {}
    """Used up so far, by fault."""
    retry_due: datetime | None = None
    recovery_count: int = 0
    resumes: int = 0
    """How often its worker came back to it, after a crash of its own."""
    sha256: str | None = None
    """Of the file, once it is completed."""


class Stop(msgspec.Struct):
    """A job at nexrender that must not go on, and files that must not stay."""

    render_id: int
    uid: str
    composition: str
    broadcast_date: date
    discard: bool
    """The file on the NAS must go, too: the render was cancelled."""
    nexrender_job_id: str | None = None
    tries: int = 0


class Field(msgspec.Struct, frozen=True):
    mapping_id: int
    layer_name: str
    kind: str
    property: str


class Composition(msgspec.Struct):
    name: str = ""
    template: str = ""
    output_module: str = OUTPUT_MODULE_DEFAULT
    version: int = 0
    fields: dict[str, Field] = {}


class RenderQueue(msgspec.Struct):
    renders: dict[int, Render] = {}
    """Those that have not ended, and those that ended lately."""
    last_id: int = 0
    pending: Timers = msgspec.field(default_factory=Timers)
    """Those that wait for a worker, by the time of their request: the first is next."""
    held: dict[str, int] = {}
    """Which render each worker has in its hands; one at most."""
    renewal_due: datetime | None = None
    """While workers have renders in their hands: when the one that was heard last renews its lease."""
    stops: dict[str, Stop] = {}
    """By uid."""
    stops_due: Timers = msgspec.field(default_factory=Timers)
    """From when on each may be claimed."""
    compositions: dict[str, Composition] = {}
    mappings: dict[int, tuple[str, str]] = {}
    """Composition and field name of each mapping."""
    last_mapping_id: int = 0
    mapping_version: int = 0
    """Grows with every change of any composition: one that is removed and described anew is not taken for the old."""
    alerts: dict[str, str] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
