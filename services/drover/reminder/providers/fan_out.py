"""Combines the outcomes of sending one reminder to several subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.domain.reminder.sending import NO_SUBSCRIPTION
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain

GONE: Final = "gone"
PARTIAL: Final = "partial"

Result = Delivered | Failed | Uncertain


def add_up(notification: Notification, results: Mapping[str, Result]) -> Result:
    """Combine the outcomes. `Delivered`: some subscription has the reminder, and a retry would reach no other. If some
    have it and a retry may reach others, the outcome is `Uncertain` (partial), and the retry leaves out those that have
    the reminder."""
    gone = tuple(sub for sub, one in results.items() if isinstance(one, Failed) and one.code == GONE)
    have = (*notification.delivered, *(sub for sub, one in results.items() if isinstance(one, Delivered)))
    unknown = [one for one in results.values() if isinstance(one, Uncertain)]
    failed = [one for one in results.values() if isinstance(one, Failed) and one.code != GONE]
    passing = [one for one in failed if not one.permanent]
    if have and not unknown and not passing:
        ids = [one.notification_id for one in results.values() if isinstance(one, Delivered)]
        return Delivered(notification_id=next(filter(None, ids), notification.key), gone=gone)
    if have:
        first = unknown[0] if unknown else passing[0]
        return Uncertain(code=PARTIAL, error=f"{first.code} {first.error}", delivered=have, gone=gone)
    if unknown:
        return Uncertain(code=unknown[0].code, error=unknown[0].error, gone=gone)
    if failed:
        worst = (*passing, *failed)[0]
        return Failed(permanent=worst.permanent, code=worst.code, error=worst.error, gone=gone)
    return Failed(permanent=True, code=NO_SUBSCRIPTION, gone=gone)
