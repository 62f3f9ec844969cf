"""The provider `webpush`: sends to the browsers that a user has subscribed. Needs the extra `drover[webpush]`."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Final

import msgspec
from yarl import URL

from drover.bus.subject_keys import SubjectKeys
from drover.domain.reminder.state import Subscription
from drover.outbound.http import NoAnswer, NotCalled, Outbound
from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.reminder.providers.answers import failure, is_success
from drover.reminder.providers.fan_out import GONE, Result, add_up
from drover.reminder.providers.missing import need
from drover.reminder.providers.push_keys import PushSubscription, opened
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import Erased, KeysUnreachable

TTL_S: Final = 24 * 3600
"""How many seconds a push service keeps a message for an offline browser."""
TOKEN_LASTS_S: Final = 12 * 3600
PLAIN_BYTES_MAX: Final = 3000
"""Maximum size of a message in bytes before encryption: push services refuse larger ones."""
DEAD: Final = frozenset({404, 410})
_TOPIC_CHARS: Final = 32

_encode: Final = msgspec.json.Encoder().encode


class WebPush:
    name = "webpush"

    def __init__(
        self,
        private_key: str,
        subject: str,
        keys: SubjectKeys,
        outbound: Outbound,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._pywebpush = need("pywebpush", "webpush")
        self._vapid: Any = need("py_vapid", "webpush").Vapid.from_string(private_key)
        self._subject = subject
        self._keys = keys
        self._outbound = outbound
        self._clock = clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._outbound.running():
            yield

    async def send(self, notification: Notification) -> Result:
        payload = message(notification)
        subscriptions = notification.subscriptions
        results = await asyncio.gather(*(self._push(one, notification, payload) for one in subscriptions))
        named = {one.subscription_id: result for one, result in zip(subscriptions, results, strict=True)}
        return add_up(notification, named)

    async def _push(self, subscription: Subscription, notification: Notification, payload: bytes) -> Result:
        try:
            known = await opened(self._keys, subscription.sealed, notification.user_id, subscription.subscription_id)
        except (UnknownSealingKey, KeysUnreachable) as error:
            return Failed(permanent=False, code="sealing_key_missing", error=str(error))
        except Erased:
            return Failed(permanent=True, code=GONE)
        except SealDamaged as error:
            return Failed(permanent=True, code="subscription_unreadable", error=str(error))
        try:
            body = self._encrypted(known, payload)
        except Exception as error:  # malformed keys: the library may raise anything
            return Failed(permanent=True, code="subscription_unreadable", error=repr(error)[:200])
        try:
            answer = await self._outbound.post(known.endpoint, body, self._headers(known, notification))
        except NotCalled as error:
            return Failed(permanent=error.permanent, code=error.code, error=error.error)
        except NoAnswer as error:
            return Uncertain(code=error.code, error=error.error)
        if answer.status in DEAD:
            return Failed(permanent=True, code=GONE)
        if not is_success(answer):
            return failure(answer)
        return Delivered(notification_id=answer.headers.get("Location") or notification.key)

    def _encrypted(self, known: PushSubscription, payload: bytes) -> bytes:
        keys = {"p256dh": known.keys.p256dh, "auth": known.keys.auth}
        pusher = self._pywebpush.WebPusher({"endpoint": known.endpoint, "keys": keys})
        return bytes(pusher.encode(payload, content_encoding="aes128gcm")["body"])

    def _headers(self, known: PushSubscription, notification: Notification) -> dict[str, str]:
        url = URL(known.endpoint)
        claims = {"aud": str(url.origin()), "sub": self._subject, "exp": int(self._clock()) + TOKEN_LASTS_S}
        signed: dict[str, str] = self._vapid.sign(claims)
        return {
            **signed,
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(TTL_S),
            "Urgency": "normal",
            # A repeat replaces the message that still waits for an offline browser.
            "Topic": _topic(notification.key),
        }


def message(notification: Notification) -> bytes:
    """Make the message for the service worker. Its tag is `key`, so the browser shows a repeated message once."""
    title, body = notification.title, notification.body
    while True:
        encoded = _encode({"key": notification.key, "page_id": notification.page_id, "title": title, "body": body})
        if len(encoded) <= PLAIN_BYTES_MAX:
            return encoded
        if body:
            body = body[: len(body) * 2 // 3]
        else:
            title = title[: len(title) * 2 // 3]


def _topic(key: str) -> str:
    return base64.urlsafe_b64encode(sha256(key.encode()).digest()).decode()[:_TOPIC_CHARS]
