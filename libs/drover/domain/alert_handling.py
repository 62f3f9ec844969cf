"""What people do about open alerts: acknowledge, snooze, and end a snooze. All contexts share these commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from drover.domain.alerts import AlertAcknowledged, AlertSnoozed, KeepsAlerts, end_snooze
from drover.domain.decider import Command, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.field_checks import invalid

SNOOZE_MAX: Final = timedelta(days=30)
NOTE_CHARS_MAX: Final = 500


class AcknowledgeAlert(Command):
    """Record that a person takes care of an open alert."""

    alert_id: str
    note: str = ""


class SnoozeAlert(Command):
    """Send no notices of this alert's kind and subject until then. A critical alert that is still open then is sent
    again."""

    alert_id: str
    until: datetime
    note: str = ""


class EndSnooze(Command):
    """End the snooze of an open alert before its time."""

    alert_id: str


class _Open(NamedTuple):
    kind: str
    subject: str


def acknowledge_alert(state: KeepsAlerts, command: AcknowledgeAlert, now: datetime) -> Decision:
    found = _find(state.alerts, command.alert_id)
    if isinstance(found, Decision):
        return found
    if (refusal := _bad_note(command.note)) is not None:
        return refusal
    return accept(AlertAcknowledged(command.alert_id, *found, note=command.note))


def snooze_alert(state: KeepsAlerts, command: SnoozeAlert, now: datetime) -> Decision:
    found = _find(state.alerts, command.alert_id)
    if isinstance(found, Decision):
        return found
    if (refusal := _bad_note(command.note)) is not None:
        return refusal
    if not now < command.until <= now + SNOOZE_MAX:
        message = f"until must be in the next {SNOOZE_MAX.days} days"
        return Decision(rejection=invalid("until", command.until.isoformat(), message))
    until = command.until.astimezone(UTC)  # after the check: the first and the last day of the calendar have no UTC
    return accept(AlertSnoozed(command.alert_id, *found, until=until, note=command.note))


def end_snooze_of_alert(state: KeepsAlerts, command: EndSnooze, now: datetime) -> Decision:
    found = _find(state.alerts, command.alert_id)
    if isinstance(found, Decision):
        return found
    return accept(*end_snooze(state, *found, "person"))


def _find(alerts: Mapping[str, str], alert_id: str) -> _Open | Decision:
    """Find an open alert by its id, or refuse. Only people ask for this, so a search is quick enough."""
    for key, open_id in alerts.items():
        if open_id == alert_id:
            kind, _, subject = key.partition(":")
            return _Open(kind, subject)
    return reject(Code.NOT_FOUND, "No open alert has this id; it may be resolved already", alert_id=alert_id[:64])


def _bad_note(note: str) -> Decision | None:
    if len(note) <= NOTE_CHARS_MAX:
        return None
    return Decision(rejection=invalid("note", note[:100], f"note may have at most {NOTE_CHARS_MAX} characters"))


AlertCommand = AcknowledgeAlert | SnoozeAlert | EndSnooze
RULES: Final[dict[type[Command], Callable[[Any, Any, datetime], Decision]]] = {
    AcknowledgeAlert: acknowledge_alert,
    SnoozeAlert: snooze_alert,
    EndSnooze: end_snooze_of_alert,
}
"""The rules by command. Each context adds this table to its own."""
