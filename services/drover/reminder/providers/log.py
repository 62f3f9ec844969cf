"""The provider `log`: writes each reminder as a line into the log of this process. It needs no settings, and is the
default."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from drover.reminder.notification import Delivered, Notification

log = structlog.get_logger("alarm")


class LogProvider:
    name = "log"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    async def send(self, notification: Notification) -> Delivered:
        # No title and no body: people other than the user read logs.
        log.info("reminder", key=notification.key, user_id=notification.user_id, sent_count=notification.sent_count)
        return Delivered(notification_id=notification.key)
