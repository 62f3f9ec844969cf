"""The receiver `webhook`: posts each notice as signed JSON to the operator's URL."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from drover.notifier.notice import Notice, Outcome
from drover.notifier.receivers.answers import posted
from drover.outbound.signed_hook import SignedHook

REPEAT_HEADER: Final = "Drover-Repeat"

_encode: Final = msgspec.json.Encoder().encode


class Webhook(SignedHook):
    pace_s = 0.0
    folds = False

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        body = _encode(body_of(notice))
        headers = self._headers(notice.key, body) | ({REPEAT_HEADER: "1"} if repeat else {})
        return await posted(self._outbound, self._url, body, headers)


def body_of(notice: Notice) -> dict[str, Any]:
    """Encode the notice. Every retry has the same bytes."""
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
            else {"raised_at": notice.raised_at}
            if notice.phase == "reminded"
            else {"raised_at": notice.raised_at, "reason": notice.reason}
        ),
    }
