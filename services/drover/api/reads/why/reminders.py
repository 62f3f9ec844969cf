"""Explains an alarm's status: when it is due, what is being sent, what failed. Pure: it gets rows and the time. It
shows no text of the user."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from drover.api.reads.why.explanation import OpenAlert
from drover.domain.fleet.why.formatting import Reason, count, due, moment, reason
from drover.readmodel.reminder import AlarmFacts


class AlarmQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about an alarm and what is around it."""

    alarm: AlarmFacts
    alerts: Sequence[OpenAlert] = ()
    """Open alerts about the provider or this user."""
    is_unknown: bool = False
    """Whether the last sending ended without an outcome."""


def why_alarm(question: AlarmQuestion, now: datetime) -> list[Reason]:
    alarm = question.alarm
    reasons = [
        reason(
            "alarm_alert",
            f"There is an open alert: {alert.message.rstrip('.')}.",
            kind=alert.kind,
            message=alert.message,
        )
        for alert in question.alerts
    ]
    if alarm.processed_at is not None:
        reasons.append(_in_hand(question, alarm.processed_at, now))
    elif alarm.retry_at is not None:
        sentence = (
            f"Sending failed {count(alarm.attempt, 'time')}{f' ({alarm.last_error})' if alarm.last_error else ''}: the "
            f"next try is {due(alarm.retry_at, now)}."
        )
        reasons.append(
            reason("alarm_retry", sentence, due_at=alarm.retry_at, attempt=alarm.attempt, error_code=alarm.last_error)
        )
    elif alarm.next_alarm_time > now:
        sentence = f"It is not due before {moment(alarm.next_alarm_time)}."
        reasons.append(reason("alarm_upcoming", sentence, due_at=alarm.next_alarm_time))
    else:
        sentence = f"It has been due since {moment(alarm.next_alarm_time)}: a sender takes it within seconds."
        reasons.append(reason("alarm_due", sentence, due_at=alarm.next_alarm_time))
    if alarm.shift_min:
        sentence = f"It is {count(alarm.shift_min, 'minute')} later than asked for: that minute was taken."
        reasons.append(reason("alarm_shifted", sentence, minutes=alarm.shift_min))
    if alarm.last_sent_at is not None:
        sentence = f"It was last sent at {moment(alarm.last_sent_at)}. The pause doubles after each sending."
        reasons.append(reason("alarm_sent", sentence, sent_at=alarm.last_sent_at, count=max(alarm.sent_count - 1, 1)))
    return reasons


def _in_hand(question: AlarmQuestion, since: datetime, now: datetime) -> Reason:
    alarm = question.alarm
    if question.is_unknown and alarm.recover_at is not None:
        sentence = f"The outcome of the last sending is unknown. It is sent again {due(alarm.recover_at, now)}."
        return reason("alarm_unknown", sentence, since=since, due_at=alarm.recover_at)
    again = f" Without an outcome it is sent again {due(alarm.recover_at, now)}." if alarm.recover_at else ""
    return reason(
        "alarm_sending",
        f"It has been with its sender since {moment(since)}.{again}",
        since=since,
        due_at=alarm.recover_at,
    )
