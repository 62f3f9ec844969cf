"""Events of reminders become rows, and only rows that their rules have declared are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from drover.domain.reminder import events as e
from drover.domain.reminder.events import ReminderEvent
from drover.projector.reminder import REMINDER_PROJECTION, RULES
from drover.projector.reminder.history import HISTORIES
from drover.readmodel.events import EVENTS
from drover.readmodel.reminder import ALARMS, ALARMS_EVENT, SUBSCRIPTIONS, USERS, AlarmRow
from tests.unit.projection.checked_tables import CheckedTables, minute, stamp

PAGE, USER = "page-1", "user_1"
ABOUT = (PAGE, USER)
SENDING = (*ABOUT, 1, 1, 1)


class ReminderTables(CheckedTables):
    @property
    def alarm(self) -> AlarmRow:
        return self.row(ALARMS, (USER, PAGE))

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.shown(ALARMS_EVENT)


def folded(*events: Any) -> ReminderTables:
    tables = ReminderTables(REMINDER_PROJECTION)
    stamp(events, by="test")
    tables.fold_events(1, *events)
    return tables


def registered() -> e.AlarmRegistered:
    return e.AlarmRegistered(*ABOUT, "title", "body", minute(1), 1, 1)


def test_every_event_has_a_rule_and_every_event_of_an_alarm_a_history():
    assert set(RULES) == set(ReminderEvent.__args__)
    assert set(HISTORIES) == {type_ for type_ in RULES if issubclass(type_, e.AlarmEvent)}


@pytest.mark.req("RM-01")
def test_a_registered_alarm_is_a_row_with_all_that_clients_know():
    tables = folded(e.UserAdded(USER, "Asia/Seoul"), registered())
    alarm = tables.alarm
    assert (alarm.title, alarm.body, alarm.next_alarm_time, alarm.sent_count) == ("title", "body", minute(1), 1)
    assert (alarm.last_notification_id, alarm.processed_at) == (None, None)
    assert tables.row(USERS, USER).timezone == "Asia/Seoul"


@pytest.mark.req("RM-07", "RM-08")
def test_processed_at_says_whether_it_is_in_hand():
    claim = e.AlarmDispatched(*SENDING, "i", minute(100))
    assert folded(registered(), claim).alarm.processed_at == minute(2)
    sent = e.AlarmSent(*SENDING, "n-1", 2, minute(200), 3)
    alarm = folded(registered(), claim, sent).alarm
    assert (alarm.processed_at, alarm.sent_count, alarm.last_notification_id) == (None, 2, "n-1")
    assert (alarm.next_alarm_time, alarm.shift_min, alarm.last_sent_at) == (minute(200), 3, minute(3))
    failed = e.SendingFailed(*SENDING, False, "http_503", "no", minute(9), minute(1), 0)
    alarm = folded(registered(), claim, failed).alarm
    assert (alarm.processed_at, alarm.retry_at, alarm.last_error, alarm.sent_count) == (None, minute(9), "http_503", 1)
    unknown = e.SendingUncertain(*SENDING, "partial", "", ["s1"], minute(100))
    alarm = folded(registered(), claim, unknown).alarm
    assert (alarm.processed_at, alarm.recover_at, alarm.sent_count) == (minute(2), minute(100), 1)


@pytest.mark.req("RM-03", "RM-05")
def test_schedules_renewals_and_deletions_are_followed():
    scheduled = e.AlarmScheduled(*ABOUT, minute(500), 7, "Asia/Seoul", 1)
    assert folded(registered(), scheduled).alarm.next_alarm_time == minute(500)
    renewed = e.AlarmRenewed(*ABOUT, "new", "text", minute(3), 1)
    alarm = folded(registered(), scheduled, renewed).alarm
    assert (alarm.title, alarm.next_alarm_time, alarm.shift_min, alarm.created_at) == ("new", minute(3), 0, minute(1))
    gone = folded(registered(), e.AlarmDeleted(*ABOUT, 1))
    assert gone.rows(ALARMS) == []
    assert [row["event_type"] for row in gone.history] == ["REGISTERED", "DELETED"]


@pytest.mark.req("DI-04", "DI-19")
def test_the_marks_of_a_sender_of_the_users_own_are_shown_as_it_wrote_them():
    claim = e.AlarmDispatched(*SENDING, "table", minute(100), outside=True, processed_at=minute(1))
    assert folded(registered(), claim).alarm.processed_at == minute(1)
    given_up = e.ClaimGivenUp(*SENDING, minute(-500), minute(-140))
    tables = folded(registered(), claim, given_up)
    assert (tables.alarm.processed_at, tables.alarm.recover_at) == (minute(-500), minute(-140))
    assert [row["event_type"] for row in tables.history] == ["REGISTERED", "DISPATCHED", "GIVEN_UP"]


@pytest.mark.req("DI-04")
def test_edited_texts_are_followed_and_are_not_in_the_table_of_events():
    edited = e.AlarmEdited(*ABOUT, "new", "words", None, minute(1), 1)
    noted = e.AlarmEdited(*ABOUT, "new", "words", "n-7", minute(1), 1)
    assert folded(registered(), edited).alarm.last_notification_id is None
    tables = folded(registered(), edited, noted)
    assert (tables.alarm.title, tables.alarm.body, tables.alarm.last_notification_id) == ("new", "words", "n-7")
    shown = [row[EVENTS.columns.index("data")] for row in tables.rows(EVENTS)]
    assert "words" not in shown[1] and '"page_id"' in shown[1]


@pytest.mark.req("DI-04")
def test_a_row_of_user_info_comes_and_goes():
    added, removed = e.UserAdded(USER, "UTC"), e.UserRemoved(USER, "Asia/Seoul")
    assert folded(added, removed).rows(USERS) == []
    again = folded(added, removed, e.UserAdded(USER, "Asia/Seoul"))
    assert again.row(USERS, USER).timezone == "Asia/Seoul"


@pytest.mark.req("EV-04", "RM-10")
def test_the_history_has_a_row_for_each_step_with_its_key():
    tables = folded(
        registered(),
        e.AlarmDispatched(PAGE, USER, 1, 2, 1, "i", minute(100)),
        e.SendingFailed(PAGE, USER, 1, 2, 1, True, "http_400", "", None, minute(50), 0),
        e.ScheduleSkipped(*ABOUT, "2020-01-01", "Asia/Seoul"),
        e.MinuteCrowded(*ABOUT, minute(60), 50),
    )
    assert [(row["event_type"], row["level"], row["idempotency_key"]) for row in tables.history] == [
        ("REGISTERED", "info", None),
        ("DISPATCHED", "info", "page-1:1~2"),
        ("FAILED", "warning", "page-1:1~2"),
        ("SKIPPED", "error", None),
        ("CROWDED", "error", None),
    ]
    assert tables.history[2]["due_at"] == minute(50)
    assert [row["id"] for row in tables.history] == [n * 65_536 for n in range(1, 6)]


def test_users_words_and_sealed_keys_are_not_in_the_table_of_events():
    tables = folded(registered(), e.SubscriptionAdded(USER, "s1", "webpush", "the sealed keys"))
    shown = [row[EVENTS.columns.index("data")] for row in tables.rows(EVENTS)]
    assert '"title"' not in shown[0] and '"page_id"' in shown[0]
    assert "sealed" not in shown[1] and '"subscription_id"' in shown[1]


@pytest.mark.req("RM-11")
def test_a_retired_subscription_keeps_its_row_and_its_reason():
    tables = folded(
        e.SubscriptionAdded(USER, "s1", "webpush", "x"),
        e.SubscriptionRemoved(USER, "s1", "webpush", "gone"),
        e.SubscriptionAdded(USER, "s2", "webpush", "x"),
        e.SubscriptionAdded(USER, "s2", "webpush", "renewed"),
    )
    gone, here = tables.row(SUBSCRIPTIONS, (USER, "s1")), tables.row(SUBSCRIPTIONS, (USER, "s2"))
    assert (gone.ended_at, gone.reason) == (minute(2), "gone")
    assert (here.created_at, here.updated_at, here.ended_at) == (minute(3), minute(4), None)


def test_a_text_with_a_nul_in_it_does_not_stop_the_projection():
    tables = folded(e.AlarmRegistered(*ABOUT, "a\0b", "", minute(1), 1, 1))
    assert tables.alarm.title == "a�b"
