"""What clients write into rows of `alarm`: apps that set alarms, and a sender of the users' own."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.policy import AHEAD_MAX, ALARMS_PER_USER_MAX, SENT_COUNT_MAX, TEXT_CHARS_MAX
from drover.domain.reminder.state import User
from tests.unit.domain.reminder.world import PAGE, SEOUL, USER, World, utc

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def write(world: World, page: str = PAGE, **columns) -> World:
    world.when(c.ChangeAlarm(page, USER, **columns))
    return world


def mark(world: World, page: str = PAGE, **columns) -> World:
    """As a sender of the users' own does: only if nobody else has it."""
    return write(world, page, processed_at=world.now, only_if=c.AlarmSeen(claimed=False), **columns)


def sent(world: World, count: int = 2, **columns) -> World:
    columns = {"next_alarm_time": world.now + DAY, "last_notification_id": "n-1", "release": True} | columns
    return write(world, sent_count=count, **columns)


class TestRows:
    @pytest.mark.req("DI-04")
    def test_a_new_row_is_an_alarm_that_is_due_at_its_time(self):
        world = World()
        row = c.AddAlarm(PAGE, USER, title="t", body="b", next_alarm_time=world.now, sent_count=1)
        world.when(row).then(
            e.UserAdded(USER, SEOUL),
            e.AlarmRegistered(
                page_id=PAGE, user_id=USER, title="t", body="b", next_alarm_time=world.now, sent_count=1, life=1
            ),
        )
        world.then_answers(page_id=PAGE, title="t", sent_count=1, next_alarm_time=world.now)

    @pytest.mark.req("DI-04")
    def test_a_row_can_bring_its_count_its_time_and_its_last_notification_along(self):
        world = World()
        later = world.now + 5 * DAY + timedelta(milliseconds=123)
        world.when(c.AddAlarm(PAGE, USER, next_alarm_time=later, sent_count=4, last_notification_id="n-3"))
        world.then(e.UserAdded, e.AlarmRegistered, e.AlarmScheduled, e.AlarmEdited)
        world.then_answers(next_alarm_time=later, sent_count=4, last_notification_id="n-3")
        assert world.claimed().decision.events == []
        world.when_due().claimed().sent()
        assert world.alarm().sent_count == 5

    @pytest.mark.req("DI-04")
    def test_a_row_that_is_in_work_comes_along_as_a_claim(self):
        world = World()
        world.when(c.AddAlarm(PAGE, USER, next_alarm_time=world.now - HOUR, processed_at=world.now - HOUR))
        world.then(e.UserAdded, e.AlarmRegistered, e.AlarmDispatched)
        world.claimed().then_nothing()
        world.at(world.now + 5 * HOUR + timedelta(seconds=1)).claimed().then(e.AlarmDispatched)

    @pytest.mark.req("DI-04", "DI-18")
    def test_a_second_row_of_a_page_is_refused(self):
        world = World().registered()
        world.when(c.AddAlarm(PAGE, USER)).then_rejected(Code.UNIQUE_VIOLATION, page_id=PAGE)
        world.when(c.AddAlarm(PAGE, "user_2")).then_rejected(Code.CONFLICT, page_id=PAGE)
        world.when(c.ChangeAlarm(PAGE, "user_2", title="x")).then_rejected(Code.NOT_FOUND)

    def test_a_user_has_a_bounded_number_of_alarms_by_the_table_too(self):
        world = World().registered()
        world.state.users[USER] = User(USER, SEOUL, alarms=ALARMS_PER_USER_MAX)
        world.when(c.AddAlarm("page-2", USER)).then_rejected(Code.CONFLICT)

    @pytest.mark.req("DI-04")
    def test_texts_change_and_the_alarm_is_due_when_it_was(self):
        world = World().registered().scheduled(utc(2026, 3, 9, 12, 0))
        write(world, title="later").then(
            e.AlarmEdited(
                page_id=PAGE,
                user_id=USER,
                title="later",
                body="body of page-1",
                notification_id=None,
                next_alarm_time=utc(2026, 3, 9, 12, 0),
                sent_count=1,
            )
        )
        world.then_answers(title="later", next_alarm_time=utc(2026, 3, 9, 12, 0), sent_count=1)
        write(world, body="나" * 3000)
        (event,) = world.events_of(e.AlarmEdited)
        assert (event.title, event.body) == ("later", "나" * TEXT_CHARS_MAX)

    def test_a_row_that_is_written_back_as_it_was_read_changes_nothing(self):
        world = World().registered().scheduled(utc(2026, 3, 9, 12, 0))
        write(
            world,
            title="title of page-1",
            body="body of page-1",
            next_alarm_time=utc(2026, 3, 9, 12, 0),
            sent_count=1,
            release=True,
        ).then_nothing()
        world.then_answers(page_id=PAGE, title="title of page-1", sent_count=1)

    @pytest.mark.req("DI-04", "DI-19", "RM-09")
    def test_a_written_time_is_kept_to_the_millisecond_unless_its_minute_is_taken(self):
        world = World().registered().registered("page-2")
        later = world.now + 5 * DAY + timedelta(milliseconds=678)
        write(world, next_alarm_time=later).then(e.AlarmScheduled)
        world.then_answers(next_alarm_time=later)
        write(world, "page-2", next_alarm_time=later).then(e.AlarmScheduled)
        (event,) = world.events_of(e.AlarmScheduled)
        assert timedelta(minutes=1) <= event.next_alarm_time - later <= timedelta(minutes=59)

    @pytest.mark.req("DI-04", "RM-02", "RM-09")
    def test_a_time_that_has_passed_or_is_less_than_a_minute_ahead_means_now(self):
        world = World()
        for number, time in enumerate([world.now - HOUR, world.now + timedelta(seconds=59)]):
            page = f"page-{number}"
            world.registered(page).scheduled(utc(2026, 3, 9 + number, 12, 0), page)
            write(world, page, next_alarm_time=time).then(e.AlarmRenewed)
            world.then_answers(next_alarm_time=time)
            assert world.alarm(page).immediate, "it takes no minute from the user's other alarms"

    @pytest.mark.parametrize(
        ("columns", "field"),
        [
            ({"next_alarm_time": utc(1969, 1, 1)}, "next_alarm_time"),
            ({"processed_at": utc(2300, 1, 1)}, "processed_at"),
            ({"next_alarm_time": utc(2026, 3, 9).replace(tzinfo=None)}, "next_alarm_time"),
            ({"next_alarm_time": utc(2026, 3, 2, 12, 0) + AHEAD_MAX + DAY}, "next_alarm_time"),
            ({"sent_count": 0}, "sent_count"),
            ({"sent_count": SENT_COUNT_MAX + 1}, "sent_count"),
        ],
    )
    def test_what_can_never_be_is_refused(self, columns, field):
        world = World().registered()
        write(world, **columns).then_rejected(Code.VALIDATION_ERROR, field=field)
        world.when(c.AddAlarm("page-2", USER, **columns)).then_rejected(Code.VALIDATION_ERROR, field=field)

    @pytest.mark.parametrize("command", [c.AddAlarm, c.ChangeAlarm, c.DeleteAlarm])
    def test_ids_are_checked(self, command):
        World().when(command("a~b", USER)).then_rejected(Code.VALIDATION_ERROR, field="page_id")
        World().when(command(PAGE, "")).then_rejected(Code.VALIDATION_ERROR, field="user_id")

    @pytest.mark.req("DI-04", "RM-05")
    def test_a_row_is_deleted_if_it_still_is_what_the_filters_found(self):
        world = World().registered()
        world.when(c.DeleteAlarm(PAGE, USER, c.AlarmSeen(sent_count=2))).then_rejected(Code.CONFLICT)
        world.when(c.DeleteAlarm(PAGE, "user_2")).then_rejected(Code.NOT_FOUND)
        world.when(c.DeleteAlarm(PAGE, USER, c.AlarmSeen(sent_count=1))).then(e.AlarmDeleted(PAGE, USER, 1))
        world.when(c.DeleteAlarm(PAGE, USER)).then_rejected(Code.NOT_FOUND)


class TestASenderOfTheUsersOwn:
    @pytest.mark.req("DI-04", "RM-07")
    def test_it_marks_an_alarm_and_ours_does_not_get_it(self):
        world = World().registered()
        written = world.now - timedelta(milliseconds=250)
        write(world, processed_at=written).then(
            e.AlarmDispatched(
                page_id=PAGE,
                user_id=USER,
                sending=1,
                life=1,
                attempt=1,
                instance="table",
                recover_at=written + 6 * HOUR,
                outside=True,
                processed_at=written,
            )
        )
        world.then_answers(page_id=PAGE, processed_at=written, sent_count=1)
        world.claimed().then_nothing()

    @pytest.mark.req("DI-04", "RM-06")
    def test_a_second_sender_does_not_get_it_with_or_without_a_filter(self):
        world = mark(World().registered())
        mark(world).then_rejected(Code.CONFLICT)
        write(world, processed_at=world.now).then_rejected(Code.CONFLICT)
        write(world, processed_at=world.now - HOUR).then_rejected(Code.CONFLICT)

    @pytest.mark.req("DI-04", "RM-06")
    def test_it_does_not_get_what_ours_is_sending(self):
        world = World().registered().claimed()
        mark(world).then_rejected(Code.CONFLICT)
        write(world, processed_at=world.now).then_rejected(Code.CONFLICT)
        write(world, processed_at=world.now - 7 * HOUR).then_rejected(Code.CONFLICT)

    @pytest.mark.req("DI-04", "RM-06")
    def test_it_does_not_get_what_another_has_sent_since_it_looked(self):
        """Its filter still matches: the alarm is in nobody's hand again. But it is not due any more."""
        world = World().registered().claimed().sent()
        mark(world).then_rejected(Code.CONFLICT)
        world.when_due()
        mark(world).then(e.AlarmDispatched)

    @pytest.mark.req("DI-04", "RM-04")
    def test_it_writes_that_the_alarm_was_sent_and_when_it_is_due_next(self):
        world = mark(World().registered())
        following = world.now + 3 * DAY
        sent(world, next_alarm_time=following, last_notification_id="theirs-1").then(
            e.AlarmSent(
                page_id=PAGE,
                user_id=USER,
                sending=1,
                life=1,
                attempt=1,
                notification_id="theirs-1",
                sent_count=2,
                next_alarm_time=following,
                shift_min=0,
            )
        )
        world.then_answers(sent_count=2, last_notification_id="theirs-1", processed_at=None, next_alarm_time=following)
        assert not world.alarm().dispatched
        assert world.state.outside == set()

    @pytest.mark.req("DI-04", "RM-04")
    def test_without_a_next_time_the_pause_decides(self):
        world = mark(World().registered())
        sent(world, next_alarm_time=None).then(e.AlarmSent)
        assert world.next_time() == world.now + DAY

    @pytest.mark.req("DI-04", "RM-09")
    def test_its_next_time_is_shifted_from_a_minute_that_is_taken(self):
        world = World().registered("page-2").scheduled(utc(2026, 3, 5, 12, 0), "page-2").registered()
        sent(mark(world), next_alarm_time=utc(2026, 3, 5, 12, 0))
        assert timedelta(0) < world.next_time() - utc(2026, 3, 5, 12, 0) < HOUR

    def test_a_time_that_the_user_set_while_it_was_sending_applies(self):
        world = mark(World().registered()).scheduled(utc(2026, 3, 5, 12, 0))
        sent(world, next_alarm_time=utc(2026, 3, 3, 12, 0))
        assert world.next_time() == utc(2026, 3, 5, 12, 0)

    @pytest.mark.req("DI-04")
    def test_it_may_write_sent_without_a_mark(self):
        sent(World().registered()).then(e.AlarmSent)

    @pytest.mark.req("DI-04", "RM-06")
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_a_count_that_is_behind_or_ahead_is_refused(self, count):
        world = World().registered().claimed().sent().when_due().claimed().sent()
        assert world.alarm().sent_count == 3
        sent(world, count).then_rejected(Code.STALE_ATTEMPT, sent_count=3)

    @pytest.mark.req("DI-04", "RM-07")
    def test_it_releases_an_alarm_after_an_error_and_may_mark_it_at_once(self):
        world = mark(World().registered())
        write(world, release=True).then(e.SendingFailed)
        world.then_answers(processed_at=None, sent_count=1)
        assert not world.alarm().dispatched
        mark(world).then(e.AlarmDispatched)
        assert world.alarm().attempt == 2

    @pytest.mark.req("DI-04", "RM-07")
    def test_ours_waits_before_it_takes_up_what_was_released(self):
        world = mark(World().registered())
        write(world, release=True)
        world.claimed().then_nothing()
        world.when_due().claimed().then(e.AlarmDispatched)

    def test_its_failures_raise_no_alert_about_our_provider(self):
        world = World().registered()
        for _ in range(30):
            write(mark(world), release=True).then(e.SendingFailed)

    @pytest.mark.req("DI-04")
    def test_a_release_of_what_nobody_has_changes_nothing(self):
        write(World().registered(), release=True).then_nothing()

    @pytest.mark.req("DI-04", "RM-06")
    def test_it_cannot_release_what_ours_is_sending(self):
        world = World().registered().claimed()
        write(world, release=True).then_rejected(Code.CONFLICT)
        # An app that writes the whole row back does not mean the claim.
        write(world, release=True, title="later").then(e.AlarmEdited)
        assert world.alarm().dispatched

    @pytest.mark.req("DI-04", "RM-08")
    def test_what_was_sent_in_part_stays_marked_for_six_hours(self):
        world = mark(World().registered())
        world.at(world.now + 6 * HOUR - timedelta(seconds=1)).claimed().then_nothing()
        mark(world).then_rejected(Code.CONFLICT)
        world.after(seconds=1)
        seen = c.AlarmSeen(claimed=True, attempt=1, sent_count=1)
        write(world, processed_at=world.now, only_if=seen).then(e.AlarmDispatched)
        write(world, processed_at=world.now, only_if=seen).then_rejected(Code.CONFLICT)
        assert world.alarm().attempt == 2

    @pytest.mark.req("DI-04", "RM-07")
    def test_ours_takes_up_what_it_left_for_six_hours_and_a_late_word_of_it_counts_once(self):
        world = mark(World().registered())
        world.at(world.now + 6 * HOUR).claimed().then(e.AlarmDispatched)
        assert world.state.outside == set()
        write(world, release=True).then_rejected(Code.CONFLICT)
        ours = world.report(c.ReportSent)
        sent(world).then(e.AlarmSent)
        world.when(ours).then_rejected(Code.STALE_ATTEMPT)
        assert world.alarm().sent_count == 2

    @pytest.mark.req("DI-04", "RM-07")
    def test_a_mark_of_six_hours_ago_gives_a_claim_up(self):
        world = mark(World().registered())
        long_ago = world.now - 7 * HOUR
        write(world, processed_at=long_ago).then(
            e.ClaimGivenUp(
                page_id=PAGE,
                user_id=USER,
                sending=1,
                life=1,
                attempt=1,
                processed_at=long_ago,
                recover_at=long_ago + 6 * HOUR,
            )
        )
        world.then_answers(processed_at=long_ago)
        world.claimed().then(e.AlarmDispatched)

    def test_a_clock_that_is_ahead_keeps_an_alarm_no_longer_than_others(self):
        world = World().registered()
        write(world, processed_at=world.now + DAY).then(e.AlarmDispatched)
        assert world.wakes() == world.now + 6 * HOUR

    @pytest.mark.req("DI-04")
    @pytest.mark.parametrize(
        "seen",
        [
            c.AlarmSeen(claimed=True),
            c.AlarmSeen(attempt=1),
            c.AlarmSeen(sent_count=2),
            c.AlarmSeen(next_alarm_time=utc(2026, 3, 2, 11, 59)),
        ],
    )
    def test_a_row_that_is_not_as_the_filters_found_it_is_not_changed(self, seen):
        world = World().registered()
        write(world, title="x", only_if=seen).then_rejected(Code.CONFLICT)
        write(world, title="x", only_if=c.AlarmSeen(False, 0, 1, world.now)).then(e.AlarmEdited)
