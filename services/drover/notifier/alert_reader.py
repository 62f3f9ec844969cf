"""Reads the alerts in a log's commits and turns them into notices. It ignores all other events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import structlog
from msgspec.structs import replace

from drover.domain.alerts import AlertRaised, AlertResolved, AlertSnoozeEnded
from drover.domain.contexts import context_named
from drover.domain.deciders import DECIDERS
from drover.domain.severity import CRITICAL, severity_of
from drover.eventlog.codec import Codec, UnreadableCommit, lines
from drover.eventlog.log import StoredCommit
from drover.notifier.notice import Notice

_CODECS: Final = {context: Codec.of(decider) for context, decider in DECIDERS.items()}
_MARK: Final = b'"Alert'
"""A text that every line with an alert contains, in any version. Lines without it are skipped without parsing them."""

Told = AlertRaised | AlertResolved | AlertSnoozeEnded
"""The events of alerts that notices may be made of."""

log = structlog.get_logger("drover.notifier")


def notices(context: str, commit: StoredCommit) -> Iterator[Notice]:
    if _MARK not in commit.payload:
        return
    for line in lines(commit.payload):
        if _MARK in line and (event := _read(context, line, commit.seq)) is not None and _is_told(event):
            yield _notice(context, event)


def _is_told(event: Told) -> bool:
    """Whether people are told. While they have snoozed an alert they are not, even if it is raised again. If it is
    critical and still open when the snooze ends by itself, they are told then."""
    if isinstance(event, AlertRaised):
        return event.snoozed_until is None
    if isinstance(event, AlertSnoozeEnded):
        return event.is_open and event.reason == "time" and severity_of(event.kind) == CRITICAL
    return True


def _read(context: str, line: bytes, seq: int) -> Told | None:
    try:
        (event,) = _CODECS[context].decode(line)
    except UnreadableCommit as error:
        # Do not stop: the next alert may be the one that reports this problem.
        log.error("line_unreadable", context=context, seq=seq, error=str(error))
        return None
    return event if isinstance(event, Told) else None


def _notice(context: str, event: Told) -> Notice:
    notice = Notice(
        context=context,
        alert_id=event.alert_id,
        phase="resolved",
        kind=event.kind,
        subject=event.subject,
        at=event.at,
    )
    if isinstance(event, AlertResolved):
        return replace(notice, reason=event.reason)
    if isinstance(event, AlertSnoozeEnded):
        return replace(notice, phase="reminded", message=f"{event.kind.replace('_', ' ')}: {event.subject}")
    details = _tellable(context, event.details)
    return replace(notice, phase="raised", message=event.message, details=details, until=event.until)


def _tellable(context: str, details: dict[str, Any]) -> dict[str, Any]:
    """Select the details of an alert that may be sent: only ids for a private context, and no hidden fields for other
    contexts."""
    known = context_named(context)
    if known.is_private:
        return {name: value for name, value in details.items() if name.endswith("_id")}
    return {name: value for name, value in details.items() if name not in known.hidden_fields}
