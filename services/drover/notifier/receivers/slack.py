"""The receiver `slack`: posts notices to an incoming webhook of Slack, Mattermost or a compatible service.

Such a webhook returns no message id. So the resolution of an alert is a second message that names the alert, not a
reply to the first one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import msgspec

from drover.domain.severity import CRITICAL
from drover.notifier.notice import Notice, Outcome
from drover.notifier.receivers.answers import posted
from drover.outbound.http import Outbound

PACE_S: Final = 1.1
"""Seconds between two messages: Slack accepts one per second."""
HEADER_CHARS_MAX: Final = 150
TEXT_CHARS_MAX: Final = 2_000
LINES_MAX: Final = 10
LINE_CHARS_MAX: Final = 190
"""Maximum length of the line of a folded notice, so that ten of them and their line ends fit into one block."""
DETAILS_MAX: Final = 10
DETAIL_CHARS_MAX: Final = 200
ALERT_CHARS: Final = 8
"""How many characters of an alert's id a message shows: enough to tell alerts apart and to search for one."""
_REPEAT: Final = "This may be a duplicate: the last try got no answer."

_encode: Final = msgspec.json.Encoder().encode


class Slack:
    name = "slack"
    pace_s = PACE_S
    folds = True

    def __init__(self, url: str, outbound: Outbound) -> None:
        self._url = url
        self._outbound = outbound

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._outbound.running():
            yield

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        body = _encode(message_of(notice, repeat=repeat))
        headers = {"Content-Type": "application/json", "User-Agent": "drover", "Idempotency-Key": notice.key}
        return await posted(self._outbound, self._url, body, headers)


def message_of(notice: Notice, *, repeat: bool = False) -> dict[str, Any]:
    head = _headline(notice)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(head, HEADER_CHARS_MAX)}]
    if notice.message:
        blocks.append({"type": "section", "text": _plain(notice.message, TEXT_CHARS_MAX)})
    blocks += [{"type": "section", "text": _plain(lines, TEXT_CHARS_MAX)} for lines in _listed(notice.folded)]
    if fields := _fields(notice.details):
        blocks.append({"type": "section", "fields": fields})
    notes = [_origin(notice), *([_REPEAT] if repeat else [])]
    blocks.append({"type": "context", "elements": [_plain(note, TEXT_CHARS_MAX) for note in notes]})
    # The fallback where blocks are not shown: notifications, and clients that support only text.
    text = _escaped(_cut(f"{head}: {notice.message}" if notice.message else head, TEXT_CHARS_MAX))
    return {"text": text, "blocks": blocks}


def _listed(notices: Sequence[Notice]) -> list[str]:
    """List folded notices, a line each, in texts that are short enough for one block."""
    lines = [_line(notice) for notice in notices]
    return ["\n".join(lines[start : start + LINES_MAX]) for start in range(0, len(lines), LINES_MAX)]


def _line(notice: Notice) -> str:
    about = f" ({notice.subject}, alert {notice.alert_id[:ALERT_CHARS]})"
    return "• " + _cut(notice.message or notice.reason, LINE_CHARS_MAX - len(about) - 2) + about


def _headline(notice: Notice) -> str:
    what = notice.message if notice.folded else notice.kind.replace("_", " ")
    if notice.phase == "resolved":
        return f"✅ Over: {what}"
    if notice.phase == "reminded":
        return f"🔴 Still open: {what}"
    return f"{'🔴' if notice.severity == CRITICAL else '🟠'} {what.capitalize()}"


def _origin(notice: Notice) -> str:
    if notice.folded:
        first, last = notice.folded[0].at, notice.folded[-1].at
        return f"{notice.context} · from {_moment(first)} to {_moment(last)}"
    parts = [notice.context, f"{notice.subject}", f"alert {notice.alert_id[:ALERT_CHARS]}"]
    if notice.phase == "raised":
        parts.append(f"since {_moment(notice.at)}")
        if notice.until is not None:
            parts.append(f"until {_moment(notice.until)}")
    elif notice.phase == "reminded":
        parts.append(f"since {_moment(notice.raised_at or notice.at)}")
        parts.append(f"snoozed until {_moment(notice.at)}")
    else:
        if notice.raised_at is not None:
            parts.append(f"from {_moment(notice.raised_at)}")
        parts.append(f"to {_moment(notice.at)}")
        if notice.reason:
            parts.append(f"because of {notice.reason}")
    return " · ".join(parts)


def _fields(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Select the first few details of the alert that are short enough to read."""
    shown = [(name, value) for name, value in details.items() if isinstance(value, str | int | float | bool)]
    return [_plain(f"{name}: {value}", DETAIL_CHARS_MAX) for name, value in shown[:DETAILS_MAX]]


def _plain(text: str, chars_max: int) -> dict[str, Any]:
    """Make a plain text block, without Slack's markup: a title with `<!channel>` must not notify the channel."""
    return {"type": "plain_text", "text": _cut(text, chars_max), "emoji": True}


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def _escaped(text: str) -> str:
    """Escape the fallback text, which Slack always parses as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
