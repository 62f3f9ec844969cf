"""Why a reminder is not sent yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drover.api.reads.why.explanation import OpenAlert
from drover.api.reads.why.reminders import AlarmQuestion, why_alarm
from drover.readmodel.reminder import AlarmFacts

pytestmark = pytest.mark.req("EV-05")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def alarm(**columns) -> AlarmFacts:
    none = dict.fromkeys(
        ("last_notification_id", "processed_at", "recover_at", "retry_at", "last_error", "last_sent_at")
    )
    some = {
        "user_id": "ann",
        "page_id": "p",
        "next_alarm_time": NOW + HOUR,
        "sent_count": 1,
        "attempt": 0,
        "shift_min": 0,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return AlarmFacts(**none | some | columns)


def codes(row: AlarmFacts, **more) -> list[str]:
    return [one.data["code"] for one in why_alarm(AlarmQuestion(alarm=row, **more), NOW)]


def test_an_alarm_waits_for_its_time_then_for_its_sender():
    assert codes(alarm()) == ["alarm_upcoming"]
    assert codes(alarm(next_alarm_time=NOW - HOUR)) == ["alarm_due"]


def test_a_failed_sending_waits_for_its_next_try():
    failed = alarm(next_alarm_time=NOW - HOUR, retry_at=NOW + HOUR, attempt=2, last_error="timeout")
    (one,) = why_alarm(AlarmQuestion(alarm=failed), NOW)
    assert one.data == {
        "code": "alarm_retry",
        "due_at": "2026-11-18T13:00:00Z",
        "attempt": 2,
        "error_code": "timeout",
    }


def test_what_is_with_its_sender_says_when_it_is_sent_again():
    sending = alarm(processed_at=NOW - HOUR, recover_at=NOW + HOUR, retry_at=NOW)
    assert codes(sending) == ["alarm_sending"]
    assert codes(sending, is_unknown=True) == ["alarm_unknown"]


def test_an_alert_comes_first_and_the_past_last():
    row = alarm(shift_min=3, last_sent_at=NOW - HOUR, sent_count=4)
    alerts = [OpenAlert("push_failing", "20 sendings in a row failed")]
    assert codes(row, alerts=alerts) == ["alarm_alert", "alarm_upcoming", "alarm_shifted", "alarm_sent"]
