"""The parts of the gateway that writes need."""

from __future__ import annotations

from dataclasses import dataclass

from drover.gateway.gfx_data import GfxData
from drover.gateway.limits import DeviceLimits
from drover.gateway.personal_data import PersonalData
from drover.gateway.read_pools import ReadPools
from drover.gateway.reports import Reports, Telemetry
from drover.gateway.roster import Roster
from drover.gateway.writes.stored_rows import StoredRows
from drover.service.setting_types import JobsFor
from drover.web.alarm_texts import AlarmTexts
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
    """The connections to the read models."""
    pools: ReadPools
    """The connections for queries that clients choose, such as a search for the rows that a filter matches. The anon
    key gets only some of them."""
    freshness: Freshness
    stored: StoredRows
    roster: Roster
    reports: Reports
    telemetry: Telemetry
    limits: DeviceLimits
    gfx_data: GfxData
    alarm_texts: AlarmTexts
    personal_data: PersonalData
    jobs_for: JobsFor
    fleet: CommandClient
    render: CommandClient
    analysis: CommandClient
    reminder: PartitionedClient
