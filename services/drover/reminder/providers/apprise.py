"""The provider apprise: to the many services that library reaches, at addresses of the operator's choice.

Users cannot add any: apprise calls whatever an address says. Nor does it know keys, so a repeat is seen as such only by
services that compare texts. Needs the extra `drover[apprise]`.
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
    """An address of DROVER_REMINDER_APPRISE_URLS is none that apprise knows. They hold secrets, so it is not shown."""

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
        """To each address by itself, so that it is known who has it."""
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
