"""The parts of the gateway that writes need."""

from __future__ import annotations

from dataclasses import dataclass

from drover.gateway.gfx_data import GfxData
from drover.gateway.limits import DeviceLimits
from drover.gateway.reports import Reports, Telemetry
from drover.gateway.roster import Roster
from drover.gateway.writes.stored_rows import StoredRows
from drover.service.setting_types import JobsFor
from drover.web.commands import CommandClient, PartitionedClient
from drover.web.freshness import Freshness
from drover.web.permissions import Permissions
from drover.web.postgrest.read import Pool


@dataclass(frozen=True, kw_only=True)
class Edge:
    """The parts of the gateway that writes need. Each process has one `Edge`; the declarations of `tables` get it as an
    argument."""

    permissions: Permissions
    pool: Pool
    """The read models. Rows that a filter matches are looked up here."""
    freshness: Freshness
    stored: StoredRows
    roster: Roster
    reports: Reports
    telemetry: Telemetry
    limits: DeviceLimits
    gfx_data: GfxData
    jobs_for: JobsFor
    fleet: CommandClient
    render: CommandClient
    analysis: CommandClient
    reminder: PartitionedClient
