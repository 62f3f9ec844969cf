"""Every list of `/api` with the filters that people use, by what the filled read models have in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Final
from uuid import UUID


def id_of(kind: str, number: int) -> UUID:
    """As `fill.sql` makes them."""
    return UUID(md5(f"{kind}{number}".encode()).hexdigest())


_DEVICE: Final = id_of("d", 127)
_JOB: Final = id_of("j", 30)
_FIRST_JOB: Final = id_of("j", 0)
_PERSON: Final = f"user:{id_of('u', 0)}"
_DAYS_AGO: Final = datetime.now(UTC).date() - timedelta(days=3)
_SPAN: Final = f"from={_DAYS_AGO - timedelta(days=300)}T00:00:00Z&to={_DAYS_AGO}T00:00:00Z"
"""Weeks before, as every table has them."""

LISTS: Final = (
    "/api/pcs",
    "/api/pcs?id=PC-0042",
    "/api/devices",
    "/api/devices?limit=500",
    "/api/devices?pc_id=PC-0042",
    "/api/devices?group_id=P7-G1",
    "/api/devices?status=error",
    "/api/devices?status=busy,online",
    "/api/devices?serial=SERIAL0000012",
    "/api/jobs",
    "/api/jobs?status=created,paused&order=oldest",
    "/api/jobs?status=active",
    f"/api/jobs?{_SPAN}",
    f"/api/jobs/{_JOB}/assignments",
    f"/api/jobs/{_JOB}/assignments?status=failed",
    f"/api/jobs/{_FIRST_JOB}/assignments?pc_id=PC-0000",
    f"/api/jobs/{_JOB}/attempts",
    f"/api/jobs/{_JOB}/attempts?event_type=SUCCEEDED",
    f"/api/jobs/{_FIRST_JOB}/attempts?assignment_id={id_of('a', 5)}",
    f"/api/jobs/{_FIRST_JOB}/attempts?device_id={id_of('d', 5)}",
    "/api/renders",
    "/api/renders?status=pending,rendering",
    "/api/renders?status=failed",
    "/api/renders?composition_id=comp-3",
    "/api/renders?cue_item_id=cue-100",
    f"/api/renders?broadcast_date={_DAYS_AGO}",
    f"/api/renders?{_SPAN}&order=oldest",
    "/api/render-workers",
    "/api/analyses",
    "/api/analyses?status=processing",
    "/api/analyses?status=failed",
    "/api/analyses?user_id=user-17",
    f"/api/analyses?{_SPAN}&order=oldest",
    "/api/cleanup-runs",
    f"/api/cleanup-runs?{_SPAN}",
    f"/api/cleanup-runs/{id_of('r', 17)}/tests",
    "/api/users/user-17/ledger",
    "/api/reminders",
    "/api/reminders?state=upcoming",
    "/api/reminders?state=in_hand",
    "/api/reminders?state=failing",
    "/api/reminders?user_id=user-17",
    f"/api/reminders?from={_DAYS_AGO}T00:00:00Z&to={_DAYS_AGO + timedelta(days=30)}T00:00:00Z",
    "/api/reminder-events",
    "/api/reminder-events?event_type=FAILED",
    "/api/reminder-events?user_id=user-17",
    "/api/reminder-events?page_id=page-17",
    f"/api/reminder-events?{_SPAN}",
    "/api/alerts",
    "/api/alerts?open=true",
    "/api/alerts?kind=host_failing",
    f"/api/alerts?subject={_DEVICE}",
    "/api/alerts?context=fleet",
    f"/api/alerts?{_SPAN}",
    "/api/events",
    "/api/events?limit=500",
    "/api/events?context=fleet",
    f"/api/events?to={_DAYS_AGO}T00:00:00Z",
    f"/api/events?from={_DAYS_AGO}T00:00:00Z",
    f"/api/events?entity={_DEVICE}",
    f"/api/events?entity={_JOB}",
    f"/api/events?entity={id_of('a', 5000)}",
    "/api/events?entity=user-17",
    f"/api/events?entity={_JOB}&type=JobPaused",
    f"/api/events?entity={_JOB}&type=AttemptSucceeded",
    f"/api/events?entity={_DEVICE}&type=AttemptSucceeded",
    f"/api/events?entity={_JOB}&actor=clock",
    "/api/events?actor=clock&type=AttemptCreated",
    "/api/events?type=JobPaused",
    "/api/events?type=AttemptSent,AttemptSucceeded",
    f"/api/events?actor={_PERSON}",
    "/api/events?actor=clock",
    f"/api/events?actor={_PERSON}&type=AttemptSucceeded",
    f"/api/events?cause={id_of('c', 1200)}",
)
READS: Final = (
    f"/api/devices/{_DEVICE}",
    f"/api/devices/{_DEVICE}?from={_DAYS_AGO}T00:00:00Z&to={_DAYS_AGO + timedelta(days=1)}T00:00:00Z",
    f"/api/jobs/{_JOB}",
    "/api/renders/77",
    f"/api/cleanup-runs/{id_of('r', 17)}",
    "/api/reminders/user-17/page-17",
    "/api/why/renders/77",
    f"/api/why/tests/{id_of('t', 17)}",
    "/api/why/reminders/user-17/page-17",
    "/api/events/fleet/1201/0",
    "/api/events/fleet/1201/0/chain",
    "/api/system",
    "/api/find?q=user-1",
    f"/api/find?q={_JOB}",
    "/api/find?q=77",
    f"/api/series?range=24h&to={_DAYS_AGO}T00:00:00Z",
)
"""Of one thing each. Not the overview, which counts all devices: that is a look at every one of them, once a second."""
