"""Passes changed rows on to channels, and asks channels that have missed changes to join again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from drover.api.realtime.changes import Changes
from drover.api.realtime.limits import REJOIN_AFTER_S, REJOINS_PER_LOOK_MAX
from drover.api.realtime.metrics import REJOINS
from drover.api.realtime.session import Channel, Office
from drover.api.rows.line import Resets
from drover.api.rows.track import Why
from drover.bus.rows import RowsChanged

READ_AGAIN: Final = "Changes were missed ({why}): join again, then read again"


class RowsWatcher:
    """Has the methods that the hub of changed rows calls."""

    def __init__(self, office: Office, clock: Callable[[], float] = time.monotonic) -> None:
        self._subscriptions = office.subscriptions
        self._changes = Changes(office.subscriptions, office.live)
        self._clock = clock
        self._to_rejoin: dict[Channel, Why] = {}

    def changed(self, relation: str, message: RowsChanged) -> None:
        self._changes.changed(relation, message)

    def reset(self, relations: Resets) -> None:
        for relation, why in relations.items():
            for channel in self._subscriptions.subscribers([relation]):
                self._to_rejoin.setdefault(channel, why)

    def look(self) -> None:
        """Ask channels that have missed changes to join again.

        Clients read when they join, so only some channels are asked at a time. While a projector is behind, changes are
        missed every second, so a channel that has just joined is asked later.
        """
        told = 0
        joined_before = self._clock() - REJOIN_AFTER_S
        for channel, why in [*self._to_rejoin.items()]:
            if not channel.is_joined:
                del self._to_rejoin[channel]
            elif channel.joined_at <= joined_before and told < REJOINS_PER_LOOK_MAX:
                del self._to_rejoin[channel]
                channel.session.rejoin(channel, READ_AGAIN.format(why=why))
                REJOINS.labels(why).inc()
                told += 1
