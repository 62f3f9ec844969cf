"""The receiver webhook: each notice as JSON, signed, to an address of the operator's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from drover.notifier.notice import Notice, Outcome
from drover.notifier.receivers.answers import posted
from drover.outbound.http import Outbound
from drover.outbound.signing import HEADER, sign

KEY_HEADER: Final = "Idempotency-Key"
REPEAT_HEADER: Final = "Drover-Repeat"

_encode: Final = msgspec.json.Encoder().encode


class Webhook:
    name = "webhook"
    pace_s = 0.0

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

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        body = _encode(body_of(notice))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "drover",
            KEY_HEADER: notice.key,
            HEADER: sign(body, self._secrets, int(self._clock())),
            **({REPEAT_HEADER: "1"} if repeat else {}),
        }
        return await posted(self._outbound, self._url, body, headers)


def body_of(notice: Notice) -> dict[str, Any]:
    """The same bytes however often it is sent."""
    return {
        "key": notice.key,
        "event": f"alert.{notice.phase}",
        "context": notice.context,
        "alert_id": notice.alert_id,
        "kind": notice.kind,
        "severity": notice.severity,
        "subject": notice.subject,
        "message": notice.message,
        "at": notice.at,
        **(
            {"details": notice.details, "until": notice.until}
            if notice.phase == "raised"
            else {"raised_at": notice.raised_at, "reason": notice.reason}
        ),
    }
