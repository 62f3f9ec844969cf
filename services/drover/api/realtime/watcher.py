"""Changed rows on their way to the channels, and the resets that make clients read again."""

from __future__ import annotations

from typing import Final

from drover.api.realtime.changes import Changes
from drover.api.realtime.metrics import REJOINS
from drover.api.realtime.session import Office
from drover.api.rows.line import Resets
from drover.api.rows.track import Why
from drover.bus.rows import RowsChanged

READ_AGAIN: Final = "Changes were missed ({why}): join again, then read again"


class RowsWatcher:
    """In the shape that the hub of changed rows expects."""

    def __init__(self, office: Office) -> None:
        self._subscriptions = office.subscriptions
        self._changes = Changes(office.subscriptions, office.live)

    def changed(self, relation: str, message: RowsChanged) -> None:
        self._changes.changed(relation, message)

    def reset(self, relations: Resets) -> None:
        for why in dict.fromkeys(relations.values()):
            self._rejoin([name for name, one in relations.items() if one is why], why)

    def _rejoin(self, relations: list[str], why: Why) -> None:
        for channel in self._subscriptions.subscribers(relations):
            channel.session.rejoin(channel, READ_AGAIN.format(why=why))
            REJOINS.labels(why).inc()
