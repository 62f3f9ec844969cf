"""Maps a receiver's HTTP answer to an outcome. The answer's body is never logged, because it may contain anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from drover.notifier.notice import Delivered, Failed, Outcome, Uncertain
from drover.outbound.http import Answer, NoAnswer, NotCalled, Outbound

REFUSED: Final = frozenset({400, 413, 415, 422})
"""HTTP statuses which mean that the receiver will never accept this notice. After other errors it is retried: a revoked
URL or a broken proxy may be fixed."""
_WAITING: Final = frozenset({429, 503})


async def posted(outbound: Outbound, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
    try:
        answer = await outbound.post(url, body, headers)
    except NotCalled as error:
        return Failed(error.code)
    except NoAnswer as error:
        return Uncertain(error.code)
    return outcome_of(answer, datetime.now(UTC))


def outcome_of(answer: Answer, now: datetime) -> Outcome:
    if 200 <= answer.status < 300:
        return Delivered()
    code = f"http_{answer.status}"
    if answer.status in REFUSED:
        return Failed(code, permanent=True)
    asked = answer.headers.get("Retry-After") if answer.status in _WAITING else None
    return Failed(code, retry_after_s=None if asked is None else _seconds(asked, now))


def _seconds(asked: str, now: datetime) -> float | None:
    """Parse `Retry-After`, which is a number of seconds or a date, into seconds. None: it is invalid."""
    if asked.isascii() and asked.isdigit():
        return float(asked[:9])
    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return None
    return max((moment - now).total_seconds(), 0.0) if moment.tzinfo else None
