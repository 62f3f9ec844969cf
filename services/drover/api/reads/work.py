"""The current work of a device, as the lists of devices and of slots show it."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from drover.api.reads.records import maker, selected
from drover.readmodel.fleet.assignments import PROGRESS


class DeviceWork(msgspec.Struct):
    """An assignment that occupies its device: offered, sent, running, or about to be retried."""

    assignment_id: UUID
    job_id: UUID
    job_title: str | None
    phase: str
    """The state of the assignment: `offered`, `sent`, `running` or `retrying`."""
    run: int
    attempt: int
    progress_pct: int
    """The progress in percent, including reports that the device has sent since the last event."""
    ad_playing: bool
    assigned_at: datetime | None
    sent_at: datetime | None
    started_at: datetime | None
    timeout_at: datetime | None
    """When the attempt times out, even if the device still reports progress; null before it is sent."""
    retry_due_at: datetime | None


WORK: Final = selected(DeviceWork, "a", {"assignment_id": "a.id", "job_title": "j.title", "progress_pct": PROGRESS})
"""The SELECT list of `DeviceWork`, over `assignment_rows a`, `job_rows j` and `tel_fleet.presence p`."""
make_work: Final = maker(DeviceWork)
