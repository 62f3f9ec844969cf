"""The provider `webhook`: posts each reminder, signed, to the operator's address."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from drover.outbound.http import Answer, NoAnswer, NotCalled
from drover.outbound.signed_hook import SignedHook
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.reminder.providers.answers import failure, is_success

TRIES_MAX: Final = 2
"""Maximum of tries per sending. A second try follows at once if the connection broke without an answer: the receiver
recognises a repeat by its idempotency key."""

MISDIRECTED: Final = frozenset({401, 403, 404})
"""HTTP statuses that may come from a wrong proxy, a wrong secret or a broken deployment of the receiver. The sending is
retried for a day, because somebody may correct that."""

_encode: Final = msgspec.json.Encoder().encode


class Webhook(SignedHook):
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
            failed = failure(answer)
            return replace(failed, permanent=False, only_for_a_day=True) if answer.status in MISDIRECTED else failed
        return Delivered(notification_id=_id_in(answer) or notification.key)

    async def _post(self, key: str, body: bytes) -> Answer:
        left = TRIES_MAX
        while True:
            left -= 1
            try:
                return await self._outbound.post(self._url, body, self._headers(key, body))
            except NoAnswer as error:
                if error.code != "connection_lost" or not left:
                    raise


def _id_in(answer: Answer) -> str | None:
    """Read the receiver's id of the notification from its answer, `{"id": …}`. None: the answer has none."""
    try:
        said: Any = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = said.get("id") if isinstance(said, dict) else None
    return str(found)[:255] if isinstance(found, str | int) and found != "" else None
