"""Composition root of the gateway: the roster and its feed, telemetry, and the routes of agents and back offices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from aiohttp import web

from drover.bus.broadcast import broadcast
from drover.bus.messages import Bus
from drover.bus.subject_keys import SubjectKeys
from drover.bus.telemetry import TelemetryOut
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.validation import validate as validate_analysis
from drover.domain.fleet import FLEET
from drover.domain.fleet.validation import validate as validate_fleet
from drover.domain.reminder import REMINDER
from drover.domain.reminder.validation import validate as validate_reminder
from drover.domain.render import RENDER
from drover.domain.render.validation import validate as validate_render
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.evidence.collection import Evidence
from drover.evidence.settings import EvidenceSettings
from drover.gateway.device_lookup import claimed_device
from drover.gateway.evidence import Uploads
from drover.gateway.exports import Exports
from drover.gateway.feed import RosterFeed
from drover.gateway.gfx_data import GfxData
from drover.gateway.heartbeat import Heartbeats
from drover.gateway.limits import DeviceLimits
from drover.gateway.offers import Offers
from drover.gateway.personal_data import PersonalData
from drover.gateway.polling import Polling
from drover.gateway.read_pools import ReadPools
from drover.gateway.reads import Reads
from drover.gateway.render_functions import Tell, render_functions, tell_nobody
from drover.gateway.reports import Reports, Telemetry
from drover.gateway.roster import Roster
from drover.gateway.rpc import Rpc
from drover.gateway.settings import GatewaySettings
from drover.gateway.sockets import AgentSockets
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.handler import Tables
from drover.gateway.writes.stored_rows import StoredRows
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service, Unlisted
from drover.readmodel.models import RELATIONS
from drover.service.config import Settings
from drover.service.lifecycle import Component, Phase
from drover.web.access import Access
from drover.web.alarm_texts import AlarmTexts
from drover.web.application import ANY, nothing_here
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.commands import CommandClient, PartitionedClient
from drover.web.forgotten import ForgottenWork
from drover.web.forgotten_kinds import ANALYSIS_WORK, FLEET_WORK
from drover.web.freshness import Freshness, Waiter
from drover.web.limits import Limits
from drover.web.permissions import Verb
from drover.web.postgrest.read import Pool, unknown_relation


@dataclass(frozen=True)
class Gateway:
    """The HTTP server for agents and back offices. Each process has one."""

    settings: Settings
    limits: GatewaySettings
    auth: Authenticator
    bus: Bus
    telemetry: Telemetry
    roster: Roster
    pool: Pool
    freshness: Freshness
    roster_at: Waiter
    """Lets callers wait until the roster has applied a commit."""
    requests: Limits = field(default_factory=Limits)
    """The limits of all callers. Those of heartbeats, polls and reports are `DeviceLimits`."""
    reminder_partitions: Sequence[Partition] = ()
    render_keys: SubjectKeys | None = None
    """The keys that encrypt gfx_data, the content of renders. None: this process has no sealing keys."""
    reminder_keys: SubjectKeys | None = None
    tell: Tell = tell_nobody
    audit: Audit | None = None
    """Records sensitive reads. None, which only tests use: nothing is recorded."""
    evidence: Evidence | None = None
    """Where pictures of failures are kept. None: DROVER_EVIDENCE is not set."""

    def handlers(self) -> list[object]:
        settings, roster, telemetry = self.settings, self.roster, self.telemetry
        requests = self.requests
        requests.claimed_device = partial(claimed_device, roster)
        permissions = self.access.permissions
        freshness, roster_freshness = self.freshness, self.freshness.of(self.roster_at)
        forgotten = ForgottenWork(self.pool, FLEET, FLEET_WORK, is_known=roster.knows_work)
        to_fleet = CommandClient(
            self.bus,
            FLEET.context,
            freshness=freshness,
            local=self.roster_at,
            validate=validate_fleet,
            recall=forgotten.answer,
        )
        to_render = CommandClient(self.bus, RENDER.context, freshness=freshness, validate=validate_render)
        to_analysis = CommandClient(
            self.bus,
            ANALYSIS.context,
            freshness=freshness,
            validate=validate_analysis,
            recall=ForgottenWork(self.pool, ANALYSIS, ANALYSIS_WORK).answer,
        )
        to_reminder = PartitionedClient(
            self.bus,
            REMINDER.context,
            [partition.name for partition in self.reminder_partitions],
            freshness=freshness,
            validate=validate_reminder,
        )
        limits = DeviceLimits(
            self.bus, per_s=self.limits.device_requests_per_s, burst=self.limits.device_requests_burst
        )
        offers = Offers(roster, to_fleet)
        farm_is_open = permissions.anon_may("jobs", Verb.UPDATE)
        reports = Reports(roster, to_fleet, telemetry, limits, farm_is_open=farm_is_open)
        polling = Polling(roster, offers, telemetry, limits, requests, roster_freshness)
        gfx_data, alarm_texts = GfxData(self.render_keys), AlarmTexts(self.reminder_keys)
        pools = ReadPools(self.pool, settings.postgres_connections_max)
        edge = Edge(
            permissions=permissions,
            pool=self.pool,
            pools=pools,
            freshness=freshness,
            stored=StoredRows(self.pool),
            roster=roster,
            reports=reports,
            telemetry=telemetry,
            limits=limits,
            gfx_data=gfx_data,
            alarm_texts=alarm_texts,
            personal_data=PersonalData(permissions, gfx_data, alarm_texts),
            jobs_for=self.limits.jobs_for,
            fleet=to_fleet,
            render=to_render,
            analysis=to_analysis,
            reminder=to_reminder,
        )
        tables = Tables(edge)
        more = render_functions(self.tell)
        return [
            Heartbeats(permissions, roster, telemetry, limits, requests, tables),
            tables,
            Rpc(permissions, to_fleet, roster, roster_freshness, telemetry, forgotten, more=more),
            AgentSockets(self.access, roster, offers, reports, telemetry, limits),
            Reads(permissions, polling, requests, pools, freshness, edge.personal_data.unseal, self.audit),
            Uploads(permissions, roster, telemetry, limits, requests, self.evidence),
            Exports(permissions, self.pool, freshness, edge.personal_data.unseal, self.audit),
        ]

    @cached_property
    def access(self) -> Access:
        return Access.of(self.settings, self.auth, self.requests, self.audit)

    @property
    def unknown_relation(self) -> Unlisted:
        """Answers paths of `/rest/v1` that no other route takes."""
        return Unlisted(ANY, "/rest/v1/{relation}", self._unknown, takes_credentials=True)

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        self.requests.count(self.access.identify(request), request)
        name = request.match_info["relation"]
        if name in RELATIONS:  # a known relation without this method
            return await nothing_here(request)
        raise unknown_relation(name)


def assemble(host: Host) -> Assembly:
    roster = Roster()
    telemetry = TelemetryOut(host.client, FLEET.context, host.settings.instance)
    evidence = Evidence.of(host[EvidenceSettings])
    feed = RosterFeed(host.log(FLEET.context), roster, JetStreamSnapshots(host.client))
    gateway = Gateway(
        settings=host.settings,
        limits=host[GatewaySettings],
        auth=host.auth,
        bus=host.bus,
        telemetry=telemetry,
        roster=roster,
        pool=host.pool,
        freshness=host.freshness,
        roster_at=feed.at,
        requests=host.limits,
        reminder_partitions=host.partitions[REMINDER.context],
        render_keys=host.subject_keys(RENDER.context),
        reminder_keys=host.subject_keys(REMINDER.context),
        tell=partial(broadcast, host.client),
        audit=host.audit,
        evidence=evidence,
    )
    return Assembly(
        handlers=gateway.handlers(),
        access=gateway.access,
        unlisted=[gateway.unknown_relation],
        components=[
            Component("roster", Phase.REACTOR, feed.running(), failure=feed.wait_failed),
            Component("telemetry", Phase.REACTOR, telemetry.running()),
            *([Component("evidence sweep", Phase.REACTOR, evidence.sweeping())] if evidence else []),
        ],
        ready={"roster": feed.why_not_ready},
    )


SERVICE: Final = Service(
    name="gateway",
    assemble=assemble,
    handlers=(Heartbeats, Tables, Rpc, AgentSockets, Reads, Uploads, Exports),
    settings=(GatewaySettings, EvidenceSettings),
    reads_postgres=True,
    tells="fleet",
    takes_requests=True,
)
