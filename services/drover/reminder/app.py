"""Builds the reminder service: the writers of all partitions, the reactors that send due alarms, and the HTTP
routes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import structlog
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from nats.aio.client import Client

from drover.bus.messages import Bus
from drover.bus.subject_keys import SubjectKeys
from drover.domain.analysis import ANALYSIS
from drover.domain.errors import DroverError
from drover.domain.reminder import REMINDER, reminder_decider
from drover.domain.reminder.local_time import is_timezone
from drover.domain.reminder.policy import Policy
from drover.domain.reminder.state import Reminders
from drover.domain.reminder.validation import validate
from drover.eventlog.log import OpenLog, Partition
from drover.eventlog.snapshots import SnapshotSource
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.reminder.edge.alarms import Alarms
from drover.reminder.edge.listing import Listing
from drover.reminder.edge.sending import Sending
from drover.reminder.edge.subscriptions import Subscriptions
from drover.reminder.edge.users import Users
from drover.reminder.page_events import listening
from drover.reminder.providers.choice import chosen_provider
from drover.reminder.reactor import Reactor
from drover.reminder.refund_notices import RefundNotices
from drover.reminder.sender import Sender
from drover.reminder.settings import ReminderSettings
from drover.service.config import Settings
from drover.service.lifecycle import Component, Phase
from drover.web.alarm_texts import AlarmTexts
from drover.web.commands import PartitionedClient
from drover.web.freshness import Freshness
from drover.writer.nats_writer import nats_writer
from drover.writer.peers import Peers
from drover.writer.writer import Writer

log: Final = structlog.get_logger("drover.reminder")


class UnknownTimezone(DroverError):
    """DROVER_REMINDER_TIMEZONE is not a time zone."""

    def __init__(self, name: str) -> None:
        super().__init__(f"DROVER_REMINDER_TIMEZONE={name} is not a time zone. Write a name such as Asia/Seoul.")
        self.name = name


def policy_of(settings: ReminderSettings) -> Policy:
    if not is_timezone(settings.reminder_timezone):
        raise UnknownTimezone(settings.reminder_timezone)
    return Policy(
        base=timedelta(seconds=settings.reminder_base_s),
        cap=timedelta(seconds=settings.reminder_cap_s),
        recover_after=timedelta(seconds=settings.reminder_recover_s),
        retry_first=timedelta(seconds=settings.reminder_retry_s),
        retry_max=timedelta(seconds=settings.reminder_retry_max_s),
        timezone_default=settings.reminder_timezone,
    )


class ReminderService:
    """The part of the service that runs in each process. The processes share the partitions, and each sends the alarms
    of those that it leads."""

    def __init__(
        self,
        client: Client,
        settings: ReminderSettings,
        *,
        bus: Bus,
        instance: str,
        keys: SubjectKeys | None = None,
        partitions: Sequence[Partition],
        lease_token: str | None = None,
        open_log: OpenLog | None = None,
        archived: SnapshotSource | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        names = [partition.name for partition in partitions]
        self._peers = Peers(REMINDER.context, instance, names)
        decider = reminder_decider(policy_of(settings))
        self.writers: list[Writer[Reminders]] = [
            nats_writer(
                client,
                decider,
                instance=instance,
                partition=name,
                lease_token=lease_token,
                peers=self._peers,
                open_log=open_log,
                archived=archived,
            )
            for name in names
        ]
        provider = chosen_provider(settings, keys)
        texts = AlarmTexts(keys)
        self._sender = sender = Sender(provider, bus, concurrency=settings.reminder_concurrency, instance=instance)
        self._reactors = [
            Reactor(writer, sender, texts, fetch_limit=settings.reminder_fetch_limit, instance=instance)
            for writer in self.writers
        ]

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Run the writers. On exit, stop all of them at the same time, then tell the other processes that this one
        leaves."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._peers.running(self._client))
            for writer in self.writers:
                await stack.enter_async_context(writer.running())
            try:
                yield
            finally:
                await asyncio.gather(*(writer.stop() for writer in self.writers))

    async def wait_failed(self) -> None:
        await asyncio.gather(*(writer.wait_failed() for writer in self.writers))

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send due alarms until the block ends, which must be before the writers stop. On exit, wait for the alarms of
        all partitions that are still being sent."""
        if not self._settings.reminder_sends:
            log.warning("reminders_are_not_sent", setting="DROVER_REMINDER_SENDS=0", advice="another sender has to")
            yield
            return
        async with self._sender.running(), AsyncExitStack() as stack:
            for reactor in self._reactors:
                await stack.enter_async_context(reactor.running(self._client))
            try:
                yield
            finally:
                await asyncio.gather(*(reactor.stop() for reactor in self._reactors))


class ReminderEdge:
    """The HTTP routes for apps and the back office. Any process can serve them, because commands go over NATS."""

    def __init__(
        self,
        settings: Settings,
        reminder: ReminderSettings,
        *,
        bus: Bus,
        pool: Any,
        freshness: Freshness,
        partitions: Sequence[Partition],
        keys: SubjectKeys | None = None,
    ) -> None:
        """`keys`: the keys of users; None if this process has no sealing keys."""
        self._settings = settings
        self._keys = keys
        self.texts = AlarmTexts(keys)
        self._reminder = reminder
        self._freshness = freshness
        self._pool = pool
        names = [partition.name for partition in partitions]
        self.clients = PartitionedClient(bus, REMINDER.context, names, freshness=self._freshness, validate=validate)

    def handlers(self) -> list[object]:
        clients, quota, public_key = self.clients, self._settings.user_events_per_day, None
        if self._reminder.reminder_vapid_private_key is not None:
            public_key = vapid_public_key(self._reminder.reminder_vapid_private_key)
        return [
            Alarms(clients, self.texts, events_per_day=quota),
            Users(clients, events_per_day=quota),
            Listing(self._freshness, self._pool, self.texts),
            Subscriptions(clients, self._keys, public_key, events_per_day=quota),
            Sending(clients),
        ]

    @asynccontextmanager
    async def listening(self, client: Client) -> AsyncIterator[None]:
        async with listening(client, self.clients):
            yield


def vapid_public_key(private_key: str) -> str:
    """Derive the public key in the form that browsers expect: the uncompressed point in URL-safe base64."""
    number = int.from_bytes(base64.urlsafe_b64decode(private_key + "=" * (-len(private_key) % 4)))
    public = ec.derive_private_key(number, ec.SECP256R1()).public_key()
    point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).decode().rstrip("=")


def assemble(host: Host) -> Assembly:
    settings, partitions = host[ReminderSettings], host.partitions[REMINDER.context]
    service = ReminderService(
        host.client,
        settings,
        bus=host.bus,
        instance=host.settings.instance,
        keys=host.subject_keys(REMINDER.context),
        partitions=partitions,
        lease_token=host.lease_token,
        open_log=host.open_log,
        archived=host.archived_snapshots,
    )
    edge = ReminderEdge(
        host.settings,
        settings,
        bus=host.bus,
        pool=host.pool,
        freshness=host.freshness,
        partitions=partitions,
        keys=host.subject_keys(REMINDER.context),
    )
    components = [
        Component("reminder writers", Phase.WRITER, service.writing(), failure=service.wait_failed),
        Component("pages deleted", Phase.REACTOR, edge.listening(host.client)),
    ]
    if not host.has_reactors_off(REMINDER.context):
        components.append(Component("reminder sending", Phase.REACTOR, service.sending()))
        # Without a sender, notices would wait for ever.
        if settings.reminder_sends and not host.has_reactors_off(ANALYSIS.context):
            notices = RefundNotices(
                host.log(ANALYSIS.context),
                edge.clients,
                texts=edge.texts,
                title=settings.reminder_refund_title,
                body=settings.reminder_refund_body,
            )
            components.append(
                Component("refund notices", Phase.REACTOR, notices.running(), failure=notices.wait_failed)
            )
    return Assembly(handlers=edge.handlers(), access=host.access, components=components, writers=service.writers)


SERVICE: Final = Service(
    name="reminder",
    assemble=assemble,
    handlers=(Alarms, Users, Listing, Subscriptions, Sending),
    settings=(ReminderSettings,),
    reads_postgres=True,
    tells="reminder",
    takes_requests=True,
)
