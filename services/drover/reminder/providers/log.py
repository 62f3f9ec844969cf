"""The provider that needs nothing: a line in the log of this process. The default, and the demo's."""

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
        # Neither title nor body: logs are read by others than the user.
        log.info("reminder", key=notification.key, user_id=notification.user_id, sent_count=notification.sent_count)
        return Delivered(notification_id=notification.key)
