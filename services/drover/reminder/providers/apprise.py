"""The provider `apprise`: sends reminders through the library of that name to addresses that the operator sets.

Users cannot add addresses, because apprise calls any address. Addresses that take custom headers (`json://`,
`xml://`, `form://`, `apprise://`) get the sending's key as `Idempotency-Key`. Apprise has no such key for other
services, so a repeat looks like a second message there. Needs the extra `drover[apprise]`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from drover.domain.errors import DroverError
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.reminder.providers.fan_out import Result, add_up
from drover.reminder.providers.missing import need

HEADER: Final = "Idempotency-Key"


class AppriseAddressBad(DroverError):
    """Apprise does not know an address in DROVER_REMINDER_APPRISE_URLS. Addresses hold secrets: none is shown."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"DROVER_REMINDER_APPRISE_URLS: apprise does not know address number {number}. Write one such as "
            "ntfy://ntfy.sh/my-topic."
        )
        self.number = number


class Apprise:
    name = "apprise"

    def __init__(self, urls: Sequence[str], *, timeout_s: float) -> None:
        self._library = need("apprise", "apprise")
        self._targets: dict[str, Any] = {}
        self._keyed: dict[str, str] = {}
        """The addresses that take custom headers, by the name of their target."""
        for number, url in enumerate(urls, 1):
            service = self._library.Apprise.instantiate(url)
            if service is None:
                raise AppriseAddressBad(number)
            name = f"apprise-{number}"
            self._targets[name] = self._target_of(service)
            if "headers" in service.template_kwargs:
                self._keyed[name] = url
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
        target = self._target(name, notification.key)
        try:
            async with asyncio.timeout(self._timeout_s):
                done = await target.async_notify(title=title, body=body)
        except TimeoutError:
            return Uncertain(code="timed_out", error=name)
        if done:
            return Delivered(notification_id=notification.key)
        return Failed(permanent=False, code="apprise_failed", error=name)

    def _target(self, name: str, key: str) -> Any:
        url = self._keyed.get(name)
        if url is None:
            return self._targets[name]
        service = self._library.Apprise.instantiate(url)  # one for each sending, because several run at once
        service.headers = {**service.headers, HEADER: key}
        return self._target_of(service)

    def _target_of(self, service: Any) -> Any:
        target = self._library.Apprise()
        target.add(service)
        return target
