"""A farm and a render queue on real servers, with its changed rows on a stream, and faults where a test wants them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import chain
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from drover.api.realtime.peers import Peers
from drover.api.realtime.rooms import Rooms
from drover.api.realtime.session import Office
from drover.api.realtime.sockets import Realtime
from drover.api.realtime.watcher import RowsWatcher
from drover.api.rows.hub import Hub
from drover.api.rows.rows import PATH, RowStreams
from drover.api.rows.track import Track
from drover.bus.broadcast import broadcast
from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.bus.messages import Accepted
from drover.bus.rows import NatsRows, RowsChanged, RowsHeartbeat, following_rows
from drover.bus.telemetry import TelemetryBatch, TelemetryOut
from drover.bus.telemetry import listening as listening_to_telemetry
from drover.domain.contexts import CONTEXTS
from drover.domain.decider import Command
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOnline
from drover.domain.render import RENDER
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.gateway.app import Gateway
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.gateway.settings import GatewaySettings
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.projection.presence import PresenceWriter
from drover.projection.presence_rows import PresenceRows
from drover.projector.app import Projector
from drover.projector.fleet.presence import FLEET_PRESENCE
from drover.readmodel.form import schema_of
from drover.readmodel.models import LIVE_CONTEXTS
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.tasks import end
from drover.testing.faults import FaultyLine, faulty_line
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness
from drover.web.serve import serve
from drover.writer.nats_writer import nats_writer, prepare
from tests.integration.api.listening import Listener, listening
from tests.rows import Reader
from tests.settings import load
from tests.subject_keys import served_keys

SECRET: Final = "s" * 32
READY_S: Final = 40.0
SCHEMAS: Final = {context: schema_of(context) for context in LIVE_CONTEXTS}
Fault = Callable[[], Awaitable[None]]


class FaultyRows(NatsRows):
    """`fault` is awaited before each message of changed rows."""

    fault: Fault | None = None

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None:
        if self.fault is not None:
            await self.fault()
        await super().changed(context, relation, message)

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None:
        await super().heartbeat(context, message)


class Platform:
    def __init__(self, nats_url: str, dsn: str, **options: Any) -> None:
        self.dsn = dsn
        self.nats_url = nats_url
        self.url = ""
        self.hub: Hub
        self.line: FaultyLine
        """Between the hub and NATS."""
        self.rows: FaultyRows
        self.projector: Projector
        self._options = options
        self._track = options.pop("track", Track)
        self._presence = PresenceRows("devices")
        self._projecting = AsyncExitStack()
        self._stack = AsyncExitStack()
        self._serial = 0

    def key(self, role: Role = Role.SERVICE_ROLE, device_id: str | None = None) -> str:
        return issue_api_key(SECRET, role, now_s=time.time(), device_id=device_id)

    async def start(self) -> None:
        enter = self._stack.enter_async_context
        settings = load(
            {
                "DROVER_NATS_URL": self.nats_url,
                "DROVER_POSTGRES_URL": self.dsn,
                "DROVER_JWT_SECRETS": SECRET,
                "DROVER_ANON": "agent",
                "DROVER_HTTP_PORT": "0",
                "DROVER_SEALING_KEYS": "k1:" + "A" * 43 + "=",
            }
        )
        self._settings = settings
        await migrate(self.dsn)
        self.client = client = await enter(connected(self.nats_url, "test"))
        self._divided = divided = await prepare(client, CONTEXTS)
        for decider in (FLEET, RENDER):
            await enter(nats_writer(client, decider, instance=settings.instance).running())
        self.positions = positions = Positions(chain.from_iterable(divided.values()))
        await enter(following_progress(client, positions.observe))
        self.rows = FaultyRows(client, schema_of)
        self._stack.push_async_callback(self.stop_projector)
        await self.start_projector()
        pool = await enter(open_pool(self.dsn, "test"))
        roster = Roster()
        feed = RosterFeed(JetStreamLog(client, Partition("fleet")), roster, JetStreamSnapshots(client))
        await enter(feed.running())
        telemetry = TelemetryOut(client, "fleet", settings.instance)
        await enter(telemetry.running())
        self.bus = CommandBus(client)
        auth = Authenticator(settings.jwt_secrets)
        app = create_application(Health(), body_bytes_max=settings.body_bytes_max)
        gateway = Gateway(
            settings=settings,
            limits=GatewaySettings(),
            auth=auth,
            bus=self.bus,
            telemetry=telemetry,
            roster=roster,
            pool=pool,
            freshness=Freshness(positions, Newest(chain.from_iterable(divided.values()))),
            roster_at=feed.at,
            tell=partial(broadcast, client),
            render_keys=served_keys(client, "render"),
        )
        add_handlers(app, gateway.handlers(), gateway.access)
        self.hub = Hub(divided, make_track=self._track)
        await enter(self.hub.running())
        address = urlsplit(self.nats_url)
        self.line = await enter(faulty_line("127.0.0.1", address.port or 0))
        user = address.netloc.rpartition("@")[0]
        api = await enter(connected(f"nats://{user}@127.0.0.1:{self.line.port}", "api"))
        await enter(following_rows(api, SCHEMAS, self.hub.changed, self.hub.heartbeat))
        rooms = Rooms()
        office = Office(access=gateway.access, live=self.hub.live, rooms=rooms)
        watcher = RowsWatcher(office)
        self.hub.watch(watcher)
        self.realtime = Realtime(office, watcher)
        await enter(Peers(api, rooms).running())
        await enter(self.realtime.running())
        await api.flush()
        add_handlers(app, [RowStreams(gateway.access, self.hub, **self._options), self.realtime], gateway.access)
        port = await enter(serve(app, settings.http_host, settings.http_port, grace_s=1))
        self.url = f"http://127.0.0.1:{port}"
        self.http = await enter(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=READY_S)))
        await eventually(lambda: all(not self.hub.is_stale(context) for context in LIVE_CONTEXTS), READY_S)

    async def stop(self) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def another_api(self) -> AsyncIterator[str]:
        """The URL of a process that has just started: it has heard of no row."""
        hub = Hub(self._divided, make_track=self._track)
        app = create_application(Health(), body_bytes_max=self._settings.body_bytes_max)
        auth = Authenticator(self._settings.jwt_secrets)
        access = Access.of(self._settings, auth)
        add_handlers(app, [RowStreams(access, hub, **self._options)], access)
        async with (
            hub.running(),
            connected(self.nats_url, "api") as client,
            following_rows(client, SCHEMAS, hub.changed, hub.heartbeat),
            serve(app, self._settings.http_host, 0, grace_s=1) as port,
        ):
            await eventually(lambda: all(not hub.is_stale(context) for context in LIVE_CONTEXTS), READY_S)
            yield f"http://127.0.0.1:{port}"

    async def start_projector(self) -> None:
        projector = Projector(
            partial(JetStreamLog, self.client),
            self.dsn,
            partial(announce, self.client),
            publish=self.rows,
            presence={"fleet": self._presence},
        )
        self.projector = await self._projecting.enter_async_context(projector)
        await eventually(lambda: all(runner.active for runner in projector.runners), READY_S)

    @asynccontextmanager
    async def standby(self) -> AsyncIterator[Projector]:
        """A second projector, which waits for the lock of the first."""
        async with Projector(
            partial(JetStreamLog, self.client),
            self.dsn,
            partial(announce, self.client),
            publish=NatsRows(self.client, schema_of),
        ) as projector:
            yield projector

    async def stop_projector(self) -> None:
        await self._projecting.aclose()

    @asynccontextmanager
    async def writing_presence(self) -> AsyncIterator[None]:
        """Signs of life reach the tables and the stream. Without it, phones seem to be silent."""
        async with (
            open_pool(self.dsn, "presence") as pool,
            PresenceWriter(pool, FLEET_PRESENCE, on_written=self._presence.seen) as presence,
        ):

            def note(batch: TelemetryBatch) -> None:
                presence.note(batch.beats)

            async with listening_to_telemetry(self.client, "fleet", note):
                yield

    # Commands

    async def send(self, command: Command, context: str = "fleet") -> Accepted:
        outcome = await self.bus.send(context, command, by="test")
        assert isinstance(outcome, Accepted), outcome
        return outcome

    async def write(self, relation: str, row: dict[str, Any]) -> dict[str, Any]:
        headers = {"apikey": self.key(), "Prefer": "return=representation"}
        async with self.http.post(f"{self.url}/rest/v1/{relation}", json=row, headers=headers) as answer:
            assert answer.status == 201, await answer.text()
            (made,) = await answer.json()
            return made  # type: ignore[no-any-return]

    async def register(self) -> str:
        self._serial += 1
        row = {"serial_number": f"SERIAL{self._serial:04}", "group_id": "P1-G1", "pc_id": f"PC-{self._serial % 3:02}"}
        device = str((await self.write("devices", row))["id"])
        await self.send(MarkOnline(device))
        return device

    async def heartbeat(self, device: str) -> None:
        url = f"{self.url}/rest/v1/devices?id=eq.{device}"
        async with self.http.patch(url, json={"status": "online"}, headers={"apikey": self.key()}) as answer:
            assert answer.status == 204, await answer.text()

    async def create_job(self, title: str = "A job") -> str:
        made = await self.write("jobs", {"title": title, "target_url": "https://youtu.be/abc"})
        return str(made["id"])

    # Reads

    async def read(self, relation: str, min_position: str = "", key: str | None = None) -> list[dict[str, Any]]:
        """All rows, as `/rest/v1` shows them; 503 is tried again, as clients do."""
        headers = {"apikey": key or self.key()} | ({"Drover-Min-Position": min_position} if min_position else {})
        while True:
            async with self.http.get(f"{self.url}/rest/v1/{relation}?limit=1000", headers=headers) as answer:
                if answer.status == 503:
                    await asyncio.sleep(0.05)
                    continue
                assert answer.status == 200, await answer.text()
                return msgspec.json.decode(await answer.read())  # type: ignore[no-any-return]

    async def read_all(self, relation: str) -> list[dict[str, Any]]:
        """Nothing older than what the log has now."""
        ends = {}
        for context in ("fleet", "render"):
            last = await JetStreamLog(self.client, Partition(context)).last()
            ends[context] = 0 if last is None else last.seq
        return await self.read(relation, ",".join(f"{context}={seq}" for context, seq in ends.items()))

    def listening(
        self, relations: str, *, key: str | None = None, url: str | None = None, **how: Any
    ) -> AbstractAsyncContextManager[Listener]:
        return listening(url or self.url, key or self.key(), f"?relations={relations}", path=PATH, **how)


@asynccontextmanager
async def platform_on(nats_url: str, dsn: str, **options: Any) -> AsyncIterator[Platform]:
    platform = Platform(nats_url, dsn, **options)
    try:
        await platform.start()
        yield platform
    finally:
        await platform.stop()


class Watcher:
    """A reader on a real stream. It comes back by its id whenever it is cut."""

    def __init__(self, platform: Platform, relations: tuple[str, ...]) -> None:
        self.reader = Reader(platform.read)
        self._platform = platform
        self._relations = relations
        self._last_id: str | None = None
        self._cut = asyncio.Event()

    def cut(self) -> None:
        self._cut.set()

    async def run(self) -> None:
        while True:
            self._cut.clear()
            is_back = self._last_id is not None
            async with self._platform.listening(",".join(self._relations), last_id=self._last_id) as listener:
                assert listener.hello is not None
                self.reader.hear(listener.hello, is_back=is_back)
                self._last_id = listener.ear.last_id
                await self._listen(listener)

    async def _listen(self, listener: Listener) -> None:
        while not self._cut.is_set():
            try:
                (event,) = await listener.next(within_s=0.2)
            except TimeoutError:
                continue
            self.reader.hear(event)
            self._last_id = event.id or self._last_id

    async def agrees(self) -> bool:
        """Whether it has exactly what a fresh read gives."""
        if self.reader.is_reading or not self.reader.rows:
            return False
        for name in self._relations:
            fresh = await self._platform.read_all(name)
            hidden = dict.fromkeys(self.reader._withheld[name])
            expected = {self.reader._key(name, row): row | hidden for row in fresh}
            if self.reader.rows.get(name) != expected:
                return False
        return True


@asynccontextmanager
async def watching(*watchers: Watcher) -> AsyncIterator[None]:
    """They have read everything once when it begins."""
    tasks = [asyncio.create_task(watcher.run()) for watcher in watchers]
    try:
        for watcher in watchers:
            await eventually(watcher.agrees, READY_S, 0.1)
        yield
        assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
    finally:
        await end(*tasks)
