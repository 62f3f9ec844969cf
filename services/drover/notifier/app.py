"""Builds the notifier. Of all processes that run it, only the one with the lease sends notices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import structlog
from nats.aio.client import Client
from uuid_utils import uuid4

from drover.domain.contexts import CONTEXTS
from drover.domain.severity import CRITICAL
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.log import ALL, OpenLog, Partition
from drover.hosting.host import Host
from drover.hosting.service import Assembly, Service
from drover.notifier.delivery_queue import DeliveryQueue, Times
from drover.notifier.ledger import BUCKET, NatsLedger
from drover.notifier.notice import Receiver
from drover.notifier.reactor import Reactor
from drover.notifier.receivers.choice import chosen_receivers
from drover.notifier.settings import AlertSettings
from drover.service.lifecycle import Component, Phase
from drover.writer.clock import SystemClock
from drover.writer.nats_lease import NatsLease

LEADER: Final = Partition("notifier")
"""The name of the notifier's lease. No stream has this name, because the notifier writes no events."""

log = structlog.get_logger("drover.notifier")


class Notifier:
    def __init__(
        self,
        client: Client,
        settings: AlertSettings,
        *,
        open_log: OpenLog,
        instance: str,
        replicas: int = 1,
        held: Collection[str] = (),
        lease_token: str | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._replicas = replicas
        self._token = str(uuid4())
        self._clock = SystemClock()
        self._ledger = NatsLedger(client)
        self.receivers: list[Receiver] = chosen_receivers(settings)
        lease = NatsLease(client, LEADER, instance=instance, token=lease_token or self._token, clock=self._clock)
        self._reactor = Reactor(
            {context: open_log(Partition(context, ALL)) for context in CONTEXTS},
            self._ledger,
            lease,
            self._queues,
            held=held,
            critical_only=settings.alert_min_severity == CRITICAL,
        )

    def _queues(self) -> list[DeliveryQueue]:
        times = Times(self._settings.alert_send_timeout_s, timedelta(seconds=self._settings.alert_max_age_s))
        return [
            DeliveryQueue(one, self._ledger, times, token=self._token, now=self._clock.now) for one in self.receivers
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await ensure_bucket(self._client, BUCKET, replicas=self._replicas)
        async with self._reactor.running():
            yield

    async def wait_failed(self) -> None:
        await self._reactor.wait_failed()


def assemble(host: Host) -> Assembly:
    notifier = Notifier(
        host.client,
        host[AlertSettings],
        open_log=host.open_log,
        instance=host.settings.instance,
        replicas=host.settings.nats_replicas,
        held=host.reactors_off,
        lease_token=host.lease_token,
    )
    if not notifier.receivers:
        log.info("alerts_are_told_nowhere", settings=["DROVER_ALERT_SLACK_URL", "DROVER_ALERT_WEBHOOK_URL"])
        return Assembly()
    return Assembly(components=[Component("notifier", Phase.REACTOR, notifier.running(), failure=notifier.wait_failed)])


SERVICE: Final = Service(name="notifier", assemble=assemble, settings=(AlertSettings,))
