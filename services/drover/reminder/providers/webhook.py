"""The provider webhook: each reminder is posted, signed, to an address of the operator's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from drover.outbound.http import Answer, NoAnswer, NotCalled, Outbound
from drover.outbound.signing import HEADER, sign
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.reminder.providers.answers import failure, is_success

KEY_HEADER: Final = "Idempotency-Key"
TRIES_MAX: Final = 2
"""A connection that broke without an answer is tried once more at once: by the key the receiver knows a repeat."""

_encode: Final = msgspec.json.Encoder().encode


class Webhook:
    name = "webhook"

    def __init__(
        self, url: str, secrets: Sequence[str], outbound: Outbound, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._url = url
        self._secrets = tuple(secrets)
        self._outbound = outbound
        self._clock = clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._outbound.running():
            yield

    async def send(self, notification: Notification) -> Delivered | Failed | Uncertain:
        body = _encode(
            {
                "key": notification.key,
                "page_id": notification.page_id,
                "user_id": notification.user_id,
                "title": notification.title,
                "body": notification.body,
                "sent_count": notification.sent_count,
            }
        )
        try:
            answer = await self._post(notification.key, body)
        except NotCalled as error:
            return Failed(permanent=error.permanent, code=error.code, error=error.error)
        except NoAnswer as error:
            return Uncertain(code=error.code, error=error.error)
        if not is_success(answer):
            return failure(answer)
        return Delivered(notification_id=_id_in(answer) or notification.key)

    async def _post(self, key: str, body: bytes) -> Answer:
        left = TRIES_MAX
        while True:
            left -= 1
            headers = {
                "Content-Type": "application/json",
                "User-Agent": "drover",
                KEY_HEADER: key,
                HEADER: sign(body, self._secrets, int(self._clock())),
            }
            try:
                return await self._outbound.post(self._url, body, headers)
            except NoAnswer as error:
                if error.code != "connection_lost" or not left:
                    raise


def _id_in(answer: Answer) -> str | None:
    """What the receiver calls it, where it says so: `{"id": …}`."""
    try:
        said: Any = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = said.get("id") if isinstance(said, dict) else None
    return str(found)[:255] if isinstance(found, str | int) and found != "" else None
