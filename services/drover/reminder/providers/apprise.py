"""The provider `apprise`: sends reminders through the library of that name to addresses that the operator sets.

Users cannot add addresses, because apprise calls any address. It has no idempotency keys, so only services that compare
texts recognize a repeat. Needs the extra `drover[apprise]`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from drover.domain.errors import DroverError
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.reminder.providers.fan_out import Result, add_up
from drover.reminder.providers.missing import need


class AppriseAddressBad(DroverError):
    """Apprise does not know an address in DROVER_REMINDER_APPRISE_URLS. It holds secrets, so it is not shown."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"DROVER_REMINDER_APPRISE_URLS: apprise does not know address number {number}. Write one such as "
            "ntfy://ntfy.sh/my-topic."
        )
        self.number = number


class Apprise:
    name = "apprise"

    def __init__(self, urls: Sequence[str], *, timeout_s: float) -> None:
        library = need("apprise", "apprise")
        self._targets: dict[str, Any] = {}
        for number, url in enumerate(urls, 1):
            target = library.Apprise()
            if not target.add(url):
                raise AppriseAddressBad(number)
            self._targets[f"apprise-{number}"] = target
        self._timeout_s = timeout_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    async def send(self, notification: Notification) -> Result:
        """Send to each address separately, so that each has its own outcome."""
        left = [name for name in self._targets if name not in notification.delivered]
        results = await asyncio.gather(*(self._notify(name, notification) for name in left))
        return add_up(notification, dict(zip(left, results, strict=True)))

    async def _notify(self, name: str, notification: Notification) -> Result:
        title, body = notification.title, notification.body or notification.title or notification.page_id
        try:
            async with asyncio.timeout(self._timeout_s):
                done = await self._targets[name].async_notify(title=title, body=body)
        except TimeoutError:
            return Uncertain(code="timed_out", error=name)
        if done:
            return Delivered(notification_id=notification.key)
        return Failed(permanent=False, code="apprise_failed", error=name)
