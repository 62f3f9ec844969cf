"""Composition root of the api service: sign-in, reads, live streams, films, time travel, the dashboard."""

from __future__ import annotations

from functools import partial
from secrets import token_hex
from typing import Final

from drover.api.alert_handling import AlertHandling
from drover.api.audit.app import HANDLERS as AUDIT
from drover.api.audit.app import assemble as assemble_audit
from drover.api.dashboard import Dashboard, find_dashboard
from drover.api.erasures import Erasures
from drover.api.evidence import EvidencePages
from drover.api.figures.measuring import Measuring
from drover.api.figures.sampler import Sampler
from drover.api.films.films import Films
from drover.api.identity.app import HANDLERS as IDENTITY
from drover.api.identity.app import assemble as assemble_identity
from drover.api.identity.settings import IdentitySettings
from drover.api.leads import NatsState
from drover.api.live.live import Live
from drover.api.past.moments import Moments
from drover.api.past.questions import fleet_decider, render_decider
from drover.api.reads.app import HANDLERS as READS
from drover.api.reads.app import Reads
from drover.api.reads.database import ReadModels
from drover.api.reads.system import SystemReader
from drover.api.realtime.peers import Peers
from drover.api.realtime.rooms import Rooms
from drover.api.realtime.session import Office
from drover.api.realtime.sockets import Realtime
from drover.api.realtime.watcher import RowsWatcher
from drover.api.rows.hub import Hub
from drover.api.rows.rows import RowStreams
from drover.api.status import StatusPage, StatusReader
from drover.bus.rows import following_rows
from drover.bus.subject_keys import asking
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import ALL
from drover.evidence.collection import Evidence
from drover.evidence.settings import EvidenceSettings
from drover.history.checkpointer import Checkpointer
from drover.history.checkpoints import FoldCheckpoints
from drover.history.moment_jobs import MomentJobs
from drover.history.travel import Place, TimeTraveller
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.nas.opening import open_nas
from drover.nas.settings import NasSettings
from drover.readmodel.form import schema_of
from drover.readmodel.models import LIVE_CONTEXTS
from drover.service.lifecycle import Component, Phase
from drover.web.erasing import Eraser


def assemble(host: Host) -> Assembly:
    live = Live(host.auth, [host.log(context, ALL) for context in CONTEXTS], limits=host.limits)
    identity, audit, past, rows = assemble_identity(host), assemble_audit(host), _past(host), _rows(host)
    return Assembly(
        handlers=[
            *identity.handlers,
            *audit.handlers,
            StatusPage(StatusReader(host.client, host.pool, CONTEXTS)),
            live,
            *rows.handlers,
            *_reads(host).handlers,
            _films(host),
            _erasures(host),
            AlertHandling(host.bus, host.partitions, host.freshness),
            EvidencePages(Evidence.of(host[EvidenceSettings])),
            *past.handlers,
        ],
        access=host.access,
        unlisted=Dashboard(find_dashboard()).pages(),
        components=[
            *identity.components,
            *audit.components,
            Component("live", Phase.REACTOR, live.running(), failure=live.wait_failed),
            *rows.components,
            *past.components,
            Component("farm minutes", Phase.REACTOR, _sampler(host).running()),
        ],
        writers=identity.writers,
        ready={"live": live.why_not_ready},
    )


def _rows(host: Host) -> Assembly:
    """Build the row streams and Realtime. They share one feed of changed rows."""
    hub = Hub(host.partitions)
    realtime, peers = _realtime(host, hub)
    heard = following_rows(
        host.client, {context: schema_of(context) for context in LIVE_CONTEXTS}, hub.changed, hub.heartbeat
    )
    return Assembly(
        handlers=[RowStreams(host.access, hub), realtime],
        components=[
            Component("rows", Phase.REACTOR, hub.running()),
            Component("rows, heard", Phase.REACTOR, heard),
            Component("realtime peers", Phase.REACTOR, peers.running()),
            Component("realtime", Phase.REACTOR, realtime.running()),
        ],
    )


def _realtime(host: Host, hub: Hub) -> tuple[Realtime, Peers]:
    rooms = Rooms()
    office = Office(access=host.access, live=hub.live, rooms=rooms)
    watcher = RowsWatcher(office)
    hub.watch(watcher)
    return Realtime(office, watcher), Peers(host.client, rooms)


def _reads(host: Host) -> Reads:
    return Reads(
        host.pool,
        host.freshness,
        NatsState(host.client, CONTEXTS),
        instance=host.settings.instance,
        document=host.document,
        audit=host.audit,
        reminder_keys=host.subject_keys("reminder"),
    )


def _sampler(host: Host) -> Sampler:
    models = ReadModels(host.pool)
    system = SystemReader(NatsState(host.client, CONTEXTS), models, host.settings.instance)
    return Sampler(host.pool, Measuring(models, system).measure)


def _erasures(host: Host) -> Erasures:
    partitions = {context: [one.name for one in several] for context, several in host.partitions.items()}
    return Erasures(Eraser(host.bus, host.pool, partial(asking, host.client), partitions))


def _films(host: Host) -> Films:
    """Build the endpoints for finished files. Without a NAS, they answer 501."""
    nas = host[NasSettings]
    store = open_nas(nas) if nas.render_nas else None
    # Tickets must be signed with some secret. If the process has none, it makes one up: its tickets are then valid at
    # this process only.
    secrets = host.settings.identity_secrets or host.settings.jwt_secrets or (token_hex(),)
    return Films(host.access, ReadModels(host.pool), store, secrets)


def _past(host: Host) -> Assembly:
    checkpoints = FoldCheckpoints(host.pool, host.archived_snapshots)
    places = {
        context: Place(decider_of, host.log(context))
        for context, decider_of in (("fleet", fleet_decider), ("render", render_decider))
    }
    traveller = MomentJobs(TimeTraveller(places, checkpoints))
    keepers = {
        context: Checkpointer(place.decider_of(), place.log, checkpoints).running() for context, place in places.items()
    }
    return Assembly(
        handlers=[Moments(traveller)],
        components=[
            Component("time machine", Phase.REACTOR, traveller.running()),
            *(Component(f"history of {name}", Phase.PROJECTOR, keeper) for name, keeper in keepers.items()),
        ],
    )


SERVICE: Final = Service(
    name="api",
    assemble=assemble,
    handlers=(
        *IDENTITY,
        *AUDIT,
        StatusPage,
        Live,
        RowStreams,
        Realtime,
        *READS,
        Films,
        Erasures,
        AlertHandling,
        EvidencePages,
        Moments,
    ),
    settings=(IdentitySettings, NasSettings, EvidenceSettings),
    reads_postgres=True,
    tells="identity",
    takes_requests=True,
)
